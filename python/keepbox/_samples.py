# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is in a sample of GStreamer."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._boxes import Boxes, Layout
from ._counts import Counts, Line, Present, Zone, named
from ._gi import Gst, GstVideo, Keepbox
from ._given import Pixels
from ._render import Renderer


class Content:
    """A sample as what a Frame reads.

    Attributes:
        sample: the Gst.Sample.
        shape: height and width in pixels.
    """

    def __init__(self, sample: Any, renderer: Renderer, layout: Layout | None = None) -> None:
        self.sample, self._renderer, self._layout = sample, renderer, layout
        info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        self.shape: tuple[int, int] = info.height, info.width

    @property
    def stamp(self) -> int:
        """The timestamp of its buffer."""
        return int(self.sample.get_buffer().pts)

    def boxes(self) -> Boxes:
        """Reads its boxes."""
        return boxes_of(self.sample, self.shape, self._layout)

    def skipped(self) -> bool:
        """True if a model did not look at it."""
        return bool(Keepbox.buffer_is_skipped(self.sample.get_buffer()))

    def attributes(self) -> dict[str, tuple[str, float]]:
        """Reads the results about the whole of it."""
        return attributes_of(self.sample)

    def counts(self) -> Counts:
        """Reads the counts of its lines and zones."""
        return counts_of(self.sample.get_buffer())

    def image(self) -> Pixels:
        """Converts its pixels."""
        return self._renderer.image(self.sample)

    def drawn(self, properties: Mapping[str, object]) -> Pixels:
        """Draws its boxes on a copy of its pixels."""
        return self._renderer.drawn(self.sample, properties)


def time_of(sample: Any) -> float | None:
    """Returns the time of a sample in seconds from the start of its stream."""
    pts = sample.get_buffer().pts
    if pts == Gst.CLOCK_TIME_NONE:
        return None
    stream = sample.get_segment().to_stream_time(Gst.Format.TIME, pts)
    return float((pts if stream == Gst.CLOCK_TIME_NONE else stream) / Gst.SECOND)


def attributes_of(sample: Any) -> dict[str, tuple[str, float]]:
    """Reads the results about the whole frame of a sample, by attribute; '' if a classifier names
    none."""
    buffer = sample.get_buffer()
    found = (Keepbox.buffer_get_attribute(buffer, index)
             for index in range(Keepbox.buffer_get_n_attributes(buffer)))
    return {name or '': (text, level) for text, name, level in found}


def _line_of(buffer: Any, index: int) -> tuple[str, Line]:
    """Returns the name of a line, and its counts."""
    name, *numbers = Keepbox.buffer_get_line(buffer, index)
    directions = Keepbox.buffer_get_line_directions(buffer, index)
    return name, Line(dict(zip(directions, numbers[:2])), dict(zip(directions, numbers[2:])))


def _zone_of(buffer: Any, index: int) -> tuple[str, Zone]:
    """Returns the name of a zone, and its counts."""
    name, visits, mean, longest, crowded = Keepbox.buffer_get_zone(buffer, index)
    found = (Keepbox.buffer_get_present(buffer, index, each)
             for each in range(Keepbox.buffer_get_n_present(buffer, index)))
    present = tuple(Present(number, dwell / Gst.SECOND, label or '', model or '')
                    for _, number, dwell, label, model in found)
    return name, Zone(visits, mean / Gst.SECOND, longest / Gst.SECOND, bool(crowded), present)


def counts_of(buffer: Any) -> Counts:
    """Reads what boxcount counted up to a frame."""
    lines = range(Keepbox.buffer_get_n_lines(buffer))
    zones = range(Keepbox.buffer_get_n_zones(buffer))
    return Counts(named(_line_of(buffer, index) for index in lines),
                  named(_zone_of(buffer, index) for index in zones))


def boxes_of(sample: Any, shape: tuple[int, int], layout: Layout | None = None) -> Boxes:
    """Reads the boxes of a sample, from any decoder."""
    return Boxes(Keepbox.buffer_get_boxes(sample.get_buffer()), shape, layout)
