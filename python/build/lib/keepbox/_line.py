# SPDX-License-Identifier: LGPL-2.1-or-later
"""A playing pipeline that ends in an appsink."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _process
from ._errors import DECODER, READERS, Error, error_of, failed_start, warn_of, without_password
from ._gi import GLib, Gst
from ._watch import Watch, is_video

# Time between two reads of the bus, and two checks for Ctrl-C.
BUS_POLL = 50 * Gst.MSECOND
NO_VIDEO = 'it has neither a video nor a picture that can be read'


def is_installed(element: str) -> bool:
    """True if an element is installed."""
    return Gst.ElementFactory.find(element) is not None


def _check_pads(decoder: Any) -> None:
    """Posts an error if none of a decoder's pads is linked once it has all of them, for which
    GStreamer posts one of an element inside of it at most."""
    if not any(pad.is_linked() for pad in decoder.srcpads):
        error = GLib.Error.new_literal(Gst.StreamError.quark(), NO_VIDEO,
                                       Gst.StreamError.WRONG_TYPE)
        decoder.post_message(Gst.Message.new_error(decoder, error, ''))


def is_made_by(factory: str, element: Any) -> bool:
    """True if an element is of that kind."""
    return bool(element.get_factory().get_name() == factory)


class Pipeline:
    """A pipeline that plays until it is closed or collected.

    text: the pipeline, without its appsink, whose properties are `sink`.
    source: what its elements keepbox-source and keepbox-decodebin read, for their errors.
    timeout: seconds that the next frame is waited for; None for no limit.
    Elements are found by name with `element()`; values that may contain any character are set on
    them before `play()`, because they would have to be quoted in the text.
    """

    def __init__(self, text: str, sink: str = 'max-buffers=4', source: str = '',
                 timeout: float | None = None) -> None:
        _process.check()
        try:
            self.pipeline = Gst.parse_launch(f'{text} ! appsink name=keepbox-out sync=false {sink}')
        except GLib.Error as error:
            raise Error(without_password(f'{error.message}: in the pipeline {text}')) from error
        self.source = source
        reader = self.element(READERS[0])
        if reader and is_made_by('uridecodebin', reader):
            reader.connect('no-more-pads', _check_pads)
        self.out = self.element('keepbox-out')
        self.bus = self.pipeline.get_bus()
        self.error: Error | None = None
        self.loaded = self.element('keepbox-infer') is None  # the model, or that failed
        # class names in models' metadata, each with a line feed, by the file of the model
        self.labels: dict[str, str] = {}
        self.stop = _process.owned(self, self.pipeline)
        self._watch = Watch(self, timeout)

    def element(self, name: str) -> Any:
        """Returns the element of that name."""
        return self.pipeline.get_by_name(name)
    def play(self) -> None:
        """Starts; raises Error if an element does not, such as for a model that is missing."""
        if decoder := self.element(DECODER):
            self.element(READERS[0]).link(decoder)
        if self.pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            error = failed_start(self.pipeline, self.source)
            self.close()
            raise error
        self.read_bus()

    def read_bus(self) -> None:
        """Issues warnings, and keeps the first error."""
        while self.bus.have_pending() and (message := self.bus.pop()):
            self._take(message)

    def await_model(self) -> None:
        """Waits until the model is loaded; raises Error if it cannot be."""
        while not self.loaded and self.error is None:
            if message := self.bus.timed_pop(BUS_POLL):
                self._take(message)
        if self.error:
            self.close()
            raise self.error

    def _take(self, message: Any) -> None:
        if message.type == Gst.MessageType.WARNING:
            # Readers warn of pads that are not linked, such as sound, before the error about it.
            if self.error is None and message.src.get_name() not in READERS:
                warn_of(message)
        elif message.type == Gst.MessageType.ERROR and self.error is None:
            self.error = error_of(message, self.source)
        elif message.type == Gst.MessageType.STREAM_COLLECTION:
            streams = message.parse_stream_collection()
            if message.src.get_name() == DECODER and not is_video(streams):
                self.error = Error(NO_VIDEO, DECODER, source=self.source)
        elif message.type == Gst.MessageType.ELEMENT and message.has_name('tensorinfer-model'):
            self.loaded = True
            about = message.get_structure()
            # none of a GPU that failed, if the CPU follows
            if labels := about.get_string('labels'):
                self.labels[about.get_string('file')] = labels
            text = about.get_string('error')
            if text and self.error is None:
                self.error = Error(text, element=message.src.get_name())

    def pull(self, passed: Callable[[], bool] = lambda: False) -> Any:
        """Returns the next sample, or None at the end.

        passed: True when no sample can follow those that have arrived; None is returned then, too.

        Raises:
            Error: an element failed, or the source is silent. Samples before that are returned
                first.
        """
        _process.check()
        self._watch.restart()
        while True:
            ended = self.error is not None or self.out.is_eos()
            done = passed()
            sample = self.out.try_pull_sample(0 if ended or done else BUS_POLL)
            self.read_bus()
            if sample is not None:
                return sample
            if ended or done:
                break
            self.error = self.error or self._watch.error(self.loaded)
        if self.error:
            self.close()
            raise self.error
        return None

    def push(self, sample: Any) -> None:
        """Gives a sample to the appsrc, which is named keepbox-in."""
        _process.check()
        self.element('keepbox-in').push_sample(sample)

    def duration(self) -> float | None:
        """Returns the length of the source in seconds, None if it is unknown."""
        known, length = self.pipeline.query_duration(Gst.Format.TIME)
        return float(length / Gst.SECOND) if known and length >= 0 else None

    def is_prerolled(self) -> bool:
        """True if the first frame has come, or the end."""
        return bool(self.pipeline.get_state(0)[1] >= Gst.State.PAUSED) or self.out.is_eos()

    @property
    def is_open(self) -> bool:
        """True until it is closed, also if its stream has ended."""
        return self.stop.alive

    def close(self) -> None:
        """Stops the pipeline and its threads."""
        self.stop()
