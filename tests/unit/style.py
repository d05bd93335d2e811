#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that C++ and CUDA sources are as .clang-format has them, that no line of these or of
Python code, in scripts too, has more than 100 columns, and that the lines of tools/mutate.ignore
exist. Arguments: the source folder and clang-format, which is skipped if left out."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

FOLDERS = ('core', 'gst', 'kernels', 'pipelines', 'python', 'tests', 'tools')
SOURCES = ('.h', '.cpp', '.cu', '.cuh')
COLUMNS = 100


def files(source, suffixes):
    return sorted(path for folder in FOLDERS for path in (source / folder).rglob('*')
                  if path.suffix in suffixes and path.is_file())


def is_python_script(path):
    with path.open('rb') as file:
        first = file.readline()
    return first.startswith(b'#!') and b'python' in first


def report(number, name, wrong):
    print(f'{"not ok" if wrong else "ok"} {number} - {name}')
    print(''.join(f'# {line}\n' for line in wrong), end='')


def wrongly_formatted(source, clang_format):
    """Returns the warnings of a run per processor, each with a part of the files."""
    every, runs = files(source, SOURCES), os.cpu_count() or 1

    def check(part):
        return subprocess.run([clang_format, '--dry-run', *part], cwd=source, capture_output=True,
                              text=True, check=True).stderr

    with concurrent.futures.ThreadPoolExecutor(runs) as pool:
        done = ''.join(pool.map(check, (every[i::runs] for i in range(runs))))
    return [line for line in done.splitlines() if 'warning:' in line]


def long_lines(source):
    scripts = filter(is_python_script, files(source, ('',)))
    for path in (*files(source, (*SOURCES, '.py')), *scripts):
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            if len(line) > COLUMNS:
                yield f'{path.relative_to(source)}:{number}'


def missing_lines(source):
    """Returns the entries of mutate.ignore whose line is not in its file."""
    path = None
    for number, line in enumerate((source / 'tools/mutate.ignore').read_text().splitlines(), 1):
        if not line.strip() or line.startswith(('#', '    ')):
            continue
        if not line.startswith('  '):
            path = source / line
        elif line.strip() not in map(str.strip, path.read_text(encoding='utf-8').splitlines()):
            yield f'mutate.ignore:{number}: not in {path.relative_to(source)}'


def main():
    source, clang_format = pathlib.Path(sys.argv[1]), sys.argv[2:]
    print('1..3')
    if clang_format:
        report(1, 'sources are formatted', wrongly_formatted(source, clang_format[0]))
    else:
        print('ok 1 - sources are formatted # SKIP no clang-format 19')
    report(2, f'lines have at most {COLUMNS} columns', list(long_lines(source)))
    report(3, 'lines that mutate.ignore names exist', list(missing_lines(source)))


main()
