# SPDX-License-Identifier: LGPL-2.1-or-later
"""A frame with its boxes."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ._boxes import UNTRACKED, Boxes, Layout
from ._errors import Error
from ._gi import Gst, GstVideo, Keepbox
from ._memory import Pixels
from ._render import Renderer

if TYPE_CHECKING:
    import pandas
    import supervision


class Frame:
    """A frame of a stream, with what was found in it. It may be kept as long as you like, but holds
    its pixels in memory. Pickled, as for a result of a worker process, it has its boxes, and its
    pixels only if `image` was read before.

    Attributes:
        index: the number of the frame in its video or stream, from 0; of a picture among those of
            its source.
        time: its position in the stream in seconds; None for pictures and arrays.
        path: the file that it is from; None for cameras, network streams and arrays.
    """

    def __init__(self, sample: Any, index: int, renderer: Renderer, *, time: float | None = None,
                 path: str | None = None, image: Pixels | None = None,
                 layout: Layout | None = None) -> None:
        self._sample, self._renderer, self._given, self._layout = sample, renderer, image, layout
        self._stamp = None if time is None else sample.get_buffer().pts
        self.index, self.time, self.path = index, time, path
        info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        self.shape: tuple[int, int] = info.height, info.width
        """Height and width in pixels."""

    def __repr__(self) -> str:
        height, width = self.shape
        return f'<Frame {self.index}: {width}x{height}, {self.boxes}>'

    @functools.cached_property
    def boxes(self) -> Boxes:
        """The boxes of the frame."""
        return boxes_of(self._sample, self.shape, self._layout)

    @functools.cached_property
    def skipped(self) -> bool:
        """True if a model did not look at the frame (interval=3, or a frame that would be late), so
        that it may have objects without boxes."""
        return bool(Keepbox.buffer_is_skipped(self._sample.get_buffer()))

    @functools.cached_property
    def attributes(self) -> dict[str, tuple[str, float]]:
        """Results of classifiers and text recognisers (classdecode) about the whole frame, by
        attribute: the class or the text, and its confidence."""
        return attributes_of(self._sample)

    @functools.cached_property
    def image(self) -> Pixels:
        """The pixels, uint8 (height, width, 3) in the detector's order of colours, without boxes.
        An array that you gave is returned itself; otherwise it is made once, when first asked for,
        and is yours."""
        self._check_pixels()
        return self._given if self._given is not None else self._renderer.image(self._sample)

    def draw(self, **properties: object) -> Pixels:
        """Draws the boxes by boxoverlay, with its properties, such as draw_scores=False.

        Returns:
            a new uint8 array (height, width, 3) in the detector's order of colours.

        Raises:
            Error: boxoverlay is not installed.
            TypeError, ValueError: a property that it does not have, or a wrong value.
        """
        self._check_pixels()
        return self._renderer.drawn(self._sample, properties)

    def _check_pixels(self) -> None:
        if self._sample is None:
            raise Error('the frame was pickled without its pixels: read or draw it before it is'
                        ' sent to another process')

    def __getstate__(self) -> dict[str, Any]:
        """Returns what does not need GStreamer."""
        kept = {name: getattr(self, name) for name in ('boxes', 'attributes', 'skipped')}
        return {**self.__dict__, **kept, '_sample': None, '_renderer': None, '_given': None}

    def to_pandas(self, empty: bool = False) -> pandas.DataFrame:
        """Returns a row per box, with the columns that boxsink writes as CSV: frame, timestamp (in
        nanoseconds), label, class_id, score, x1, y1, x2, y2, tracking_id, model, angle; and held,
        predicted, skipped and path. A timestamp, an id and a path that there are not are NA, as
        they are empty in CSV. Needs pandas.

        Args:
            empty: True gives a frame without boxes one row, in which all that belongs to a box is
                NA, so that frames can be counted.
        """
        import pandas
        boxes = self.boxes
        rows = range(max(len(boxes), int(empty)))
        number, truth = ('Int32', 'boolean') if empty else ('int32', 'bool')
        ids = np.full(len(boxes), UNTRACKED) if boxes.ids is None else boxes.ids
        tracked = pandas.Series(ids, dtype='Int64').mask(ids == UNTRACKED)
        corners = dict(zip(('x1', 'y1', 'x2', 'y2'), boxes.xyxy.T))
        found = {'label': pandas.Series(boxes.names, dtype=object),
                 'class_id': pandas.Series(boxes.cls, dtype=number), 'score': boxes.conf, **corners,
                 'tracking_id': tracked, 'model': pandas.Series(boxes.models, dtype=object),
                 'angle': boxes.angles, 'held': pandas.Series(boxes.held, dtype=truth),
                 'predicted': pandas.Series(boxes.predicted, dtype=truth)}
        table = pandas.DataFrame(found).reindex(rows)
        table.insert(0, 'frame', self.index)
        table.insert(1, 'timestamp', pandas.Series([self._stamp] * len(rows), rows, dtype='Int64'))
        return table.assign(skipped=self.skipped, path=self.path)

    def to_supervision(self) -> supervision.Detections:
        """Returns the boxes for supervision, which has to be installed: xyxy, confidence, class_id,
        tracker_id and masks of the frame's size; data has class_name, and the corners of oriented
        boxes as xyxyxyxy. Keypoints are not part of its Detections."""
        import supervision
        boxes = self.boxes
        data: dict[str, Any] = {'class_name': boxes.names}
        if boxes.angles.any():
            data['xyxyxyxy'] = boxes.corners
        return supervision.Detections(
            xyxy=boxes.xyxy, confidence=boxes.conf, class_id=boxes.cls.astype(int),
            tracker_id=boxes.ids, data=data,
            mask=None if boxes.masks is None else boxes.masks_in_frame())


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


def boxes_of(sample: Any, shape: tuple[int, int], layout: Layout | None = None) -> Boxes:
    """Reads the boxes of a sample, from any decoder."""
    return Boxes(Keepbox.buffer_get_boxes(sample.get_buffer()), shape, layout)
