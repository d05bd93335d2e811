#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that --help of every user-facing Python and shell program shows its purpose and does
nothing else, whatever is missing on this machine."""
import subprocess
import sys

from tap import SOURCE, main

FOLDERS = ('pipelines', 'pipelines/demo', 'tools', 'tests/bench', 'tests/track', 'tests/zoo')
ELSEWHERE = {'make_bundle', 'make_packages', 'make_wheel', 'try_packages', 'common.sh',
             'record_tensors.sh', 'streets_test.py', 'try_images'}
PYTHON, SHELL = '#!/usr/bin/env python3\n', '#!/usr/bin/env bash\n'


def programs(first_line):
    """Returns files that begin with that line, except those that ./dev or meson calls, and
    sourced ones."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).iterdir()):
            if path.is_file() and path.name not in ELSEWHERE and \
                    path.read_bytes().startswith(first_line.encode()):
                yield path


def shown(folder, *command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          cwd=folder, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f'{command}: {done.returncode}, {done.stderr}'
    assert len(done.stdout.split()) > 10 and not done.stderr, \
        f'{command}: {done.stdout}{done.stderr}'
    assert not list(folder.iterdir()), f'{command} wrote files'
    return done.stdout


def test_help_of_python(folder):
    found = list(programs(PYTHON))
    assert len(found) > 10, found
    for path in found:
        full, brief = (shown(folder, sys.executable, path, word) for word in ('--help', '-h'))
        assert full == brief


def test_help_of_shell(folder):
    found = list(programs(SHELL))
    assert len(found) > 6, found
    for path in found:
        assert 'usage: ' in shown(folder, path, '--help'), path


def test_what_python_lacks_is_named(folder):
    """Modules that do not exist anywhere, so that the test is the same on all machines."""
    program = folder / 'program.py'
    program.write_text('"""Does this and that."""\nimport needed\n'
                       'needed.modules(__doc__, "sys", "nosuchmodule")\nprint("it runs")\n')
    environment = {'PYTHONPATH': str(SOURCE / 'tools'), 'PYTHONDONTWRITEBYTECODE': '1'}
    for words, status, messages in (([], 1, 'missing: nosuchmodule'), (['--help'], 0, 'Does this')):
        done = subprocess.run([sys.executable, program, *words], capture_output=True, text=True,
                              env=environment, check=False)
        assert done.returncode == status and messages in done.stdout + done.stderr, done
        assert 'it runs' not in done.stdout, done


if __name__ == '__main__':
    main(globals())
