# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers that the tests of the Python package share. Import it before keepbox: it finds the
helpers of tests/pipelines."""
import functools
import gc
import json
import os
import pathlib
import struct
import sys
import threading
import time
import warnings
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(os.environ['KEEPBOX_SOURCE']) / 'tests/pipelines'))
from tap import CLIP, PIPELINES, Skip, need_inference, run  # noqa: E402

MODEL = PIPELINES / 'models/shapes.onnx'
CONFIDENCE = .5


def is_worker():
    """True if the tests use GStreamer in a worker process."""
    from keepbox import _runtime
    return _runtime.folder() is not None


def need_own_elements():
    """Skips a test that reaches for the elements of a Detector if another process has them."""
    if is_worker():
        raise Skip('the elements are those of another process')


def detector(**properties):
    """Returns a detector of the demo's model."""
    need_inference()
    import keepbox
    return keepbox.Detector(MODEL, **{'confidence': CONFIDENCE, **properties})


def names(frame):
    return list(frame.boxes.names)


@functools.cache
def boxsink(model, *properties):
    """Returns what boxsink writes of the clip, for elements with the settings of a detector's."""
    need_inference()
    out, _ = run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin', '!',
                 'videoconvert', '!', 'tensorinfer', f'model-file={PIPELINES}/models/{model}', '!',
                 'boxdecode', *properties, '!', 'boxsink')
    return [json.loads(line) for line in out.splitlines()]


def same(array, expected, kind, shape):
    """Checks that an array has that type, that shape and those values."""
    assert array.dtype == kind and array.shape == shape, (array.dtype, array.shape, shape)
    assert np.array_equal(array, np.asarray(expected, kind).reshape(shape)), (array, expected)


def fails(kind, word, call):
    """Checks that a call raises that very exception, whose text contains a word; returns it."""
    try:
        call()
    except Exception as error:
        assert type(error) is kind, f'{type(error).__name__}: {error}'
        assert word in str(error), error
        return error
    raise AssertionError(f'no {kind.__name__} about {word}')


def warned(call):
    """Returns the result of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        result = call()
    return result, found


def within(seconds, call):
    """Returns the result of a call, or raises what it raises; fails if it takes longer."""
    found = []

    def work():
        try:
            found.append((call(), None))
        except Exception as error:  # is raised again
            found.append((None, error))
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f'no result within {seconds} s'
    (result, error), = found
    if error:
        raise error
    return result


def launch(line):
    """Runs a line with gst-launch-1.0."""
    run('bash', '-c', f'gst-launch-1.0 -q {line}')


def png(path, width=64, height=48):
    """Writes a picture without an encoder."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack(
            '>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + bytes(width * 3) for _ in range(height))
    path.write_bytes(b'\x89PNG\r\n\x1a\n' + chunk(
        b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) + chunk(
            b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
    return path


def resources():
    """Returns the numbers of this process's threads and file descriptors."""
    gc.collect()
    return len(os.listdir('/proc/self/task')), len(os.listdir('/proc/self/fd'))


def assert_nothing_left(before, seconds=5):
    """Fails if there are more resources than before. Threads of GStreamer's pool end later than
    their work."""
    end = time.monotonic() + seconds
    while any(now > then for now, then in zip(resources(), before)) and time.monotonic() < end:
        time.sleep(0.05)
    assert all(now <= then for now, then in zip(resources(), before)), (resources(), before)
