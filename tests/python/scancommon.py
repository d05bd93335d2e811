# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of scans share: their inputs, and a process that kills workers."""
import atexit
import contextlib
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import tempfile
import threading
import time

from common import CLIP, CONFIDENCE, MODEL, launch, need_inference
from tap import Skip

import keepbox

__all__ = ['CONFIDENCE']


def need_arrow():
    """Requires what writes Parquet; returns it."""
    if importlib.util.find_spec('pyarrow') is None:
        raise Skip('no pyarrow')
    need_inference()
    import pyarrow
    import pyarrow.parquet
    return pyarrow


def corpus(folder):
    """Makes 12 inputs: nine clips, one of them in a folder below, a truncated one, a text file and
    a folder of pictures. Returns the folder."""
    return pathlib.Path(shutil.copytree(_corpus(), folder, dirs_exist_ok=True))


@functools.cache
def _corpus():
    folder = pathlib.Path(tempfile.mkdtemp(prefix='keepbox-'))
    atexit.register(shutil.rmtree, folder)
    (folder / 'below').mkdir()
    for number in range(9):
        name = f'below/{number}.webm' if number == 8 else f'{number}.webm'
        launch(f'filesrc location={CLIP} ! matroskademux ! identity eos-after={12 + 3 * number}'
               f' ! webmmux ! filesink location={folder}/{name}')
    (folder / 'cut.webm').write_bytes(CLIP.read_bytes()[:120000])
    (folder / 'text.mp4').write_text('rubbish\n' * 40)
    (folder / 'pictures').mkdir()
    launch(f'filesrc location={CLIP} ! decodebin3 ! identity eos-after=5 ! videoconvert ! pngenc'
           f' compression-level=1 ! multifilesink location={folder}/pictures/%02d.png')
    return folder


def scan(source, out, **options):
    """Scans with the demo's model."""
    return keepbox.scan(source, model=MODEL, out=out, confidence=CONFIDENCE, **options)


def tables_of(folder):
    """Returns the bytes of each file of results by its key."""
    return {path.stem: path.read_bytes() for path in pathlib.Path(folder).glob('*.parquet')}


def rows_of(folder):
    """Returns the newest rows of the manifests."""
    from keepbox._scan.manifest import read
    return read(str(folder))


class Killer:
    """Kills the process that has begun the file of a key, as often as told."""

    def __init__(self, out, key, times=1):
        self._out, self._key, self._times, self.killed = out, key, times, 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._ended = False

    def _work(self):
        seen = set()
        while not self._ended and self.killed < self._times:
            for path in self._out.glob(f'*/{self._key}.parquet.part-*'):
                number = int(re.search(r'-(\d+)$', path.name)[1])
                if number not in seen:
                    seen.add(number)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
                        self.killed += 1
            time.sleep(.001)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._ended = True
        self._thread.join()
