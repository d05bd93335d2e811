# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures: one detector looks at all of them, boxsink writes their boxes."""
from __future__ import annotations

import collections
import os
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _process
from .._detector import Detector
from .._errors import error_of, failed_start
from .._frame import Frame
from .._gi import Gst
from .._given import Pixels
from .._memory import buffer_of
from .._samples import Content
from .lines import Chain, Element, Line
from .options import Settings
from .outputs import PICTURES, STDOUT, Outputs, drawn_name
from .play import found_in
from .sources import Pictures
from .tally import Tally

ENDS = Gst.MessageType.EOS | Gst.MessageType.ERROR


def sample_of(frame: Frame) -> Any:
    """Returns the Gst.Sample of a frame."""
    content = frame._content
    assert isinstance(content, Content)
    return content.sample


class BoxFile:
    """A line that writes the boxes of pictures by boxsink, with the name of each as its source."""

    def __init__(self, outputs: Outputs) -> None:
        values = {'format': outputs.format}
        if outputs.boxes != STDOUT:
            values['location'] = outputs.boxes
        start = Element('appsrc', {'format': 'time'}, name='in')
        self._line = Gst.parse_launch(
            Line([Chain([start, Element('boxsink', values, name='out')])]).text())
        self.stop = _process.owned(self, self._line)
        self._names: collections.deque[str] = collections.deque()
        sink = self._line.get_by_name('out')
        sink.get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, self._name, sink)
        if self._line.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            error = failed_start(self._line)
            self.stop()
            raise error

    def _name(self, pad: Any, info: Any, sink: Any) -> Any:
        """Sets the name of the picture that boxsink is about to write."""
        del pad, info
        sink.set_property('source', self._names.popleft())
        return Gst.PadProbeReturn.OK

    def write(self, sample: Any, name: str) -> None:
        """Writes the boxes of a picture."""
        self._names.append(name)
        if self._line.get_by_name('in').push_sample(sample) != Gst.FlowReturn.OK:
            self.finish()

    def finish(self) -> None:
        """Completes the file. Raises Error if it could not be written."""
        if not self.stop.alive:
            return
        source, bus = self._line.get_by_name('in'), self._line.get_bus()
        source.end_of_stream()
        message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, ENDS)
        self.stop()
        if message.type == Gst.MessageType.ERROR:
            raise error_of(message)


def save(pixels: Pixels, path: str) -> None:
    """Encodes RGB pixels by the suffix of a file's name. Raises Error."""
    height, width, _ = pixels.shape
    encoder = PICTURES[pathlib.PurePath(path).suffix.lower()]
    line = Gst.parse_launch(
        'appsrc name=in format=time caps=video/x-raw,format=RGB,framerate=0/1,'
        f'width={width},height={height} ! videoconvert ! {encoder} ! filesink name=out')
    line.get_by_name('out').set_property('location', path)
    line.set_state(Gst.State.PLAYING)
    buffer = buffer_of(np.ascontiguousarray(pixels))
    buffer.pts = 0
    line.get_by_name('in').push_buffer(buffer)
    line.get_by_name('in').end_of_stream()
    message = line.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, ENDS)
    line.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        raise error_of(message)


class PictureRun:
    """The pictures of a command line.

    said: takes warnings, each a text.
    """

    def __init__(self, pictures: Pictures, settings: Settings, outputs: Outputs,
                 said: Callable[[str], None]) -> None:
        self.name, self.tally, self._pictures = pictures.name, Tally(), pictures
        self._settings, self._outputs, self._said = settings, outputs, said
        self._drawn: set[str] = set()
        self._overlay = {name.replace('-', '_'): value for name, value in settings.overlay.items()}
        self.left_out = 0

    def run(self, shown: Callable[[int], bool]) -> None:
        """Looks at all pictures.

        shown: takes the number of pictures so far, and returns False to end.

        Raises:
            Error, ValueError: the model or a setting is wrong, no picture can be read, or a file
                cannot be written.
        """
        file = BoxFile(self._outputs) if self._outputs.boxes else None
        with warnings.catch_warnings():
            warnings.simplefilter('always')
            warnings.showwarning = self._warn  # type: ignore[assignment]
            try:
                with Detector(**self._settings.for_detector()) as detector:
                    shown(0)
                    for frame in detector(self._pictures.paths):
                        self._take(frame, file)
                        if not shown(self.tally.frames):
                            break
            finally:
                if file:
                    file.finish()

    def _warn(self, message: Warning | str, *rest: object) -> None:
        self.left_out += 'left out' in str(message)
        self._said(f'warning: {message}')

    def _take(self, frame: Frame, file: BoxFile | None) -> None:
        sample, path = sample_of(frame), frame.path or ''
        self.tally.add(found_in(sample.get_buffer()), frame.skipped)
        if file:
            file.write(sample, path)
        if self._outputs.drawn:
            save(frame.draw(**self._overlay), self._place(path))

    def _place(self, path: str) -> str:
        """Returns the file of a drawn picture."""
        if not self._outputs.drawn.endswith('/'):
            return self._outputs.drawn
        stem, suffix = os.path.splitext(drawn_name(path))
        name, number = f'{stem}{suffix}', 2
        while name in self._drawn:
            name, number = f'{stem}-{number}{suffix}', number + 1
        self._drawn.add(name)
        return os.path.join(self._outputs.drawn, name)

