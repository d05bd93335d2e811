# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers of the test programs in this folder: commands that must succeed, and TAP reports."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap

SOURCE = pathlib.Path(os.environ['KEEPBOX_SOURCE'])
DATA = pathlib.Path(os.environ['KEEPBOX_TEST_DATA'])
PIPELINES = SOURCE / 'pipelines'
CLIP = PIPELINES / 'media/shapes.webm'
MODEL = PIPELINES / 'models/shapes.onnx'
PROGRAM = shutil.which('keepbox') or SOURCE / 'python/bin/keepbox'


class Skip(Exception):
    """Tells why a test cannot run here."""


def run(*command, status=0, **options):
    """Returns the command's stdout and stderr."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors='replace', **{'timeout': 400, **options})
    assert done.returncode == status, \
        f'{command} ended with {done.returncode}: {done.stderr[-2000:]}'
    return done.stdout, done.stderr.removesuffix('\n')


def detect(*words, model=MODEL, **options):
    """Runs keepbox detect with a model; returns its stdout and stderr."""
    return run(PROGRAM, 'detect', *words, '--model', model, **options)


def need(element):
    if subprocess.run(['gst-inspect-1.0', '--exists', element], check=False).returncode:
        raise Skip(f'no {element}')


def need_inference():
    """Requires tensorinfer, and an ONNX Runtime for it."""
    need('tensorinfer')
    done = subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', '!',
                           'tensorinfer', f'model-file={PIPELINES / "models/shapes.onnx"}', '!',
                           'fakesink'],
                          capture_output=True, text=True, check=False)
    if done.returncode and 'KEEPBOX_ONNXRUNTIME' in done.stderr:
        raise Skip('no ONNX Runtime')
    assert not done.returncode, done.stderr


def pages():
    """Returns README.md and all pages of docs/."""
    return [SOURCE / 'README.md', *sorted((SOURCE / 'docs').rglob('*.md'))]


def blocks_of(page, language):
    """Returns the code blocks of that language in a page, without the indent of a list."""
    found = re.findall(r'^( *)```(\w*)\n(.*?)^\1```$', page.read_text(), re.M | re.S)
    return [textwrap.dedent(block) for _, name, block in found if name == language]


def first_line():
    """Returns the first line of GStreamer in README.md."""
    return next(block for block in blocks_of(SOURCE / 'README.md', 'sh')
                if block.startswith('gst-launch-1.0 '))


def blocks_of_pages(language):
    """Returns the code blocks of that language in all pages."""
    return [block for page in pages() for block in blocks_of(page, language)]


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
