# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manifest of a scan: a line of JSON for each input that was looked at. Shards have a file
each, and readers take all of them."""
from __future__ import annotations

import fcntl
import glob
import json
import os
from types import TracebackType
from typing import Any

from .._errors import Error
from .tables import OutputError

OK, PARTIAL, ERROR = 'ok', 'partial', 'error'
BUSY = ('another scan writes to {}: wait for its end, or give each scan a part of the inputs by'
        ' --shard 1/2 and --shard 2/2')

Row = dict[str, Any]


def path_of(folder: str, shard: tuple[int, int] | None) -> str:
    """Returns the manifest that a run writes."""
    name = f'manifest-{shard[0]}-of-{shard[1]}.jsonl' if shard else 'manifest.jsonl'
    return os.path.join(folder, name)


def read(folder: str) -> dict[str, Row]:
    """Returns the newest row of each input by its key. Half a line, of a run that was killed, does
    not count."""
    found: dict[str, Row] = {}
    place = glob.escape(folder)
    for path in [*glob.glob(f'{place}/manifest.jsonl'), *glob.glob(f'{place}/manifest-*.jsonl')]:
        with open(path, encoding='utf-8', errors='surrogateescape') as file:
            for number, line in enumerate(file, 1):
                if not line.endswith('\n'):
                    break
                try:
                    row = json.loads(line)
                    key = row['key']
                except (ValueError, KeyError, TypeError) as error:
                    raise Error(f'{path} has a line {number} that is none of a manifest: remove'
                                ' it') from error
                before = found.get(key)
                if before is None or _counts_more(row, before):
                    found[key] = row
    return found


def _counts_more(row: Row, before: Row) -> bool:
    """True if a row replaces another of the same input: an error never replaces a result."""
    return bool(row['status'] != ERROR or before['status'] == ERROR)


class Manifest:
    """The file that one run appends to; no other run may at the same time."""

    def __init__(self, folder: str, shard: tuple[int, int] | None = None, owner: str = '') -> None:
        """owner: whose own file it is, if no shard's."""
        self.path = os.path.join(folder, f'manifest-{owner}.jsonl') if owner else \
            path_of(folder, shard)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._failed(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise Error(BUSY.format(folder)) from error
        except OSError:  # a folder on another machine that has no locks
            pass
        self._complete()

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(f'{self.path} cannot be written: {error.strerror}; the same scan goes on'
                           ' where it ended')

    def _complete(self) -> None:
        """Removes half a line at the end."""
        size = os.fstat(self._file).st_size
        at = size
        while at and os.pread(self._file, 1, at - 1) != b'\n':
            at -= 1
        if at != size:
            os.ftruncate(self._file, at)

    def add(self, row: Row) -> None:
        """Appends a row by one write."""
        line = (json.dumps(row) + '\n').encode()
        try:
            if not os.path.exists(self.path):
                raise FileNotFoundError(0, 'it has been removed')
            if os.write(self._file, line) != len(line):
                self._complete()
                raise OSError(0, 'the disk is full')
            os.fsync(self._file)
        except OSError as error:
            raise self._failed(error) from error

    def __enter__(self) -> Manifest:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        os.close(self._file)
