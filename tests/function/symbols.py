#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks what libkeepbox-decode needs and exports: it loads into programs on older systems, and
beside another libstdc++.

Arguments: the library and its header."""
import pathlib
import re
import subprocess
import sys

NEWEST_GLIBC = (2, 35)
NEEDED = r'(libhwy(_contrib)?\.so\.1|lib(m|c|dl|pthread|rt)\.so\.\d|ld-linux.*)'
DECLARED = r'^KEEPBOX_DECODE_API [^(;]*?(\w+)\('


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def failures(library, header):
    declared = set(re.findall(DECLARED, pathlib.Path(header).read_text(), re.M))
    exported = set()
    dynamic = output_of('readelf', '-dW', library)
    needed = re.findall(r'NEEDED\)\s+Shared library: \[(.*)\]', dynamic)
    yield from (f'needs {each}' for each in needed if not re.fullmatch(NEEDED, each))
    for line in output_of('readelf', '--dyn-syms', '-W', library).splitlines()[3:]:
        fields = line.split()
        if len(fields) < 8:
            continue
        name, _, version = fields[7].partition('@')
        version = version.lstrip('@')
        if fields[6] != 'UND':
            private = version.startswith('KEEPBOX_PRIVATE_')
            if not private and not name.startswith('KEEPBOX_'):
                exported.add(name)
        elif glibc := re.fullmatch(r'GLIBC_([\d.]+)', version):
            if tuple(map(int, glibc[1].split('.')))[:2] > NEWEST_GLIBC:
                yield f'needs {name} of {version}'
    yield from (f'does not export {each}' for each in sorted(declared - exported))
    yield from (f'exports {each}, which is not declared' for each in sorted(exported - declared))


def main():
    found = list(failures(*sys.argv[1:]))
    for each in found:
        print(f'libkeepbox-decode {each}')
    print(f'{"0 passed, 1 failed" if found else "1 passed, 0 failed"}')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
