# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Parquet file of an input: a row per box, and in its metadata what is known of the frames."""
from __future__ import annotations

import contextlib
import glob
import json
import os
import socket
from typing import TYPE_CHECKING, Any

import numpy as np

from .._boxes import UNTRACKED, Mask
from .._errors import Error

if TYPE_CHECKING:
    from .._frame import Frame

FORMAT = 1
SUFFIX = '.parquet'
METADATA = b'keepbox'
GROUP = 1 << 16  # rows of a row group, but for the last
NEEDED = ('scan writes Parquet, which needs pyarrow: run pip install keepbox[scan], or pip install'
          ' pyarrow, in a virtual environment made with --system-site-packages')


class OutputError(Error):
    """A file of results that cannot be written. The scan ends."""


def arrow() -> Any:
    """Returns the module pyarrow, with pyarrow.parquet. Raises Error if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Error(NEEDED) from error
    return pyarrow


def schema() -> Any:
    """Returns the columns, which are the same for all models."""
    pa = arrow()
    word, real = pa.dictionary(pa.int32(), pa.string()), pa.float32()
    mask = pa.struct([('width', pa.int32()), ('height', pa.int32()), ('x', real), ('y', real),
                      ('w', real), ('h', real), ('rle', pa.string())])
    return pa.schema([
        ('input', word), ('picture', word), ('frame', pa.int32()), ('time', pa.float64()),
        ('x1', real), ('y1', real), ('x2', real), ('y2', real), ('score', real),
        ('class', pa.int32()), ('label', word), ('id', pa.int64()), ('angle', real),
        ('points', pa.list_(pa.list_(real))), ('mask', mask)])


def rle_of(pixels: Any) -> str:
    """Writes a mask as COCO's text of run lengths, column by column."""
    flat = np.asarray(pixels, bool).T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    counts: list[int] = list(map(int, np.diff([0, *edges, flat.size])))
    if flat.size and flat[0]:
        counts.insert(0, 0)
    text = bytearray()
    for at, count in enumerate(counts):
        rest, more = count - counts[at - 2] if at > 2 else count, True
        while more:
            bits, rest = rest & 31, rest >> 5
            more = rest != (-1 if bits & 16 else 0)
            text.append((bits | 32 if more else bits) + 48)
    return text.decode('ascii')


def _mask_of(mask: Mask | None) -> dict[str, Any] | None:
    if mask is None:
        return None
    height, width = mask.pixels.shape
    return {'width': width, 'height': height, **dict(zip('xywh', mask.rect)),
            'rle': rle_of(mask.pixels)}


class Table:
    """The file of an input, which gets its name when it is complete.

    attempt: 1, or more if earlier attempts to write it were killed; None counts what these left in
        the folder.
    """

    def __init__(self, folder: str, key: str, attempt: int | None = None) -> None:
        pa = arrow()
        self._schema, self._key = schema(), key
        self._path = os.path.join(folder, key + SUFFIX)
        self._earlier = [] if attempt else parts_of(folder, key)
        self.attempt = attempt or 1 + len(self._earlier)
        self._part = part_of(folder, key, os.getpid())
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self.boxes = 0
        try:
            self._file = open(self._part, 'wb')
        except OSError as error:
            raise self._failed(error) from error
        self._writer = pa.parquet.ParquetWriter(self._file, self._schema, compression='zstd',
                                                use_dictionary=True)

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(f'{self._part} cannot be written:'
                           f' {error.strerror or error}; the same scan goes on where it ended')

    def add(self, frame: Frame, name: str, picture: str | None, index: int) -> None:
        """Appends the boxes of a frame."""
        boxes, count = frame.boxes, len(frame.boxes)
        if not count:
            return
        ids, points, masks = boxes.ids, boxes.keypoints, boxes.masks
        nothing: list[Any] = [None] * count
        corners = [list(column) for column in boxes.xyxy.T]
        values: dict[str, list[Any]] = {
            'input': [name] * count, 'picture': [picture] * count, 'frame': [index] * count,
            'time': [frame.time if picture is None else None] * count,
            **dict(zip(('x1', 'y1', 'x2', 'y2'), corners)),
            'score': list(boxes.conf), 'class': list(boxes.cls),
            'label': list(boxes.names), 'angle': list(boxes.angles),
            'id': nothing if ids is None else [None if each == UNTRACKED else int(each)
                                               for each in ids],
            'points': nothing if points is None else [list(map(list, each)) for each in points],
            'mask': nothing if masks is None else [_mask_of(mask) for mask in masks]}
        for column, each in values.items():
            self._columns[column] += each
        self.boxes += count
        while len(self._columns['frame']) >= GROUP:
            self._write(GROUP)

    def _write(self, rows: int) -> None:
        pa = arrow()
        group = {name: pa.array(values[:rows], self._schema.field(name).type)
                 for name, values in self._columns.items()}
        for values in self._columns.values():
            del values[:rows]
        try:
            self._writer.write_table(pa.table(group, self._schema), row_group_size=GROUP)
        except OSError as error:
            raise self._failed(error) from error

    def finish(self, about: dict[str, Any]) -> None:
        """Writes the rest and the metadata, and gives the file its name."""
        if self._columns['frame']:
            self._write(len(self._columns['frame']))
        text = json.dumps({'format': FORMAT, **about, 'boxes': self.boxes}, sort_keys=True)
        try:
            self._writer.add_key_value_metadata({METADATA: text.encode()})
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._part, self._path)
            sync_folder(os.path.dirname(self._path))
        except OSError as error:
            raise self._failed(error) from error
        remove(self._earlier)

    def drop(self) -> None:
        """Removes what was written."""
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()
        remove([self._part, *self._earlier])


def sync_folder(folder: str) -> None:
    """Makes the names of files of a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some shared folders cannot
            os.fsync(handle)
    finally:
        os.close(handle)


def parts_of(folder: str, key: str = '*') -> list[str]:
    """Returns the files of attempts that did not end."""
    place = os.path.join(glob.escape(folder), key + SUFFIX)
    return glob.glob(f'{place}.part-*')


def part_of(folder: str, key: str, process: int) -> str:
    """Returns the file of an attempt by a process of this machine."""
    return os.path.join(folder, f'{key}{SUFFIX}.part-{socket.gethostname()}-{process}')


def remove(paths: list[str]) -> None:
    """Removes files that may have gone."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.remove(path)


def about_of(path: str) -> dict[str, Any]:
    """Returns the metadata of a file of results.

    Raises:
        Error: it is none, or it is damaged.
    """
    pa = arrow()
    try:
        found = pa.parquet.read_metadata(path)
        about = json.loads((found.metadata or {})[METADATA])
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise Error(f'{path} is no complete file of keepbox scan: remove it, and scan again'
                    ) from error
    if about['boxes'] != found.num_rows:
        raise Error(f'{path} has {found.num_rows} boxes, and its metadata tells {about["boxes"]}:'
                    ' remove it, and scan again')
    return dict(about)
