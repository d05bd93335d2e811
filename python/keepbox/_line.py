# SPDX-License-Identifier: LGPL-2.1-or-later
"""A playing pipeline that ends in an appsink."""
from __future__ import annotations

import weakref
from typing import Any

from ._errors import Error, error_of, failed_start, warn_of, without_password
from ._gi import GLib, Gst

# Time between two reads of the bus, and two checks for Ctrl-C.
BUS_POLL = 50 * Gst.MSECOND


def is_installed(element: str) -> bool:
    """True if an element is installed."""
    return Gst.ElementFactory.find(element) is not None


class Pipeline:
    """A pipeline that plays until it is closed or collected.

    text: the pipeline, without its appsink, whose properties are `sink`.
    source: what its elements keepbox-source and keepbox-decodebin read, for their errors.
    Elements are found by name with `element()`; values that may contain any character are set on
    them before `play()`, because they would have to be quoted in the text.
    """

    def __init__(self, text: str, sink: str = 'max-buffers=4', source: str = '') -> None:
        try:
            self.pipeline = Gst.parse_launch(f'{text} ! appsink name=keepbox-out sync=false {sink}')
        except GLib.Error as error:
            raise Error(without_password(f'{error.message}: in the pipeline {text}')) from error
        self.source = source
        self.out = self.element('keepbox-out')
        self.bus = self.pipeline.get_bus()
        self.error: Error | None = None
        self.loaded = False  # the model of its tensorinfer, or that failed
        # class names in models' metadata, each with a line feed, by the file of the model
        self.labels: dict[str, str] = {}
        self.stop = weakref.finalize(self, self.pipeline.set_state, Gst.State.NULL)

    def element(self, name: str) -> Any:
        """Returns the element of that name."""
        return self.pipeline.get_by_name(name)

    def play(self) -> None:
        """Starts; raises Error if an element does not, such as for a model that is missing."""
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
            warn_of(message)
        elif message.type == Gst.MessageType.ERROR and self.error is None:
            self.error = error_of(message, self.source)
        elif message.type == Gst.MessageType.ELEMENT and message.has_name('tensorinfer-model'):
            self.loaded = True
            about = message.get_structure()
            # none of a GPU that failed, if the CPU follows
            if labels := about.get_string('labels'):
                self.labels[about.get_string('file')] = labels
            text = about.get_string('error')
            if text and self.error is None:
                self.error = Error(text, element=message.src.get_name())

    def pull(self) -> Any:
        """Returns the next sample, or None at the end.

        Raises:
            Error: an element failed. Samples before that are returned first.
        """
        while True:
            ended = self.error is not None or self.out.is_eos()
            sample = self.out.try_pull_sample(0 if ended else BUS_POLL)
            self.read_bus()
            if sample is not None:
                return sample
            if ended:
                break
        if self.error:
            self.close()
            raise self.error
        return None

    def push(self, sample: Any) -> None:
        """Gives a sample to the appsrc, which is named keepbox-in."""
        self.element('keepbox-in').push_sample(sample)

    @property
    def is_open(self) -> bool:
        """True until it is closed, also if its stream has ended."""
        return self.stop.alive

    def close(self) -> None:
        """Stops the pipeline and its threads."""
        self.stop()
