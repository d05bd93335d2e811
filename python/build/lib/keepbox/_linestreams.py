# SPDX-License-Identifier: LGPL-2.1-or-later
"""The frames of a line of GStreamer."""
from __future__ import annotations

import time
from typing import Any

from . import _process
from ._boxes import Layout
from ._errors import Error, warn
from ._frame import Frame
from ._gi import Gst
from ._line import Pipeline
from ._properties import kind
from ._render import Renderer
from ._samples import Content, time_of
from ._sources import Video
from ._streams import Stream

# A video that lacks less than that many seconds of what its file declares is complete.
MISSING = .5
# Seconds in which a video tells its duration.
OPENING = 10


class LineStream(Stream):
    """The frames of one line."""

    def __init__(self, line: Pipeline, renderer: Renderer, tracker: str) -> None:
        self._line, self._renderer, self._tracker = line, renderer, tracker
        self._layout: Layout | None = None

    def _frame(self, sample: Any, **about: Any) -> Frame:
        return Frame(Content(sample, self._renderer, self._layout_of_boxes()), self._count, **about)

    def _layout_of_boxes(self) -> Layout:
        if self._layout is not None:
            return self._layout
        decoded = self._line.element('keepbox-decode').get_property('stats')
        layout = Layout(bool(self._tracker), decoded.get_value('keypoints'),
                        decoded.get_value('masks'), decoded.get_value('embedding') or None)
        if decoded.get_value('detector'):  # a frame was decoded
            self._layout = layout
        return layout

    def close(self) -> None:
        """Ends the stream; its frames stay usable."""
        self._line.close()

    def stats(self) -> dict[str, dict[str, Any]]:
        """Returns what tensorinfer and boxdecode count."""
        _process.check()
        found = {}
        for name in ('keepbox-infer', 'keepbox-decode'):
            element = self._line.element(name)
            stats = element.get_property('stats')
            names = [stats.nth_field_name(index) for index in range(stats.n_fields())]
            found[kind(element)] = {each: stats.get_value(each) for each in names}
        return found


class VideoStream(LineStream):
    """The frames of a video, camera or network stream."""

    def __init__(self, line: Pipeline, renderer: Renderer, tracker: str, video: Video) -> None:
        super().__init__(line, renderer, tracker)
        self._video = video
        self._duration: float | None = None
        self._end = 0.

    def _next(self) -> Frame | None:
        sample = self._line.pull()
        if sample is None:
            if self._line.is_open:
                try:
                    self._check_end()
                except Error:
                    self._line.close()  # a camera or connection, for the next stream
                    raise
            return None
        at = time_of(sample)
        if at is not None:
            length = sample.get_buffer().duration
            self._end = at + (0 if length == Gst.CLOCK_TIME_NONE else length / Gst.SECOND)
        return self._frame(sample, time=at, path=self._video.path)

    def _check_end(self) -> None:
        """Raises Error if the end of the source is none; warns if it comes early."""
        video, declared = self._video, self.duration
        if video.endless:
            raise Error('it has ended by itself, as if a camera is lost or its server is silent:'
                        ' call the detector again, or with live=False if it has an end',
                        source=video.name)
        if not self._count and video.name:
            hint = f', or {self._tracker} drops its frames' if self._tracker else ''
            raise Error(f'no frame came of it: it may be incomplete{hint}', source=video.name)
        if video.path and declared is not None and declared - self._end > MISSING:
            warn(f'{video.path} ends after {self._end:.2f} s, although it declares'
                 f' {declared:.2f} s: it may be incomplete, or another of its streams goes on')

    @property
    def duration(self) -> float | None:
        """Length of the video in seconds."""
        end = time.monotonic() + OPENING
        while self._duration is None and self._video.path and self._line.is_open:
            self._duration = self._line.duration()
            self._line.read_bus()
            if (self._duration is not None or self._line.error or self._count
                    or self._line.is_prerolled() or time.monotonic() > end):
                break
            time.sleep(.01)
        return self._duration
