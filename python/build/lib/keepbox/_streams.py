# SPDX-License-Identifier: LGPL-2.1-or-later
"""Iterators over the frames of a source."""
from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from . import _process
from ._frame import Frame


class Stream(Iterator[Frame]):
    """The frames of a source with their boxes. Its pipeline ends with the stream, with `close()`,
    with a `with` block, or when nothing refers to the stream any more, as after a `break`.

    Raises:
        Error: while iterating, if an element fails, no frame comes in time, or a live source ends.
            Frames before that are returned first.
    """

    _count = 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Frame:
        _process.check()
        frame = self._next()
        if frame is None:
            self.close()
            raise StopIteration
        self._count += 1
        return frame

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _next(self) -> Frame | None:
        raise NotImplementedError

    def close(self) -> None:
        """Ends the stream; its frames stay usable."""
        raise NotImplementedError

    @property
    def duration(self) -> float | None:
        """Length of the video in seconds, as its file declares it; of several videos that of the
        one being read. None for pictures, arrays, cameras and streams, and if it is unknown."""
        return None

    def stats(self) -> dict[str, dict[str, Any]]:
        """Returns what tensorinfer and boxdecode count, by element and field, such as
        `stats()['boxdecode']['kept']`. The page Operations explains the fields."""
        raise NotImplementedError
