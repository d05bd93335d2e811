#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the plugins export only the symbols that GStreamer looks up, and that no other
library is below their folder, where GStreamer would load it as a plugin. Arguments: the plugins."""
import pathlib
import shutil
import subprocess
import sys


def main():
    if shutil.which('nm') is None:
        print('1..0 # SKIP no nm on this machine')
        return
    print(f'1..{len(sys.argv)}')
    plugins = {pathlib.Path(library).resolve() for library in sys.argv[1:]}
    others = {path for plugin in plugins for path in plugin.parent.rglob('*.so*')
              if path.is_file()} - plugins
    print(f'{"not ok" if others else "ok"} {len(sys.argv)} - no other libraries')
    print(''.join(f'# {path}\n' for path in sorted(others)), end='')
    for number, library in enumerate(sys.argv[1:], 1):
        name = pathlib.Path(library).name.removeprefix('libgst').removesuffix('.so')
        wanted = {f'gst_plugin_{name}_get_desc', f'gst_plugin_{name}_register'}
        run = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', library],
                             capture_output=True, text=True, check=True)
        found = {line.split()[0] for line in run.stdout.splitlines()}
        print(f'{"ok" if found == wanted else "not ok"} {number} - {name}')
        print('\n'.join(f'# {symbol}' for symbol in sorted(found ^ wanted)[:20]))


main()
