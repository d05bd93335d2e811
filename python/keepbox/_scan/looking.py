# SPDX-License-Identifier: LGPL-2.1-or-later
"""Looks at inputs, each from its first frame to its table. One object has one model for all of
them, and may be called by several threads."""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._detector import Detector
from .._errors import Error
from .._frame import Frame
from . import tables
from .inputs import PICTURES, Input
from .manifest import ERROR, OK, PARTIAL, Row
from .tables import OutputError, Table

# A video that lacks less than that many seconds of what its file declares is complete.
MISSING = .5
SILENT = 120.  # seconds without a frame, after which a file counts as unreadable
CHANGED = 'it changed while it was read: scan it again when it is complete'
# Arguments that are about the frame before, which a picture does not have.
OF_VIDEOS = ('tracker', 'track_score_threshold', 'interval', 'hold')

# Takes the frames of an input so far, and its seconds.
Shown = Callable[[int, float], None]


class _Found:
    """What is known of the frames of an input."""

    def __init__(self) -> None:
        self.frames = self.skipped = 0
        self.size: list[int] | None = None
        self.first = self.last = 0.
        self.declared: float | None = None
        self.missing: list[str] = []

    def add(self, frame: Frame) -> None:
        """Counts a frame."""
        height, width = frame.shape
        if not self.frames:
            self.size, self.first = [width, height], frame.time or 0.
        elif self.size != [width, height]:
            self.size = None
        self.frames += 1
        self.skipped += frame.skipped
        self.last = max(self.last, frame.time or 0.)

    @property
    def seconds(self) -> float:
        """The end of the last frame."""
        gap = (self.last - self.first) / (self.frames - 1) if self.frames > 1 else 0.
        return round(self.last + gap, 6)

    def early(self) -> str:
        """Tells that a video ends before its end; '' if it does not."""
        if self.missing:
            others = f', and {len(self.missing) - 1} more' if len(self.missing) > 1 else ''
            return f'{self.missing[0]}{others}'
        if self.declared is None or self.declared - self.seconds <= MISSING:
            return ''
        return (f'it ends after {self.seconds:.2f} s, although it declares {self.declared:.2f} s:'
                ' it may be incomplete, or another of its streams goes on')


class Looker:
    """A model that looks at inputs.

    detector: arguments of keepbox.Detector.
    """

    def __init__(self, detector: dict[str, Any]) -> None:
        tables.arrow()
        self._arguments = detector
        self._videos = Detector(**detector)
        self._pictures: Detector | None = None
        self._lock = threading.Lock()
        with self._videos(np.zeros((48, 64, 3), np.uint8)) as stream:
            next(stream)
            about = stream.stats()['tensorinfer']
        self.runtime, self.provider = str(about['runtime']), str(about['provider'])
        self.names = self._videos.names

    def close(self) -> None:
        """Releases the model."""
        self._videos.close()
        if self._pictures:
            self._pictures.close()

    def _for_pictures(self) -> Detector:
        """Returns the detector of pictures, which looks at each as if there were no other."""
        if not any(self._arguments.get(name) for name in OF_VIDEOS):
            return self._videos
        with self._lock:
            self._pictures = self._pictures or Detector(
                **{name: value for name, value in self._arguments.items()
                   if name not in OF_VIDEOS})
            return self._pictures

    def _frames(self, source: Input, found: _Found) -> Iterator[tuple[Frame, str | None]]:
        """Yields frames, and the names of those that are pictures."""
        if source.kind == PICTURES:
            detector = self._for_pictures()
            for name, path in zip(source.files, source.paths):
                try:
                    yield detector.detect(path), name
                except (Error, OSError, ValueError) as error:
                    if isinstance(error, Error) and not error.source:
                        raise
                    found.missing.append(f'{name} cannot be read: {_text_of(error, path)}')
            return
        if os.path.exists(source.path) and not os.path.isfile(source.path):
            raise Error('it is no file that can be read twice', source=source.path)
        with self._videos(source.path, timeout=SILENT) as stream:
            for frame in stream:
                yield frame, None
            found.declared = stream.duration

    def look(self, source: Input, folder: str, settings: str,
             shown: Shown = lambda frames, seconds: None, attempt: int | None = None) -> Row:
        """Writes the table of an input, and returns its row of the manifest.

        folder: where the table goes.
        settings: the name of the settings.
        attempt: as of Table.

        Raises:
            OutputError: the table cannot be written.
            Error: the model fails, which is about no input.
        """
        began = time.monotonic()
        table = Table(folder, source.key, attempt)
        found, status, text = _Found(), OK, ''
        try:
            try:
                for frame, picture in self._frames(source, found):
                    index = found.frames if picture is None else source.files.index(picture)
                    found.add(frame)
                    table.add(frame, source.name, picture, index)
                    shown(found.frames, found.last)
                text = found.early()
                status = PARTIAL if text else OK
            except (OutputError, MemoryError):
                raise
            except (Error, OSError, ValueError) as error:
                if isinstance(error, Error) and not error.source:
                    raise
                status, text = PARTIAL, _text_of(error, source.path)
            if not found.frames:
                status, text = ERROR, text or 'no frame came of it: it may be incomplete'
            if not source.is_unchanged():
                there = all(map(os.path.exists, source.paths))
                status, text = ERROR, CHANGED if there else 'it is no longer there'
            about = {'input': source.name, 'key': source.key, 'kind': source.kind,
                     'frames': found.frames, 'skipped': found.skipped, 'size': found.size,
                     'seconds': None if source.kind == PICTURES else found.seconds,
                     'pictures': list(source.files), 'status': status, 'error': text}
            if status == ERROR:
                table.drop()
            else:
                table.finish({**about, 'settings': settings, 'names': self.names})
        except BaseException:
            table.drop()
            raise
        return row_of(source, about, table.boxes if status != ERROR else 0, settings,
                      table.attempt, time.monotonic() - began)


def row_of(source: Input, about: dict[str, Any], boxes: int, settings: str, attempts: int | None,
           took: float | None) -> Row:
    """Returns the row of the manifest of an input.

    about: what is known of its frames, as in the metadata of its table.
    attempts, took: None if they are not known.
    """
    row = {'key': source.key, 'input': source.name, 'status': about['status'],
           'error': about['error'], 'frames': about['frames'], 'skipped': about['skipped'],
           'boxes': boxes, 'video_seconds': about['seconds'],
           'seconds': None if took is None else round(took, 3), 'attempts': attempts,
           'kind': source.kind, 'path': source.path, 'bytes': source.size, 'settings': settings}
    if source.kind == PICTURES:
        row['files'] = list(source.files)
    return row


def failed(source: Input, text: str, attempts: int, settings: str) -> Row:
    """Returns the row of an input that could not be looked at."""
    about = {'status': ERROR, 'error': text, 'frames': 0, 'skipped': 0, 'seconds': None}
    return row_of(source, about, 0, settings, attempts, None)


def _text_of(error: Exception, path: str) -> str:
    """Returns what is wrong, without the name of the input."""
    if isinstance(error, Error):
        return error.message
    if isinstance(error, FileNotFoundError):
        return 'it is no longer there'
    return str(error).replace(path, 'it')
