#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every header compiles on its own, and core's needs nothing but the standard library."""
import pathlib
import subprocess
import sys

PACKAGES = ['gstreamer-1.0', 'gstreamer-base-1.0', 'gstreamer-video-1.0',
            'gstreamer-analytics-1.0', 'opencv4']


def main():
    source, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    flags = subprocess.run(['pkg-config', '--cflags', *PACKAGES], check=True,
                           capture_output=True, text=True).stdout.split()
    headers = sorted([*source.glob('core/**/*.h'), *source.glob('gst/*.h')])
    print(f'1..{len(headers)}')
    for number, header in enumerate(headers, 1):
        name = header.relative_to(source)
        extra = [] if name.parts[0] == 'core' else [*flags, '-DGST_USE_UNSTABLE_API']
        run = subprocess.run([*compiler, '-std=c++23', '-fsyntax-only', '-x', 'c++',
                              f'-I{source}', *extra, str(header)], capture_output=True, text=True)
        print(f'{"ok" if run.returncode == 0 else "not ok"} {number} - {name}')
        if run.returncode:
            print('\n'.join('# ' + line for line in run.stderr.splitlines()[:20]))


main()
