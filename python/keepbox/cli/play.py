# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays lines to their end: counts what they find, watches over their sources, and tells what is
wrong."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import _process
from .._errors import DECODER, READERS, Error, error_of, failed_start, without_password
from .._gi import GLib, Gst, Keepbox
from .._line import NO_VIDEO
from .._watch import Watch, is_video
from . import Failure
from .lines import Line
from .options import DECODE, ROLE, TRACK
from .sources import Moving
from .tally import Found, Tally

# A video that lacks less than that many seconds of what its file declares is complete.
MISSING = .5
TIMEOUT = 30.  # seconds without a frame, after which a URI is silent
ENDING = 30.   # seconds without a frame in which a line ends after a signal


def found_in(buffer: Any) -> list[Found]:
    """Returns the boxes of a frame."""
    boxes = []
    for box in Keepbox.buffer_get_boxes(buffer):
        tracked, number = box.get_tracking_id()
        boxes.append(Found(box.get_label(), box.get_score(), number if tracked else None))
    return boxes


class Player:
    """A line that plays from `start()` to `close()`.

    said: takes warnings, each a text.
    """

    def __init__(self, line: Line, source: Moving, said: Callable[[str], None]) -> None:
        _process.check()
        self.name, self.source, self.tally = source.name, source.name, Tally()
        self._said, self._moving = said, source
        self.failure, self.ended, self.loaded = '', False, False
        self.is_about_source = False  # the failure
        self.began = self.finished = time.monotonic()
        self.first = 0.       # when the first frame came
        self._position = 0.   # end of the last frame in seconds
        self._declared: float | None = None
        self._stopped = 0.
        self._endless = source.live
        try:
            self.pipeline = Gst.parse_launch(line.text())
        except GLib.Error as error:
            raise Failure(f'{self.name}: {without_password(error.message)}') from error
        self.bus = self.pipeline.get_bus()
        self.stop = _process.owned(self, self.pipeline)
        last = self.element(f'{ROLE}{TRACK}') or self.element(f'{ROLE}{DECODE}')
        last.get_static_pad('src').add_probe(Gst.PadProbeType.BUFFER, self._count)
        self._watch = Watch(self, TIMEOUT if source.kind == 'uri' else None)
        self._watched = 0

    def element(self, name: str) -> Any:
        """Returns the element of that name."""
        return self.pipeline.get_by_name(name)

    def _count(self, pad: Any, info: Any) -> Any:
        buffer = info.get_buffer()
        self.first = self.first or time.monotonic()
        self.tally.add(found_in(buffer), bool(Keepbox.buffer_is_skipped(buffer)))
        if buffer.pts != Gst.CLOCK_TIME_NONE:
            length = 0 if buffer.duration == Gst.CLOCK_TIME_NONE else buffer.duration
            event = pad.get_sticky_event(Gst.EventType.SEGMENT, 0)
            at = event.parse_segment().to_stream_time(Gst.Format.TIME, buffer.pts)
            if at != Gst.CLOCK_TIME_NONE:
                self._position = max(self._position, (at + length) / Gst.SECOND)
        return Gst.PadProbeReturn.OK

    def start(self) -> None:
        """Starts to play."""
        changed = self.pipeline.set_state(Gst.State.PAUSED)
        # of sources that are live
        if changed == Gst.StateChangeReturn.NO_PREROLL and 'num-buffers=' not in self._moving.text:
            self._endless = True
        if changed != Gst.StateChangeReturn.FAILURE:
            changed = self.pipeline.set_state(Gst.State.PLAYING)
        if changed == Gst.StateChangeReturn.FAILURE:
            self._fail(failed_start(self.pipeline, self.source))

    def _fail(self, error: Error) -> None:
        text = str(error).removeprefix(ROLE)
        self.failure, self.ended, self.loaded = self.failure or text, True, True
        self.is_about_source = bool(error.source)
        self.finished = time.monotonic()

    def step(self, milliseconds: float) -> None:
        """Reads what its elements tell; waits for it that long."""
        wait = int(milliseconds * Gst.MSECOND)
        while not self.ended and (message := self.bus.timed_pop(wait)):
            self._take(message)
            wait = 0
        if self.ended:
            return
        if self._watched != self.tally.frames:
            self._watched = self.tally.frames
            self._watch.restart()
            self._stopped = self._stopped and time.monotonic()
        if self._stopped:
            if time.monotonic() - self._stopped > ENDING:
                self._fail(Error('it does not end: its files may be incomplete', source=self.name))
        elif error := self._watch.error(self.loaded):
            self._fail(Error(error.message.replace(', or set timeout=', ''), source=self.name))

    def _take(self, message: Any) -> None:
        if message.type == Gst.MessageType.ERROR:
            self._fail(error_of(message, self.source))
        elif message.type == Gst.MessageType.WARNING:
            error, _ = message.parse_warning()
            # Readers warn of pads that are not linked, such as sound, before the error about it.
            if message.src.get_name() not in READERS:
                self._said(f'{self.name}: warning: {without_password(error.message)}')
        elif message.type == Gst.MessageType.STREAM_COLLECTION:
            if message.src.get_name() == DECODER and \
                    not is_video(message.parse_stream_collection()):
                self._fail(Error(NO_VIDEO, source=self.name))
        elif message.type == Gst.MessageType.ELEMENT and message.has_name('tensorinfer-model'):
            self.loaded = True
        elif message.type == Gst.MessageType.EOS:
            self._end()

    def _end(self) -> None:
        """Checks what came before the end."""
        self.finished, self.ended, self.loaded = time.monotonic(), True, True
        declared = self.duration()
        if self._stopped:
            return
        if self._endless:
            self._fail(Error('it has ended by itself: check the camera, or its server, then start'
                             ' again', source=self.name))
        elif not self.tally.frames:
            self._fail(Error('no frame came of it: it may be incomplete', source=self.name))
        elif self._moving.kind == 'file' and declared is not None \
                and declared - self._position > MISSING:
            self._said(f'{self.name}: it ends after {self._position:.2f} s, although it declares'
                       f' {declared:.2f} s: it may be incomplete, or another of its streams goes'
                       ' on')

    def duration(self) -> float | None:
        """Returns the length of the source in seconds, None if it is unknown."""
        known, length = self.pipeline.query_duration(Gst.Format.TIME)
        if known and length >= 0 and not self._endless:
            self._declared = length / Gst.SECOND
        return self._declared

    def left(self) -> float | None:
        """Returns the seconds until its end at the speed so far, None if that is unknown."""
        declared, took = self.duration(), time.monotonic() - self.first
        if not declared or not self._position or not self.first:
            return None
        return max(declared - self._position, 0) * took / self._position

    def end(self) -> None:
        """Lets it end as if its source had, so that files are completed; at once if there is
        nothing in them."""
        if self._stopped or self.ended:
            return
        self._stopped = time.monotonic()
        if self.tally.frames:
            self.pipeline.send_event(Gst.Event.new_eos())
        else:
            self.ended = self.loaded = True

    def close(self) -> None:
        """Stops its threads."""
        self.stop()

