#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the instructions of a frame, which has no noise, and compares the count with the recorded
one: more than 5 % more is a failure, and so is less than half, which should be recorded.
Writes new counts with --record.

usage: instructions.py FRAME_PROGRAM COUNTS.json COMPILER [--record]
Counts hold for one compiler; with another, or without valgrind, the test is skipped. Valgrind has
no AVX-512: the vector backend runs its AVX2 code there.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FRAMES = ['planes', 'rows', 'anchored-heads', 'binned-heads', 'heat-map', 'int8-planes', 'labels',
          'binned-labels', 'segments']
CASES = [(backend, frame) for backend in ('simd', 'reference') for frame in FRAMES]
LEAST, MOST = 0.5, 1.05


def per_frame(program, backend, frame):
    """Returns the instructions of counted_frame() and its callees."""
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}',
                              '--toggle-collect=*counted_frame*', program, backend, frame],
                             capture_output=True, text=True, check=True)
    return int(re.search(r'Collected : (\d+)', run.stderr).group(1))


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    program, recorded, compiler = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    if '--record' in sys.argv:
        counts = {f'{b} {t}': per_frame(program, b, t) for b, t in CASES}
        text = json.dumps({'compiler': compiler, 'instructions': counts}, indent=1)
        recorded.write_text(text + '\n')
        return
    known = json.loads(recorded.read_text())
    if not shutil.which('valgrind') or known['compiler'] != compiler:
        print(f'1..0 # SKIP no valgrind, or a compiler other than {known["compiler"]}')
        return
    print(f'1..{len(CASES)}', flush=True)
    for number, case in enumerate(CASES, 1):
        name, before = ' '.join(case), known['instructions'][' '.join(case)]
        now = per_frame(program, *case)
        ok = before * LEAST <= now <= before * MOST
        print(f'{"ok" if ok else "not ok"} {number} - {name}: {now:,} instructions a frame, '
              f'recorded {before:,}', flush=True)


main()
