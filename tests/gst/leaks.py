#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the element tests under GStreamer's leaks tracer: no object may be alive at the end."""
import os
import re
import subprocess
import sys


def main():
    env = dict(os.environ, GST_TRACERS='leaks(check-refs=true)', GST_DEBUG='GST_TRACER:7',
               GST_DEBUG_NO_COLOR='1')
    run = subprocess.run(sys.argv[1:], env=env, capture_output=True, text=True, errors='replace')
    messages = [line for line in run.stderr.splitlines() if 'object-alive' in line]
    # Lines that announce the tracer are not leaks, nor is the allocator that libgstcuda keeps.
    no_leaks = ('build_format', '(string)GstCudaAllocator')
    alive = [line for line in messages if not any(text in line for text in no_leaks)]
    types = sorted({found[1] for line in alive
                    if (found := re.search(r'type-name=\(string\)(\w+)', line))})
    passed = re.search(r'\[  PASSED  \] (\d+) tests', run.stdout)
    print('1..2')
    ok = run.returncode == 0 and passed
    failed = sorted(set(re.findall(r'^\[  FAILED  \] (\w\S*)', run.stdout, re.M)))
    print(f'{"ok" if ok else "not ok"} 1 - the tests pass under the tracer', *failed)
    if not ok:
        lines = run.stdout.splitlines()
        wrong = [each for i, line in enumerate(lines) if line.endswith(': Failure')
                 for each in lines[i:i + 6]]
        print('\n'.join('# ' + line for line in (wrong or run.stderr.splitlines())[-40:]
                        + lines[-5:]))
    print(f'{"ok" if messages and not alive else "not ok"} 2 - nothing is left alive', *types)
    print('\n'.join('# ' + line for line in alive[:20]))


main()
