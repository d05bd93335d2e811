#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs a wheel in a bare virtual environment and uses it there as its users do.

usage: wheel.py WHEEL FOLDER

FOLDER gets the environment, and is removed before. The boxes of the checkout's elements, with the
same ONNX Runtime, are those that ./dev run makes. The last line is `N passed, N failed, N skipped`.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import venv

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 100 * 1000 * 1000
CLIP, MODEL = 'pipelines/media/shapes.webm', 'pipelines/models/shapes.onnx'
# Of a shell without GStreamer's variables.
KEPT = ('HOME', 'PATH', 'TMPDIR', 'XDG_CACHE_HOME', 'LANG', 'HTTPS_PROXY', 'HTTP_PROXY',
        'https_proxy', 'http_proxy', 'PIP_INDEX_URL', 'PIP_CONFIG_FILE', 'PIP_CERT',
        'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE')
BARE = {name: os.environ[name] for name in KEPT if name in os.environ}


class Wheel:
    """A wheel and the environment that it is installed in."""

    def __init__(self, path, folder):
        self.path, self.folder = pathlib.Path(path).resolve(), pathlib.Path(folder).resolve()
        self.bin = self.folder / 'venv/bin'
        self.out = self.folder / 'out'

    @property
    def packages(self):
        return next((self.folder / 'venv/lib').glob('python3*/site-packages'))

    @property
    def runtime(self):
        return self.packages / 'keepbox/_runtime'

    def run(self, program, *words, status=0, cwd=SOURCE, **more):
        """Runs a program of the environment, and returns its stdout."""
        done = subprocess.run([self.bin / program, *map(str, words)], env={**BARE, **more}, cwd=cwd,
                              capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == status, (program, words, done.returncode, done.stdout[-2000:],
                                           done.stderr[-2000:])
        return done.stdout if not status else done.stderr

    def python(self, text, **more):
        return self.run('python', '-c', text, **more)


def readme_block():
    return re.search(r'^```python\n(import keepbox\n.*?)^```', (SOURCE / 'README.md').read_text(),
                     re.M | re.S)[1]


def checkout(*words, **variables):
    """Runs a command in the build environment of the checkout."""
    done = subprocess.run([SOURCE / 'dev', 'run', 'env', *(f'{key}={value}' for key, value in
                                                            variables.items()), *map(str, words)],
                          cwd=SOURCE, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, (words, done.stderr[-2000:])
    return done.stdout


def onnxruntime(wheel):
    return next((wheel.packages / 'onnxruntime/capi').glob('libonnxruntime.so*'))


def test_its_size_and_its_tag(wheel):
    assert wheel.path.stat().st_size < MOST_BYTES, wheel.path.stat().st_size
    assert re.search(r'-py3-none-manylinux_2_\d+_x86_64\.whl$', wheel.path.name), wheel.path


def test_it_installs_without_anything_of_the_host(wheel):
    shutil.rmtree(wheel.folder, ignore_errors=True)
    wheel.out.mkdir(parents=True)
    venv.create(wheel.folder / 'venv', with_pip=True)
    wheel.before = sorted(wheel.packages.iterdir())
    wheel.run('pip', 'install', '-q', '--disable-pip-version-check', wheel.path)


def test_what_is_missing_is_a_sentence(wheel):
    """Without the extra there is no ONNX Runtime."""
    said = wheel.run('keepbox', 'detect', CLIP, '--model', MODEL, status=1)
    assert 'pip install onnxruntime' in said and 'Traceback' not in said, said
    said = wheel.python('import keepbox\ntry:\n    keepbox.Detector(%r)\nexcept keepbox.Error as e:'
                        '\n    print(e)' % MODEL)
    assert 'pip install onnxruntime' in said, said
    done = subprocess.run([wheel.bin / 'keepbox', 'doctor'], env=BARE, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and 'onnxruntime' in done.stdout, done


def test_the_extra_brings_it(wheel):
    wheel.run('pip', 'install', '-q', '--disable-pip-version-check', f'{wheel.path}[cpu]')
    said = wheel.run('keepbox', 'doctor')
    assert 'onnxruntime/capi/libonnxruntime.so' in said and str(wheel.runtime) in said, said


def test_the_block_of_readme_runs(wheel):
    started = time.monotonic()
    rows = wheel.python(readme_block()).splitlines()
    assert len(rows) > 100 and all(re.match(r'(ring|star) 0\.\d+ [\d.-]+ ', row) for row in rows)
    print(f'# {len(rows)} boxes after {time.monotonic() - started:.1f} s')


def test_boxes_are_those_of_the_checkout(wheel):
    """Byte for byte, with the same ONNX Runtime, of the program and of Python."""
    library = onnxruntime(wheel)
    for options in [], ['--track', '--every', '3'], ['--tiles', '2x2', '--classes', 'ring']:
        ours, theirs = wheel.out / 'wheel.jsonl', wheel.out / 'checkout.jsonl'
        words = ['detect', CLIP, '--model', MODEL, '--confidence', '0.5', *options, '--boxes']
        wheel.run('keepbox', *words, ours)
        checkout('keepbox', *words, theirs, KEEPBOX_ONNXRUNTIME=library)
        assert ours.read_bytes() == theirs.read_bytes() and ours.stat().st_size > 10000, options
    text = ('import keepbox, hashlib\nsum = hashlib.sha256()\n'
            f'for frame in keepbox.Detector({MODEL!r}, confidence=.5)({CLIP!r}):\n'
            '    for part in frame.boxes.xyxy, frame.boxes.conf, frame.boxes.cls, frame.image:\n'
            '        sum.update(part.tobytes())\nprint(sum.hexdigest())')
    assert wheel.python(text) == checkout('python3', '-c', text, PYTHONPATH=SOURCE / 'python',
                                          KEEPBOX_ONNXRUNTIME=library)


def test_a_video_is_drawn(wheel):
    for name in 'drawn.webm', 'drawn.mp4':
        wheel.run('keepbox', 'detect', CLIP, '--model', MODEL, '-o', wheel.out / name)
        assert (wheel.out / name).stat().st_size > 100000, name


def test_nothing_of_the_host_is_loaded(wheel):
    """But its loader's own page, and the driver's libraries where there is a GPU."""
    text = ('import keepbox\nfrom keepbox import _remote\n'
            f'next(keepbox.Detector({MODEL!r})({CLIP!r}))\n'
            'maps = open(f"/proc/{_remote.connection().process.pid}/maps").read()\n'
            'print(*sorted({line.split(None, 5)[5] for line in maps.splitlines()'
            ' if "/" in line}), sep="\\n")')
    loaded = wheel.python(text).splitlines()
    libraries = [each for each in loaded if '.so' in each and '/dev/' not in each]
    foreign = [each for each in libraries if not each.startswith(str(wheel.packages))]
    assert len(libraries) > 30, libraries
    assert all('nvidia' in each or 'cuda' in each for each in foreign), foreign


def test_the_tools_are_there(wheel):
    assert 'Detection box decoder' in wheel.run('keepbox', 'gst-inspect-1.0', 'boxdecode')
    wheel.run('keepbox', 'gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=3', '!', 'fakesink')
    assert 'yolov8' in wheel.run('keepbox', 'detectors')
    assert wheel.run('keepbox', 'gst-inspect-1.0', '-b').strip().endswith('0 blacklisted files')
    found = wheel.run('keepbox', 'licenses')
    assert 'libglib2.0-0t64 ' in found and 'LGPL' in found
    assert 'Cisco' in wheel.run('keepbox', 'licenses', 'libopenh264-8')


def test_variables_of_the_host_s_gstreamer_do_not_matter(wheel):
    rows = wheel.python(readme_block(), GST_PLUGIN_PATH='/usr/lib/x86_64-linux-gnu/gstreamer-1.0',
                        GST_PLUGIN_SYSTEM_PATH_1_0='/nowhere', LD_LIBRARY_PATH='/usr/lib',
                        PYTHONPATH=str(wheel.packages), PYTHONHOME='').splitlines()
    assert len(rows) > 100


def test_the_functions_need_no_worker(wheel):
    said = wheel.python('import keepbox\nprint(keepbox.nms([[0, 0, 9, 9], [0, 0, 9, 8]], [.5, .6],'
                        ' iou=.5))\nfrom keepbox import _remote\nprint(_remote._connection)')
    assert said.split() == ['[1]', 'None'], said


def test_tests_of_the_package(wheel):
    """Those that use nothing but what is public."""
    more = {'PATH': f'{wheel.runtime}:{os.environ["PATH"]}', 'KEEPBOX_SOURCE': str(SOURCE),
            'KEEPBOX_TEST_DATA': str(SOURCE / '../shared/data'),
            'KEEPBOX_ONNXRUNTIME': str(onnxruntime(wheel))}
    for name in 'streams', 'worker':
        said = wheel.run('python', SOURCE / f'tests/python/{name}.py', **more)
        assert 'not ok' not in said and 'SKIP no ' not in said and '\nok ' in said, said


def test_it_leaves_nothing(wheel):
    wheel.run('pip', 'uninstall', '-q', '-y', 'keepbox')
    left = [str(each) for each in wheel.packages.rglob('*keepbox*')]
    assert not left and not (wheel.bin / 'keepbox').exists(), left


def main(path, folder):
    wheel, counts = Wheel(path, folder), {'ok': 0, 'not ok': 0}
    for name, test in [*globals().items()]:
        if name.startswith('test_'):
            try:
                test(wheel)
                said = 'ok'
            except Exception as error:  # a test that fails in any way has failed
                print(*(f'# {line}' for line in f'{type(error).__name__}: {error}'.splitlines()),
                      sep='\n')
                said = 'not ok'
            counts[said] += 1
            print(f'{said} - {name.removeprefix("test_").replace("_", " ")}', flush=True)
    print(f'{counts["ok"]} passed, {counts["not ok"]} failed, 0 skipped')
    return counts['not ok'] != 0


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
