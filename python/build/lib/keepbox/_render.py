# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames as pictures, by GStreamer's converter and boxoverlay."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import _process
from ._errors import Error
from ._given import Pixels
from ._line import Pipeline, is_installed
from ._memory import pixels_of
from ._properties import owner_of, set_property

# Lines that stay open: the converter, and boxoverlay with a few sets of properties.
KEPT = 4
IN = 'appsrc name=keepbox-in format=time ! videoconvert'


class Renderer:
    """Converts frames of any format to arrays and draws on them; used by all frames of a detector.

    colors: RGB or BGR.
    """

    def __init__(self, colors: str) -> None:
        self._colors = colors
        self._lines: dict[str, Pipeline] = {}
        self._lock = threading.Lock()

    def image(self, sample: Any) -> Pixels:
        """Returns the pixels of a sample."""
        return self._render('', self._plain, sample)

    def drawn(self, sample: Any, properties: Mapping[str, object]) -> Pixels:
        """Returns the pixels of a sample with its boxes."""
        key = repr(sorted(properties.items()))
        return self._render(key, lambda: self._overlay(properties), sample)

    def close(self) -> None:
        """Stops the pipelines; they start again when they are needed."""
        with self._lock:
            while self._lines:
                self._lines.popitem()[1].close()

    def _plain(self) -> Pipeline:
        return Pipeline(f'{IN} ! video/x-raw,format={self._colors}')

    def _overlay(self, properties: Mapping[str, object]) -> Pipeline:
        if not is_installed('boxoverlay'):
            raise Error('the element boxoverlay is missing: install gstreamer1.0-keepbox-overlay')
        line = Pipeline(f'{IN} ! video/x-raw,format={self._colors} '
                        '! boxoverlay name=keepbox-overlay')
        overlay = line.element('keepbox-overlay')
        for name, value in properties.items():
            set_property(owner_of(name, [overlay]), name, value)
        return line

    def _render(self, key: str, make: Callable[[], Pipeline], sample: Any) -> Pixels:
        _process.check()
        with self._lock:
            line = self._lines.pop(key, None)
            if line is None:
                line = make()
                line.play()
            line.push(sample)
            out = line.pull()
            if out is None:
                raise Error('the converter ended without a frame')
            self._lines[key] = line  # the newest is last
            if len(self._lines) > KEPT:
                self._lines.pop(next(iter(self._lines))).close()
        # A frame that needs no conversion passes as it is, and others may use its memory.
        same = out.get_buffer().peek_memory(0) == sample.get_buffer().peek_memory(0)
        pixels = pixels_of(out)
        return pixels.copy() if same else pixels
