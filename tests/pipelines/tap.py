# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers of the test programs in this folder: commands that must succeed, and TAP reports."""
import os
import pathlib
import re
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ['KEEPBOX_SOURCE'])
DATA = pathlib.Path(os.environ['KEEPBOX_TEST_DATA'])
PIPELINES = SOURCE / 'pipelines'
SCHEMA_LINE = re.compile('Schema error: |$')  # ONNX Runtime of Debian prints them by the hundred


class Skip(Exception):
    """Tells why a test cannot run here."""


def run(*command, status=0, **options):
    """Returns the command's stdout, and its stderr without the lines about schemas."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors='replace', timeout=400, **options)
    told = '\n'.join(line for line in done.stderr.splitlines() if not SCHEMA_LINE.match(line))
    assert done.returncode == status, f'{command} ended with {done.returncode}: {told[-2000:]}'
    return done.stdout, told


def need(element):
    if subprocess.run(['gst-inspect-1.0', '--exists', element], check=False).returncode:
        raise Skip(f'no {element}')


def need_inference():
    """Requires tensorinfer, and an ONNX Runtime for it."""
    need('tensorinfer')
    done = subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', '!', 'tensorinfer',
                           f'model-file={PIPELINES / "models/shapes.onnx"}', '!', 'fakesink'],
                          capture_output=True, text=True, check=False)
    if done.returncode and 'runtime-library=' in done.stderr:
        raise Skip('no ONNX Runtime')
    assert not done.returncode, done.stderr


def blocks_of_readme(language, document='README.md'):
    """Returns the code blocks of that language in README.md or another document, as printed."""
    text = (SOURCE / document).read_text()
    return [block for of, block in re.findall(r'^```(\w*)\n(.*?)^```$', text, re.M | re.S)
            if of == language]


def main(tests):
    """Runs every function named test_*, each with its own folder."""
    tests = {name: value for name, value in tests.items() if name.startswith('test_')}
    print(f'1..{len(tests)}', flush=True)
    for number, (name, test) in enumerate(tests.items(), 1):
        name = name.removeprefix('test_').replace('_', ' ')
        with tempfile.TemporaryDirectory(prefix='keepbox-') as folder:
            try:
                test(pathlib.Path(folder))
                print(f'ok {number} - {name}', flush=True)
            except Skip as reason:
                print(f'ok {number} - {name} # SKIP {reason}', flush=True)
            except Exception as error:  # a test that fails in any way has failed
                print(f'not ok {number} - {name}', flush=True)
                lines = f'{type(error).__name__}: {error}'.splitlines()
                print('\n'.join('# ' + line for line in lines), flush=True)
