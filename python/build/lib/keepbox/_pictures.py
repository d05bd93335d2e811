# SPDX-License-Identifier: LGPL-2.1-or-later
"""Iterators over pictures, arrays and files, one after the other."""
from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from . import _process
from ._errors import Error, warn
from ._frame import Frame
from ._gi import Gst
from ._line import Pipeline
from ._render import Renderer
from ._sources import Item, Items, Picture, Video
from ._linestreams import LineStream, VideoStream
from ._streams import Stream

# Between frames without a time of their own, for trackers.
FRAME = Gst.SECOND // 30
# Pictures that elements may hold back until more come; any before them were dropped.
HELD = 8
# Name of the event behind each picture.
MARK = 'keepbox-picture'


class PicturePipeline(Pipeline):
    """A line that takes pictures, one after the other, of any size."""

    def __init__(self, text: str) -> None:
        super().__init__(f'appsrc name=keepbox-in format=time ! {text}')
        self._pushed = 0
        self._passed = passed = [0]  # not self, which the pad would keep for ever

        def count(pad: Any, info: Any) -> Any:
            event = info.get_event()
            passed[0] += event.type == Gst.EventType.CUSTOM_DOWNSTREAM and event.has_name(MARK)
            return Gst.PadProbeReturn.OK
        self.out.get_static_pad('sink').add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, count)

    def push_picture(self, picture: Picture) -> int:
        """Pushes a picture, and returns the time that its sample will have."""
        buffer = picture.sample.get_buffer().copy()
        buffer.pts, buffer.duration = self._pushed * FRAME, FRAME
        self.push(Gst.Sample.new(buffer, picture.sample.get_caps(), None, None))
        mark = Gst.Structure.new_empty(MARK)
        self.element('keepbox-in').send_event(
            Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM, mark))
        self._pushed += 1
        return int(buffer.pts)

    def is_through(self) -> bool:
        """True if the samples of all pictures have come, but those that an element dropped."""
        return self._passed[0] == self._pushed


class PictureStream(LineStream):
    """Pictures and arrays, on a line that the detector keeps."""

    def __init__(self, line: PicturePipeline, renderer: Renderer, tracker: str, items: Items,
                 give_back: Callable[[PicturePipeline], None], first: int = 0) -> None:
        super().__init__(line, renderer, tracker)
        self._items, self._give_back, self._count, self._dropped = items, give_back, first, 0
        self._first = first
        self._waiting: collections.deque[tuple[int, Picture] | Exception] = collections.deque()
        self._owner = line
        self._sample: Any = None

    def _push(self) -> bool:
        """Reads ahead; returns True if a picture was pushed. One that cannot be read waits for its
        turn as an exception."""
        pushed = False
        while (len(self._waiting) <= self._items.ahead
               or not pushed and not isinstance(self._waiting[0], Exception)
               and self._owner.is_through() and len(self._waiting) < HELD):
            item = next(self._items.each, None)
            if item is None:
                break
            if isinstance(item, Picture):
                self._waiting.append((self._owner.push_picture(item), item))
                pushed = True
            elif isinstance(item, Exception):
                self._waiting.append(item)
        return pushed

    def _next(self) -> Frame | None:
        while self._line.is_open:
            self._push()
            if not self._waiting:
                self._tell_dropped()
                return None
            head = self._waiting[0]
            if isinstance(head, Exception):
                self._waiting.popleft()
                raise head
            self._sample = self._sample or self._line.pull(self._owner.is_through)
            if self._sample is None and self._line.out.is_eos():
                self._line.close()
            elif frame := self._match(*head):
                return frame
        return None

    def _match(self, time: int, picture: Picture) -> Frame | None:
        """Returns the frame of the picture whose turn it is, None if it has not come. An element
        after the decoder may drop frames, or hold some back until others follow."""
        if self._sample is None and self._push():
            return None
        found = self._sample.get_buffer().pts if self._sample else None
        if found is None or found > time:
            self._waiting.popleft()
            self._dropped += 1
            return None
        sample, self._sample = self._sample, None
        if found < time:  # it was given up
            return None
        self._waiting.popleft()
        return self._frame(sample, path=picture.path, image=picture.image)

    def _tell_dropped(self) -> None:
        """Warns if pictures were dropped, once; raises Error if all were."""
        dropped, self._dropped = self._dropped, 0
        if not dropped:
            return
        came, out = self._count - self._first, f'came out of {self._tracker or "the decoder"}'
        if not came:
            raise Error(f'no picture {out}, which drops frames')
        warn(f'only {came} of {came + dropped} pictures {out}, which drops frames')

    def close(self) -> None:
        """Ends the stream; its frames stay usable. The detector keeps its pipeline, and so the
        model, for the next pictures."""
        if not _process.is_usable():
            return
        give_back, self._give_back = self._give_back, lambda line: None
        with contextlib.suppress(Error):  # it has closed the line
            while (self._waiting and self._line.is_open
                   and self._line.pull(self._owner.is_through) is not None):
                self._waiting.popleft()
        self._waiting.clear()
        give_back(self._owner)


class ItemsStream(Stream):
    """Pictures, arrays and videos, one after the other. Files that cannot be read are left out with
    a warning; if none can, the error of the last is raised."""

    def __init__(self, items: Items, open_video: Callable[[Video], VideoStream],
                 open_pictures: Callable[[Items, int], PictureStream]) -> None:
        self._ahead, self._open_video, self._open_pictures = items.ahead, open_video, open_pictures
        self._runs = itertools.groupby(items.each, lambda item: isinstance(item, Video))
        self._videos: Iterator[Item] = iter(())
        self._current: LineStream | None = None
        self._last: LineStream | None = None
        self._pictures = 0
        self._failure: Exception | None = None

    def _open_next(self) -> bool:
        """Opens the next video or run of pictures; returns False if there is none."""
        video = next(self._videos, None)
        if video is None:
            is_video, run = next(self._runs, (None, iter(())))
            if is_video is None:
                return False
            if not is_video:
                self._current = self._open_pictures(Items(run, self._ahead), self._pictures)
                return True
            self._videos, video = run, next(run)
        assert isinstance(video, Video)
        self._current = self._open_video(video)
        return True

    def _next(self) -> Frame | None:
        while True:
            try:
                if self._current is None and not self._open_next():
                    break
                assert self._current is not None
                self._last = self._current
                if frame := next(self._current, None):
                    self._pictures += isinstance(self._current, PictureStream)
                    return frame
                self._current = None
            except (Error, FileNotFoundError) as error:
                self._leave_out(error)
        failure, self._failure = self._failure, None
        if failure and not self._count:
            raise failure
        return None

    def _leave_out(self, error: Error | FileNotFoundError) -> None:
        """Warns of a file that cannot be read; raises any other error."""
        if isinstance(self._current, VideoStream):
            self._current = None
        if isinstance(error, Error):
            if not error.source:
                raise error
            warn(f'{error.source} cannot be read and is left out: {error.message}')
        else:
            warn(f'{error}: it is left out')
        self._failure = error

    def close(self) -> None:
        """Ends the stream; its frames stay usable."""
        self._runs, self._videos = itertools.groupby(()), iter(())
        if self._current is not None:
            self._current.close()

    @property
    def duration(self) -> float | None:
        """Length in seconds of the video that is being read."""
        return self._last.duration if self._last else None

    def stats(self) -> dict[str, dict[str, Any]]:
        """Returns what tensorinfer and boxdecode count for the pictures or the video being read."""
        if self._last is None and not self._open_next():
            raise Error('there is no frame')
        self._last = self._current or self._last
        assert self._last is not None
        return self._last.stats()
