# SPDX-License-Identifier: LGPL-2.1-or-later
"""Iterators over the frames of a source."""
from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from ._errors import Error
from ._frame import Frame, time_of
from ._gi import Gst
from ._line import Pipeline
from ._properties import kind
from ._render import Renderer
from ._sources import Picture, Pictures

# Between frames without a time of their own, for trackers.
FRAME = Gst.SECOND // 30


class Stream(Iterator[Frame]):
    """The frames of a source with their boxes. Its pipeline ends with the stream, with `close()`,
    with a `with` block, or when nothing refers to the stream any more, as after a `break`.

    Raises:
        Error: while iterating, if an element fails. Frames before that are returned first.
    """

    def __init__(self, line: Pipeline, renderer: Renderer) -> None:
        self._line, self._renderer, self._count = line, renderer, 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Frame:
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
        self._line.close()

    def stats(self) -> dict[str, dict[str, Any]]:
        """Returns what tensorinfer and boxdecode count, by element and field, such as
        `stats()['boxdecode']['kept']`. The page Operations explains the fields."""
        found = {}
        for name in ('keepbox-infer', 'keepbox-decode'):
            element = self._line.element(name)
            stats = element.get_property('stats')
            names = [stats.nth_field_name(index) for index in range(stats.n_fields())]
            found[kind(element)] = {each: stats.get_value(each) for each in names}
        return found


class VideoStream(Stream):
    """The frames of a video, camera or network stream."""

    def __init__(self, line: Pipeline, renderer: Renderer, path: str | None) -> None:
        super().__init__(line, renderer)
        self._path = path

    def _next(self) -> Frame | None:
        sample = self._line.pull()
        if sample is None:
            return None
        return Frame(sample, self._count, self._renderer, time=time_of(sample), path=self._path)


class PicturePipeline(Pipeline):
    """A line that takes pictures, one after the other, of any size."""

    def __init__(self, text: str) -> None:
        super().__init__(f'appsrc name=keepbox-in format=time ! {text}')
        self._pushed = 0

    def push_picture(self, picture: Picture) -> int:
        """Pushes a picture, and returns the time that its sample will have."""
        buffer = picture.sample.get_buffer().copy()
        buffer.pts, buffer.duration = self._pushed * FRAME, FRAME
        self.push(Gst.Sample.new(buffer, picture.sample.get_caps(), None, None))
        self._pushed += 1
        return int(buffer.pts)


class PictureStream(Stream):
    """Pictures and arrays, on a line that the detector keeps."""

    def __init__(self, line: PicturePipeline, renderer: Renderer, pictures: Pictures,
                 give_back: Callable[[PicturePipeline], None]) -> None:
        super().__init__(line, renderer)
        self._pictures, self._give_back = pictures, give_back
        self._pushed: collections.deque[tuple[int, Picture]] = collections.deque()
        self._owner = line

    def _push(self) -> None:
        while len(self._pushed) <= self._pictures.ahead and \
                (picture := next(self._pictures.each, None)):
            self._pushed.append((self._owner.push_picture(picture), picture))

    def _next(self) -> Frame | None:
        if not self._line.is_open:
            return None
        self._push()
        if not self._pushed or (sample := self._line.pull()) is None:
            return None
        # An element after the decoder may drop frames.
        time, picture = self._pushed.popleft()
        while time != sample.get_buffer().pts and self._pushed:
            time, picture = self._pushed.popleft()
        return Frame(sample, self._count, self._renderer, path=picture.path, image=picture.image)

    def close(self) -> None:
        """Ends the stream; its frames stay usable. The detector keeps its pipeline, and so the
        model, for the next pictures."""
        give_back, self._give_back = self._give_back, lambda line: None
        with contextlib.suppress(Error):  # it has closed the line
            while self._pushed and self._line.is_open:
                self._pushed.popleft()
                self._line.pull()
        self._pushed.clear()
        give_back(self._owner)
