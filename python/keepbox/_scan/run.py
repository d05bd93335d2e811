# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scan: which inputs are missing, the workers that look at them, and the manifest."""
from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from .._errors import Error
from . import looking, settings, tables
from .inputs import Input, is_of_shard
from .manifest import ERROR, PARTIAL, Manifest, Row, read
from .pool import Pool

WAIT = .2  # seconds between two looks at the progress


@dataclasses.dataclass
class Options:
    """How a scan works.

    Attributes:
        workers: processes.
        streams: inputs that each looks at at a time.
        shard: number and count of the part of the inputs that is looked at.
        max_errors: inputs that may fail before the scan ends; None for any number.
        retry: look again at inputs that failed in earlier scans.
    """
    workers: int
    streams: int = 1
    shard: tuple[int, int] | None = None
    max_errors: int | None = None
    retry: bool = False


@dataclasses.dataclass
class State:
    """How far a scan is.

    Attributes:
        files: inputs in all; earlier: those of them that were done before.
        done: those that this run has done; errors: those of them that failed.
        size, left: bytes of what is missing at the start and now.
        frames, seconds: what was looked at, with the inputs in work.
    """
    files: int = 0
    earlier: int = 0
    done: int = 0
    errors: int = 0
    partial: int = 0
    size: int = 0
    left: int = 0
    frames: int = 0
    seconds: float = 0.
    began: float = dataclasses.field(default_factory=time.monotonic)


class Scan:
    """A scan.

    detector: arguments of keepbox.Detector.
    said: takes texts for the user.
    """

    def __init__(self, sources: Iterable[Input], detector: dict[str, Any], out: str,
                 options: Options, said: Callable[[str], None]) -> None:
        tables.arrow()
        self._sources = [each for each in sources if is_of_shard(each.key, options.shard)]
        self._detector, self._out, self._options, self._said = detector, out, options, said
        self.state = State(files=len(self._sources))
        self.folder = ''
        self.rows: dict[str, Row] = {}
        self._frames, self._seconds = 0, 0.  # of inputs that are done

    def run(self, shown: Callable[[State], bool]) -> None:
        """Looks at all inputs that are missing.

        shown: takes how far it is, a few times per second; returns False to end.

        Raises:
            Error: the model or the folder is wrong, or more inputs failed than may.
        """
        pool = Pool(self._detectors(), self._options.streams, self._said)
        try:
            about = settings.settings_of(self._detector, **pool.await_model())
            self.folder = settings.make_folder(self._out, about)
            with Manifest(self.folder, self._options.shard) as manifest:
                self._look(pool, manifest, os.path.basename(self.folder), shown)
        finally:
            pool.close()

    def _detectors(self) -> list[dict[str, Any]]:
        return [self._detector] * max(self._options.workers, 1)

    def _missing(self, manifest: Manifest, name: str) -> list[Input]:
        """Returns what is to be looked at. What is there, but is not in the manifest because the
        scan was killed, is added to it."""
        self.rows = read(self.folder)
        mine = {each.key for each in self._sources}
        tables.remove([path for path in tables.parts_of(self.folder)
                       if os.path.basename(path).split('.')[0] in mine])
        found = []
        for source in self._sources:
            row = self.rows.get(source.key)
            path = os.path.join(self.folder, source.key + tables.SUFFIX)
            if os.path.exists(path):
                if row is None or row['status'] == ERROR:
                    about = tables.about_of(path)
                    row = looking.row_of(source, about, about['boxes'], name, None, None)
                    manifest.add(row)
                    self.rows[source.key] = row
            elif row is None or row['status'] != ERROR or self._options.retry:
                found.append(source)
        return found

    def _look(self, pool: Pool, manifest: Manifest, name: str,
              shown: Callable[[State], bool]) -> None:
        sources, state = self._missing(manifest, name), self.state
        state.earlier = state.files - len(sources)
        state.size = state.left = sum(each.size for each in sources)
        state.began = time.monotonic()
        if not sources:
            return
        # The largest first, so that no worker has a long one when the others have ended.
        sources.sort(key=lambda each: -each.size)
        pool.begin(sources, self.folder, name)
        while not pool.is_done:
            for row in pool.step(WAIT):
                self._done(row, manifest)
            state.frames = self._frames + sum(frames for frames, _ in pool.at.values())
            state.seconds = self._seconds + sum(seconds for _, seconds in pool.at.values())
            if not shown(state):
                return

    def _done(self, row: Row, manifest: Manifest) -> None:
        manifest.add(row)
        self.rows[row['key']] = row
        state = self.state
        state.done += 1
        state.left -= row['bytes']
        state.partial += row['status'] == PARTIAL
        self._frames += row['frames']
        self._seconds += row['video_seconds'] or 0.
        if row['status'] == ERROR:
            state.errors += 1
            self._said(f'{row["input"]}: {row["error"]}')
            limit = self._options.max_errors
            if limit is not None and state.errors > limit:
                raise Error(f'{state.errors} inputs failed, and --max-errors allows {limit}: see'
                            f' {manifest.path}')
        elif row['status'] == PARTIAL:
            self._said(f'{row["input"]}: {row["error"]}: what was read is kept')

    def found(self) -> list[Row]:
        """Returns the rows of its inputs, in their order; of those only that have one."""
        return [self.rows[each.key] for each in self._sources if each.key in self.rows]
