# SPDX-License-Identifier: LGPL-2.1-or-later
"""A frame with its boxes."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ._boxes import Boxes, attributes_of, boxes_of
from ._gi import Gst, GstVideo
from ._memory import Pixels
from ._render import Renderer

if TYPE_CHECKING:
    import pandas
    import supervision


class Frame:
    """A frame of a stream, with what was found in it. It may be kept as long as you like, but holds
    its pixels in memory.

    Attributes:
        index: the number of the frame in its stream, from 0.
        time: its position in the stream in seconds; None for pictures and arrays.
        path: the file that it is from; None for cameras, network streams and arrays.
    """

    def __init__(self, sample: Any, index: int, renderer: Renderer, *, time: float | None = None,
                 path: str | None = None, image: Pixels | None = None) -> None:
        self._sample, self._renderer, self._given = sample, renderer, image
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
        return boxes_of(self._sample, self.shape)

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
        return self._given if self._given is not None else self._renderer.image(self._sample)

    def draw(self, **properties: object) -> Pixels:
        """Draws the boxes by boxoverlay, with its properties, such as draw_scores=False.

        Returns:
            a new uint8 array (height, width, 3) in the detector's order of colours.

        Raises:
            Error: boxoverlay is not installed.
            TypeError, ValueError: a property that it does not have, or a wrong value.
        """
        return self._renderer.drawn(self._sample, properties)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a row per box, with the columns that boxsink writes as CSV: frame, timestamp (in
        nanoseconds, None without), label, class_id, score, x1, y1, x2, y2, tracking_id, model,
        angle; and path. Needs pandas."""
        import pandas
        boxes = self.boxes
        ids = boxes.ids
        corners = dict(zip(('x1', 'y1', 'x2', 'y2'), boxes.xyxy.T))
        stamp = None if self.time is None else self._sample.get_buffer().pts
        return pandas.DataFrame({
            'frame': self.index, 'timestamp': stamp, 'label': boxes.names, 'class_id': boxes.cls,
            'score': boxes.conf, **corners, 'tracking_id': None if ids is None else ids,
            'model': boxes.models, 'angle': boxes.angles, 'path': self.path}, range(len(boxes)))

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
            tracker_id=boxes.ids, mask=boxes.masks_in_frame() if boxes.masks else None, data=data)


def time_of(sample: Any) -> float | None:
    """Returns the time of a sample in seconds from the start of its stream."""
    pts = sample.get_buffer().pts
    if pts == Gst.CLOCK_TIME_NONE:
        return None
    stream = sample.get_segment().to_stream_time(Gst.Format.TIME, pts)
    return float((pts if stream == Gst.CLOCK_TIME_NONE else stream) / Gst.SECOND)
