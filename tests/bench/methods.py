#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the instructions of frames for every method of suppression. Checks that the vector backend
never takes more than the reference, except for the layout of boxes, and that linear methods compare
no other boxes once the only class is full.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import tempfile

# Budget of the vector backend for the layout of 1,500 boxes if the reference hardly compares any.
LAYOUT = 1500 * 100
# Maximum factor relative to no suppression if the only class is full: a row of pairs or two.
FULL = 3
ALL_PAIRS = ('matrix', 'matrix-linear')


def counts(program, backend):
    """Returns the instructions of each frame, by name."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ['valgrind', '--tool=callgrind', f'--callgrind-out-file={folder}/out',
             '--toggle-collect=*counted_frame*', program, backend],
            capture_output=True, text=True, check=True)
        names = run.stdout.split('\n')[:-1]
        dumps = [pathlib.Path(folder, f'out.{i + 1}').read_text() for i in range(len(names))]
    return {name: int(re.search(r'^(?:totals|summary): (\d+)', dump, re.M).group(1))
            for name, dump in zip(names, dumps)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', help='the program `methods` of a build folder')
    program = parser.parse_args().program
    if not shutil.which('valgrind'):
        print('1..0 # SKIP no valgrind')
        return
    reference, vectors = (counts(program, backend) for backend in ('reference', 'simd'))
    full = [name for name in reference
            if name.endswith(' full') and not name.startswith(ALL_PAIRS)]
    print(f'1..{len(reference) + 2 * len(full)}', flush=True)
    number = 0

    def check(ok, text):
        nonlocal number
        number += 1
        print(f'{"ok" if ok else "not ok"} {number} - {text}', flush=True)

    for name, most in reference.items():
        check(vectors[name] <= most + LAYOUT, f'simd {name}: {vectors[name]:,}, reference {most:,}')
    for backend, of in (('reference', reference), ('simd', vectors)):
        for name in full:
            check(of[name] <= of['none full'] * FULL,
                  f'{backend} {name}: {of[name]:,}, none {of["none full"]:,}')


main()
