#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that core's formulas compile as device code, where no function may call one of the host.
nvcc does not check inline functions that nothing calls, so they are compiled as if they were not
inline. Arguments: the source folder and nvcc."""
import pathlib
import subprocess
import sys
import tempfile

FLAGS = ['-std=c++20', '--expt-relaxed-constexpr', '-arch=compute_75', '-ptx',
         '-Werror', 'cross-execution-space-call']
# Headers that formulas may include.
STANDARD = ('algorithm', 'bit', 'cmath', 'concepts', 'cstddef', 'cstdint', 'cstring', 'limits',
            'string_view')


def main():
    source, nvcc = pathlib.Path(sys.argv[1]), sys.argv[2:]
    headers = sorted(source.glob('core/formula/*.h'))
    print('1..1')
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder, 'formulas.cu')
        lines = [*(f'#include <{name}>' for name in STANDARD), '#define inline',
                 *(f'#include "{path.relative_to(source)}"' for path in headers), '']
        unit.write_text('\n'.join(lines), encoding='utf-8')
        run = subprocess.run([*nvcc, *FLAGS, f'-I{source}', '-o', str(unit.with_suffix('.ptx')),
                              str(unit)], capture_output=True, text=True)
    print(f'{"not ok" if run.returncode else "ok"} 1 - {len(headers)} headers are device code')
    print(''.join(f'# {line}\n' for line in run.stderr.splitlines()[:20]), end='')


main()
