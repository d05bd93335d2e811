#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the program behind keepbox detectors, detector and keys: lists families, prints them as
valid files, and reports errors.

usage: tool.py PROGRAM
"""
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]


def keepbox(*words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, f'{words}: {done.returncode}, {done.stderr}'
    return done.stdout if status == 0 else done.stderr


def test_every_family_is_a_file(folder):
    names = [line.split(': ')[0] for line in keepbox('detectors').splitlines()]
    assert 'yolov8' in names and len(names) > 50, names
    for name in names:
        text = keepbox('detector', name)
        (folder / 'a.detector').write_text(text)
        assert f': {name} is a valid family' in keepbox('detector', folder / 'a.detector')


def test_what_is_wrong_has_file_and_line(folder):
    path = folder / 'a.detector'
    path.write_text('[detector]\nbase=yolov8\ncoding=polar\n')
    said = keepbox('detector', path, status=1)
    assert said.startswith(f'{path}:3: coding: expected one of center-size, '), said
    assert 'none.detector' in keepbox('detector', folder / 'none.detector', status=1)
    assert '"yolov99"' in keepbox('detector', 'yolov99', status=1)
    path.write_text('[detector]\nbase=yolov8\nlabel-file=a.labels\n')
    said = keepbox('detector', path, status=1)
    assert said.startswith(f'{path}: label-file: ') and f'{folder}/a.labels' in said, said
    (folder / 'a.labels').write_text('cat\n')
    keepbox('detector', path)
    path.write_text('[detector]\nbase=ssd\npriors-file=a.priors\n')
    said = keepbox('detector', path, status=1)
    assert said.startswith(f'{path}: priors-file: ') and f'{folder}/a.priors' in said, said


def test_keys_and_usage_are_explained(folder):
    keys = keepbox('keys')
    assert 'nms-contract: ' in keys and 'zero-point: ' in keys, keys
    for line in ('[detector]\n', '  base: ', '  label-file: ', '  priors-file: ',
                 '[tensor ROLE]\n'):
        assert line in keys, (line, keys)
    for words in ([], ['detector'], ['detectors', 'more'], ['else']):
        assert keepbox(*words, status=2).startswith('usage: '), words
    assert keepbox('--help') == keepbox('detector', '-h') == keepbox(status=2)


def main():
    tests = {name: test for name, test in globals().items() if name.startswith('test_')}
    print(f'1..{len(tests)}')
    for number, (name, test) in enumerate(tests.items(), 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
                print(f'ok {number} - {name}')
            except AssertionError as error:
                print(f'not ok {number} - {name}\n# {error}')


main()
