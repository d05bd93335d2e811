#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that every object of the CUDA kernels has machine code for each target, and PTX for the
oldest and the newest one. Parses the objects itself because CUDA's tools are rarely available.

usage: fatbinary.py LIBRARY TARGET...   targets such as 75 80 90, in ascending order
"""
import struct
import subprocess
import sys

MAGIC = 0xBA55ED50
PTX, MACHINE_CODE = 1, 2
SECTIONS = (b'.nv_fatbin', b'__nv_relfatbin')


def objects_of(library):
    """Yields names and contents."""
    names = subprocess.run(['ar', 't', library], check=True, capture_output=True, text=True)
    for name in names.stdout.split():
        yield name, subprocess.run(['ar', 'p', library, name], check=True,
                                   capture_output=True).stdout


def fat_sections(elf):
    """Yields the sections of a 64-bit little-endian ELF file that contain fat binaries."""
    assert elf[:6] == b'\x7fELF\x02\x01', 'not a 64-bit little-endian ELF file'
    table, = struct.unpack_from('<Q', elf, 40)
    size, count, names = struct.unpack_from('<HHH', elf, 58)
    headers = [struct.unpack_from('<IIQQQQ', elf, table + i * size) for i in range(count)]
    for name, _, _, _, start, length in headers:
        name_at = headers[names][4] + name
        if elf[name_at:elf.index(b'\0', name_at)] in SECTIONS:
            yield elf[start:start + length]


def entries(section):
    """Yields kind and architecture of all entries. Each binary header is followed by entries, each
    with its own header and contents."""
    at = 0
    while at < len(section):
        magic, _, header, size = struct.unpack_from('<IHHQ', section, at)
        assert magic == MAGIC, f'expected a fat binary at byte {at}, found {magic:#x}'
        at += header
        end = at + size
        while at < end:
            kind, _, header, size = struct.unpack_from('<HHIQ', section, at)
            yield kind, struct.unpack_from('<I', section, at + 28)[0]
            at += header + size
        at = (end + 7) // 8 * 8


def held(elf):
    """Returns the architectures with machine code, and those with PTX."""
    found = [entry for section in fat_sections(elf) for entry in entries(section)]
    return [sorted({arch for kind, arch in found if kind == wanted})
            for wanted in (MACHINE_CODE, PTX)]


def words(architectures):
    return ' '.join(map(str, architectures)) or 'none'


def main():
    library, *targets = sys.argv[1:]
    targets = [int(target.rstrip('af')) for target in targets]
    objects = list(objects_of(library))
    print(f'1..{len(objects) + 1}')
    print(f'{"ok" if objects else "not ok"} 1 - there are objects')
    for number, (name, elf) in enumerate(objects, 2):
        code, ptx = held(elf)
        good = set(targets) <= set(code) and {targets[0], targets[-1]} <= set(ptx)
        print(f'{"ok" if good else "not ok"} {number} - {name}: machine code {words(code)}, '
              f'PTX {words(ptx)}')
        if not good:
            print(f'# expected machine code {words(targets)}, PTX '
                  f'{words(sorted({targets[0], targets[-1]}))}')


main()
