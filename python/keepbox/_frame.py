# SPDX-License-Identifier: LGPL-2.1-or-later
"""A frame with its boxes."""
from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ._boxes import UNTRACKED, Boxes
from ._counts import Counts
from ._errors import Error
from ._given import Pixels

if TYPE_CHECKING:
    import pandas
    import supervision


class Content(Protocol):
    """What a Frame reads: a sample of this process or of another one.

    Attributes:
        shape: height and width in pixels.
    """
    shape: tuple[int, int]

    @property
    def stamp(self) -> int:
        """The timestamp of its buffer, in nanoseconds."""

    def boxes(self) -> Boxes:
        """Reads its boxes."""

    def skipped(self) -> bool:
        """True if a model did not look at it."""

    def attributes(self) -> dict[str, tuple[str, float]]:
        """Reads the results about the whole of it."""

    def counts(self) -> Counts:
        """Reads the counts of its lines and zones."""

    def image(self) -> Pixels:
        """Converts its pixels to an array that the caller owns."""

    def drawn(self, properties: Mapping[str, object]) -> Pixels:
        """Draws its boxes on a copy of its pixels."""


class Frame:
    """A frame of a stream, with what was found in it. It may be kept as long as you like, but holds
    its pixels in memory. Pickled, as for a result of a worker process, it has its boxes and counts,
    and its pixels only if `image` was read before.

    Attributes:
        index: the number of the frame in its video or stream, from 0; of a picture among those of
            its source.
        time: its position in the stream in seconds; None for pictures and arrays.
        path: the file that it is from; None for cameras, network streams and arrays.
    """

    def __init__(self, content: Content, index: int, *, time: float | None = None,
                 path: str | None = None, image: Pixels | None = None) -> None:
        self._content: Content | None = content
        self._given = image
        self._stamp = None if time is None else content.stamp
        self.index, self.time, self.path = index, time, path
        self.shape: tuple[int, int] = content.shape
        """Height and width in pixels."""

    def __repr__(self) -> str:
        height, width = self.shape
        return f'<Frame {self.index}: {width}x{height}, {self.boxes}>'

    @functools.cached_property
    def boxes(self) -> Boxes:
        """The boxes of the frame."""
        return self._read().boxes()

    @functools.cached_property
    def skipped(self) -> bool:
        """True if a model did not look at the frame (interval=3, or a frame that would be late), so
        that it may have objects without boxes."""
        return self._read().skipped()

    @functools.cached_property
    def attributes(self) -> dict[str, tuple[str, float]]:
        """Results of classifiers and text recognisers (classdecode) about the whole frame, by
        attribute: the class or the text, and its confidence."""
        return self._read().attributes()

    @functools.cached_property
    def counts(self) -> Counts:
        """What was counted up to the frame, at the detector's lines and zones or by a boxcount
        among its elements: frame.counts.lines['gate'].crossed['in'],
        frame.counts.zones['queue'].now."""
        return self._read().counts()

    @functools.cached_property
    def image(self) -> Pixels:
        """The pixels, uint8 (height, width, 3) in the detector's order of colours, without boxes.
        An array that you gave is returned itself; otherwise it is made once, when first asked for,
        and is yours."""
        content = self._read()
        return self._given if self._given is not None else content.image()

    def draw(self, **properties: object) -> Pixels:
        """Draws the boxes by boxoverlay, with its properties, such as draw_scores=False.

        Returns:
            a new uint8 array (height, width, 3) in the detector's order of colours.

        Raises:
            Error: boxoverlay is not installed.
            TypeError, ValueError: a property that it does not have, or a wrong value.
        """
        return self._read().drawn(properties)

    def _read(self) -> Content:
        if self._content is None:
            raise Error('the frame was pickled without its pixels: read or draw it before it is'
                        ' sent to another process')
        return self._content

    def __getstate__(self) -> dict[str, Any]:
        """Returns what does not need GStreamer."""
        kept = {name: getattr(self, name) for name in ('boxes', 'attributes', 'counts', 'skipped')}
        return {**self.__dict__, **kept, '_content': None, '_given': None}

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
