# SPDX-License-Identifier: LGPL-2.1-or-later
"""Elements that run a model, in pipelines of this process."""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping
from typing import Any

from . import _process
from ._detector import ALIASES, meant
from ._errors import Error
from ._gi import Gst
from ._given import Given
from ._labels import label_file_of, names_in
from ._line import Pipeline, is_installed
from ._linestreams import VideoStream
from ._options import as_text, dashed
from ._pictures import ItemsStream, PicturePipeline, PictureStream
from ._properties import names_of, names_of_enum, owner_of, set_all, set_property
from ._render import Renderer
from ._sources import UPRIGHT, Items, Video, open_source
from ._streams import Stream

# Properties of tensorinfer that may change while it plays.
LIVE = ('interval', 'hold', 'qos')


def _check_tracker(tracker: str) -> None:
    """Raises Error if the tracker is a method of boxtrack instead of an element."""
    name, *_ = tracker.split() or ['']
    if not name or is_installed(name) or not is_installed('boxtrack'):
        return
    default, *others = names_of_enum('boxtrack', 'method')
    if name == default:
        raise Error(f'{name} is not an element: did you mean boxtrack? {name} is its default'
                    ' method')
    if name in others:
        raise Error(f"{name} is not an element: did you mean 'boxtrack method={name}'?")


class Engine:
    """Runs a model. Detector explains what its methods do.

    colors: RGB or BGR.
    tracker: elements after the decoder; '' for none.
    """

    def __init__(self, colors: str, tracker: str, properties: Mapping[str, object]) -> None:
        _check_tracker(tracker)
        self._colors, self._tracker = colors, tracker
        self._renderer = Renderer(colors)
        self._lines: weakref.WeakSet[Pipeline] = weakref.WeakSet()
        self._idle: list[PicturePipeline] = []
        self._retired: weakref.WeakSet[Pipeline] = weakref.WeakSet()  # end with their stream
        # Never play; they check values and hold them for streams to come.
        self._pattern = [Gst.ElementFactory.make(name) for name in ('tensorinfer', 'boxdecode')]
        self._set: dict[str, object] = {}
        self._names_in_file: list[str] = []
        self._labels: dict[str, str] = {}  # of all lines
        self.set(properties)
        line = self._picture_pipeline()
        line.await_model()
        self._give_back(line)

    def set(self, properties: Mapping[str, object]) -> None:
        """Sets properties of lines to come, and of running ones those that may change; none if one
        is wrong."""
        named = {}
        for name, value in properties.items():
            name = ALIASES.get(name, dashed(name))
            named[name] = owner_of(name, self._pattern, meant), value
        set_all(named)
        for name, (pattern, value) in named.items():
            self._set[name] = value
            if name in ('detector', 'label-file'):
                self._read_labels()
            for line in list(self._lines):
                set_property(owner_of(name, self._elements(line)), name, value)
            if pattern is self._pattern[0] and name not in LIVE:
                self._retire_lines()

    def names(self) -> list[str]:
        """Returns the names in Python of the properties that may be set."""
        return sorted(names_of(self._pattern))

    def value(self, name: str) -> Any:
        """Returns confidence and iou as numbers, or None if they were not set; classes and names
        as lists of texts."""
        if name == 'classes':
            text = as_text(self._pattern[1].get_property('include-classes') or '')
            return [each.strip() for each in text.split(',') if each.strip()]
        if name == 'names':
            model = self._pattern[0].get_property('model-file')
            found = self._names_in_file or self._labels.get(model, '').split('\n')[:-1]
            return [each or f'class-{number}' for number, each in enumerate(found)]
        name = ALIASES[name]
        # elements keep it as a float32
        return round(self._pattern[1].get_property(name), 6) if name in self._set else None

    def open(self, given: Given, live: bool | None, timeout: float | None) -> Stream:
        """Starts to read a source."""
        opened = open_source(given, self._colors)
        if isinstance(opened, Video):
            opened.endless = opened.live and live is not False
            opened.live = live if live is not None else opened.live
            opened.timeout = timeout if timeout is not None else opened.timeout
            return self._open_video(opened)
        return ItemsStream(opened, self._open_video, self._open_pictures)

    def close(self) -> None:
        """Ends all streams and releases the model."""
        self._idle.clear()
        self._renderer.close()
        for line in list(self._lines):
            line.close()

    @property
    def colors(self) -> str:
        """RGB or BGR."""
        return self._colors

    def _read_labels(self) -> None:
        """Reads the label file. One that cannot be read is an error of the elements, and running
        streams keep the one before."""
        label_file, detector = map(self._pattern[1].get_property, ('label-file', 'detector'))
        label_file = label_file or label_file_of(detector or '')
        with contextlib.suppress(OSError, ValueError):
            self._names_in_file = names_in(label_file) if label_file else []

    def _elements(self, line: Pipeline) -> list[Any]:
        return [line.element('keepbox-infer'), line.element('keepbox-decode')]

    def _detection(self) -> str:
        line = 'video/x-raw ! tensorinfer name=keepbox-infer ! boxdecode name=keepbox-decode'
        return f'{line} ! {self._tracker}' if self._tracker else line

    def _start(self, line: Pipeline) -> None:
        for name, value in self._set.items():
            set_property(owner_of(name, self._elements(line)), name, value)
        line.labels = self._labels
        line.play()
        self._lines.add(line)

    def _picture_pipeline(self) -> PicturePipeline:
        line = PicturePipeline(f'videoconvert ! {self._detection()}')
        self._start(line)
        return line

    def _give_back(self, line: PicturePipeline) -> None:
        if line in self._retired:
            line.close()
        elif line.is_open:
            self._idle.append(line)

    def _retire_lines(self) -> None:
        """Lets later streams have new lines, because a model is loaded once for a line."""
        self._retired.update(self._lines)
        while self._idle:
            self._idle.pop().close()

    def _open_pictures(self, items: Items, first: int) -> PictureStream:
        line = self._idle.pop() if self._idle else self._picture_pipeline()
        return PictureStream(line, self._renderer, self._tracker, items, self._give_back, first)

    def _open_video(self, video: Video) -> VideoStream:
        queue = 'queue name=keepbox-queue max-size-time=0 max-size-bytes=0 max-size-buffers='
        queue += '1 leaky=downstream' if video.live else '2'
        line = Pipeline(f'{video.text} ! {UPRIGHT} ! video/x-raw ! {queue} ! {self._detection()}',
                        'max-buffers=1 drop=true' if video.live else 'max-buffers=4', video.name,
                        video.timeout)
        for name, value in video.properties.items():
            line.element('keepbox-source').set_property(name, value)
        self._start(line)
        return VideoStream(line, self._renderer, self._tracker, video)
