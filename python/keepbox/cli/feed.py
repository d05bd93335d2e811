# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the viewers of a source get: its state, the boxes of each frame, a row for each second, and
the newest picture.

All of it is kept once, however many viewers there are. A viewer that reads slowly misses pictures
and boxes; nothing waits for it.
"""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

KEPT = 64        # events that a viewer may be late by
MINUTES = 2      # of rows
TICK = 1.        # seconds after which a stream without news looks for its viewer
BOUNDARY = b'keepbox'
PARTS = f'multipart/x-mixed-replace; boundary={BOUNDARY.decode()}'
EVENTS = 'text/event-stream'


@dataclasses.dataclass
class Frame:
    """A frame and its boxes.

    number: from 1, in the order of the frames.
    at: milliseconds of `Feed.now()` when it came to the model.
    took: milliseconds from then to its boxes.
    skipped: the model did not look at it.
    size: width and height in pixels.
    boxes: left, top, width, height, angle, score, name, id or None, whether the box is that of an
        earlier frame, held or moved to where it is expected.
    """
    number: int
    at: float
    took: float
    skipped: bool
    size: tuple[int, int]
    boxes: list[tuple[float, float, float, float, float, float, str, str | None, bool]]


def event(name: str, data: object) -> bytes:
    """Returns a server-sent event."""
    text = json.dumps(data, separators=(',', ':'), ensure_ascii=False)
    return f'event: {name}\ndata: {text}\n\n'.encode()


class Feed:
    """What is known of a source. One thread adds frames; any number follows.

    called: is told whether there are viewers of the events, and of the picture, when one comes or
        goes.
    """

    def __init__(self, called: Callable[[bool, bool], None]) -> None:
        self._called, self._began = called, time.monotonic()
        self._news = threading.Condition()
        self._events = collections.deque[bytes](maxlen=KEPT)
        self._count = 0  # of events
        self._rows = collections.deque[dict[str, Any]](maxlen=MINUTES * 60)
        self._state: dict[str, str] = {'state': 'connecting', 'reason': ''}
        self._picture, self._pictures = b'', 0
        self._listeners = self._watchers = 0
        self._calling = threading.Lock()
        self._second, self._frames, self._looked = 0, 0, list[Frame]()
        self._last: Frame | None = None
        self._closed = False

    def now(self) -> float:
        """Returns the milliseconds since the start."""
        return (time.monotonic() - self._began) * 1000

    def viewers(self) -> int:
        """Returns the number of viewers."""
        return max(self._listeners, self._watchers)

    def say(self, state: str, reason: str = '') -> None:
        """Sets the state: connecting, live, ended or failed, and why."""
        with self._news:
            if self._state['state'] != state:
                self._state = {'state': state, 'reason': reason}
                self._add(event('state', self._state))

    def add(self, frame: Frame) -> None:
        """Adds a frame."""
        with self._news:
            self._end_second()
            self._frames, self._last = self._frames + 1, frame
            if not frame.skipped:
                self._looked.append(frame)
            if self._listeners:
                self._add(event('frame', dataclasses.asdict(frame)))

    def _end_second(self) -> None:
        """Adds the rows of the seconds that are over."""
        second = int(self.now() / 1000)
        if second == self._second:
            return
        last = self._looked[-1] if self._looked else None
        times = sorted(frame.took for frame in self._looked)
        length = second - self._second
        row = {'second': second, 'frames': self._frames / length,
               'looked': len(self._looked) / length,
               'took': times[len(times) // 2] if times else None, 'viewers': self.viewers(),
               'boxes': [(box[6], box[5]) for box in last.boxes] if last else None}
        self._second, self._frames, self._looked = second, 0, []
        self._rows.append(row)
        if self._listeners:
            self._add(event('second', row))

    def _add(self, text: bytes) -> None:
        self._events.append(text)
        self._count += 1
        self._news.notify_all()

    def show(self, number: int, jpeg: bytes) -> None:
        """Sets the picture of a frame."""
        head = (f'Content-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\nX-Frame: {number}'
                '\r\n\r\n').encode()
        with self._news:
            self._picture = b'--' + BOUNDARY + b'\r\n' + head + jpeg + b'\r\n'
            self._pictures += 1
            self._news.notify_all()

    def events(self) -> Iterator[bytes]:
        """Yields the events from now on, the first of them with what is known by now."""
        with self._following(events=1):
            text, seen = self._first()
            yield text
            while True:
                with self._news:
                    if seen == self._count and not self._closed:
                        self._news.wait(TICK)
                    late = self._count - seen
                    closed = self._closed
                    if late > len(self._events):
                        texts = [event('state', self._state), *self._events]
                    else:
                        texts = list(self._events)[len(self._events) - late:]
                    seen = self._count
                yield b''.join(texts)
                if closed:
                    return

    def _first(self) -> tuple[bytes, int]:
        with self._news:
            known = {'rows': list(self._rows), **self._state,
                     'frame': self._last and dataclasses.asdict(self._last)}
            return event('known', known), self._count

    def pictures(self) -> Iterator[bytes]:
        """Yields the newest picture, and those that follow; each is a part of type PARTS."""
        with self._following(pictures=1):
            seen = -1
            while True:
                with self._news:
                    if seen == self._pictures and not self._closed:
                        self._news.wait_for(lambda at=seen: self._closed  # type: ignore[misc]
                                            or self._pictures != at, TICK)
                    part = self._picture if seen != self._pictures else b''
                    seen = self._pictures
                    closed = self._closed
                yield part
                if closed:
                    return

    @contextlib.contextmanager
    def _following(self, events: int = 0, pictures: int = 0) -> Iterator[None]:
        self._change(events, pictures)
        try:
            yield
        finally:
            self._change(-events, -pictures)

    def _change(self, events: int, pictures: int) -> None:
        with self._calling:
            with self._news:
                self._listeners += events
                self._watchers += pictures
                if not self._watchers:
                    self._picture = b''  # it would be an old one for the next viewer
            self._called(self._listeners > 0, self._watchers > 0)

    def close(self) -> None:
        """Ends the streams once they have sent what there is."""
        with self._news:
            self._closed = True
            self._news.notify_all()
