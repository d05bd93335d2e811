# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds sources from which no frame can come, for which GStreamer posts neither an error nor an
end: decodebins lose an error that comes while they connect a demuxer, and servers fall silent."""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ._errors import DECODER, READERS, Error
from ._gi import Gst

# A decoder without a working thread for that long has nothing to do any more.
IDLE_SECONDS = 1


def _each(iterator: Any) -> Iterator[Any]:
    """Yields what an iterator of GStreamer has; some of it again if it changes meanwhile."""
    while True:
        result, value = iterator.next()
        if result == Gst.IteratorResult.OK:
            yield value
        elif result == Gst.IteratorResult.RESYNC:
            iterator.resync()
        else:
            return


def _works(element: Any) -> bool:
    """True if a thread of an element's pads runs."""
    return any(pad.get_task_state() == Gst.TaskState.STARTED
               for pad in _each(element.iterate_pads()))


def is_video(collection: Any) -> bool:
    """True if a Gst.StreamCollection has a video or a picture."""
    streams = (collection.get_stream(index) for index in range(collection.get_size()))
    return any(each.get_stream_type() & Gst.StreamType.VIDEO for each in streams)


def _count(_pad: Any, _info: Any, came: list[int]) -> Any:
    """Counts a buffer."""
    came[0] += 1
    return Gst.PadProbeReturn.OK


class Watch:
    """Watches a line while its next frame is waited for.

    timeout: seconds without a frame from the source after which it counts as silent; None for no
    limit.
    """

    def __init__(self, line: Any, timeout: float | None) -> None:
        self._source, self._timeout = line.source, timeout
        self._reader, self._decoder = line.element(READERS[0]), line.element(DECODER)
        self._queue = line.element('keepbox-queue')
        self._came, self._counted = [0], 0  # frames of the source
        if self._queue and timeout is not None:
            self._queue.get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, _count,
                                                         self._came)
        self._seen = self._worked = time.monotonic()

    def restart(self) -> None:
        """Begins to wait for the next frame."""
        self._seen = self._worked = time.monotonic()

    def error(self, loaded: bool) -> Error | None:
        """Returns why no frame will come, None as long as one may.

        loaded: False while the model is loaded, for which frames wait.
        """
        now = time.monotonic()
        if self._decoder and (not loaded or self._is_at_work()):
            self._worked = now
        if self._decoder and now - self._worked > IDLE_SECONDS:
            return Error('no video can be read from it: the file may be incomplete',
                         source=self._source)
        if not loaded or self._counted != self._came[0] or self._queue and self._is_queued():
            self._counted = self._came[0]
            self._seen = now
        if self._timeout is not None and now - self._seen > self._timeout:
            return Error(f'no frame has come for {self._timeout:g} s: check the source, or set'
                         ' timeout=', source=self._source)
        return None

    def _is_queued(self) -> bool:
        """True if the source has brought frames that the model has not seen, or its end."""
        ended = self._queue.get_static_pad('sink').get_sticky_event(Gst.EventType.EOS, 0)
        return bool(ended or self._queue.get_property('current-level-buffers'))

    def _is_at_work(self) -> bool:
        """True while the file is opened, and once its video is decoded: that has an end."""
        return (any(pad.is_linked() for pad in _each(self._decoder.iterate_src_pads()))
                or any(map(_works, [self._reader, *_each(self._decoder.iterate_recurse())])))
