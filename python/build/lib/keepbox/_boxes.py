# SPDX-License-Identifier: LGPL-2.1-or-later
"""The boxes of a frame as NumPy arrays."""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
Bools = NDArray[np.bool_]
Texts = NDArray[np.str_]
Indices = NDArray[np.intp]
Key = int | slice | Sequence[int] | Sequence[bool] | NDArray[Any]

ROW = np.dtype([('ltwh', 'f4', 4), ('angle', 'f4'), ('conf', 'f4'), ('cls', 'i4'), ('id', 'i8'),
                ('held', '?'), ('predicted', '?')])
UNTRACKED = -1


def _id_of(box: Any) -> int:
    """Returns the id of a tracked object as int64: NumPy makes floats of int64 with uint64."""
    tracked, number = box.get_tracking_id()
    return (number - (1 << 64) if number >> 63 else number) if tracked else UNTRACKED


def _row(box: Any) -> tuple[Any, ...]:
    return (tuple(box.get_rect()), box.get_angle(), box.get_score(), box.get_class_id(),
            _id_of(box), box.is_held(), box.is_predicted())


def _parents_of(boxes: Sequence[Any]) -> NDArray[np.int64]:
    index = {box.get_od_id(): number for number, box in enumerate(boxes)}
    found = (box.get_parent() for box in boxes)
    return np.array([index.get(od_id, -1) if part else -1 for part, od_id in found], np.int64)


def _sampled(size: int, count: int, start: float, length: float) -> tuple[Indices, Indices]:
    """Returns which of the `size` pixels of an axis have their centre in an area that `count`
    pixels of a mask cover, and the pixel of the mask at each of them."""
    index = np.floor((np.arange(size) + .5 - start) * (count / length)).astype(np.intp)
    covered = np.flatnonzero((index >= 0) & (index < count))
    return covered, index[covered]


def _attributes_of(box: Any) -> dict[str, tuple[str, float]]:
    """Returns class or text, and confidence, by attribute; '' if a classifier names none."""
    found = (box.get_attribute(index) for index in range(box.get_n_attributes()))
    return {name or '': (text, level) for text, name, level in found}


def _tensors_of(box: Any) -> dict[str, Floats]:
    """Returns the values of undecoded tensors by name, or by model/name if several have that name;
    '' if a tensor or a model has none."""
    found = [box.get_tensor(index) for index in range(box.get_n_tensors())]
    names = collections.Counter(name for _, name, _ in found)
    return {name or '' if names[name] == 1 else f'{model or ""}/{name or ""}':
            np.array(values, np.float32) for values, name, model in found}


@dataclasses.dataclass(frozen=True)
class Mask:
    """The pixels of one object.

    Attributes:
        pixels: bool (height, width) in the mask's own resolution, True inside of the object.
        rect: x, y, width and height of the area that the pixels cover evenly, in frame pixels.
    """
    pixels: Bools
    rect: tuple[float, float, float, float]

    def in_frame(self, shape: tuple[int, int]) -> Bools:
        """Returns the mask as bool (height, width) of a frame of that shape. A pixel of the frame
        has the value of the mask's pixel at its centre."""
        left, top, width, height = self.rect
        down, rows = _sampled(shape[0], self.pixels.shape[0], top, height)
        across, columns = _sampled(shape[1], self.pixels.shape[1], left, width)
        out = np.zeros(shape, bool)
        out[np.ix_(down, across)] = self.pixels[np.ix_(rows, columns)]
        return out


def _mask_of(box: Any) -> Mask | None:
    found, width, height = box.get_mask()
    if not found:
        return None
    _, *rect = box.get_mask_rect()
    pixels = np.frombuffer(found.get_data(), np.uint8).reshape(height, width)
    return Mask(pixels != 0, (rect[0], rect[1], rect[2], rect[3]))


# What a box has beside its row, by name: how to read it.
READ: dict[str, Callable[[Any], Any]] = {
    'label': lambda box: box.get_label() or '', 'model': lambda box: box.get_model() or '',
    'attributes': _attributes_of, 'tensors': _tensors_of, 'mask': _mask_of,
    'points': lambda box: np.array(box.get_points(), np.float32).reshape(-1, 3)}


class Values:
    """What boxes have beside their rows, each kind read when it is first needed. Without what it is
    read from it may be sent to other processes."""

    _readers: Mapping[str, Callable[[Any], Any]] = READ

    def __init__(self, boxes: Sequence[Any], readers: Mapping[str, Callable[[Any], Any]] = READ,
                 read: dict[str, list[Any]] | None = None) -> None:
        """boxes: what each box is read from; readers: how, by the names of READ."""
        self._boxes, self._readers, self._read = boxes, readers, read or {}

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._read:
            self._read[name] = [self._readers[name](box) for box in self._boxes]
        return self._read[name]

    def chosen(self, indices: Indices) -> Values:
        """Returns the values of some boxes."""
        boxes = [self._boxes[index] for index in indices] if self._boxes else []
        return Values(boxes, self._readers, {name: [values[index] for index in indices]
                                             for name, values in self._read.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {'_boxes': [], '_read': {name: self[name] for name in READ}}


@dataclasses.dataclass
class Layout:
    """What the boxes of a stream have, also on frames without boxes.

    Attributes:
        tracked: they have ids.
        keypoints: their number per box.
        masks: they have masks.
        embedding: the length of their embeddings, None until one was seen.
    """
    tracked: bool = False
    keypoints: int = 0
    masks: bool = False
    embedding: int | None = None


class Boxes(Sequence['Boxes']):
    """N boxes, by descending score. All arrays have N as their first dimension, and coordinates are
    in pixels of the frame, (0, 0) being the upper left corner of its upper left pixel.

    Indexing works as for arrays: `boxes[0]` has the first one, `boxes[:5]` five,
    `boxes[boxes.conf > .8]` and `boxes[boxes.names == 'person']` those of a condition. All of them
    are Boxes.
    """

    def __init__(self, boxes: Sequence[Any], shape: tuple[int, int],
                 layout: Layout | None = None) -> None:
        """boxes: of type Keepbox.Box; shape: height and width of the frame; layout: what boxes of
        its stream have."""
        self._set(np.array([_row(box) for box in boxes], ROW), Values(boxes), shape,
                  layout or Layout(), _parents_of(boxes))

    def _set(self, rows: NDArray[Any], values: Values, shape: tuple[int, int] | None,
             layout: Layout, parents: NDArray[np.int64]) -> None:
        self._rows, self._values, self._shape = rows, values, shape
        self._layout, self._parents = layout, parents

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Key) -> Boxes:
        if isinstance(key, int | np.integer):
            key = [range(len(self))[key]]
        chosen = np.arange(len(self))[key]
        out = Boxes.__new__(Boxes)
        out._set(self._rows[chosen], self._values.chosen(chosen), self._shape, self._layout,
                 self._parents[chosen])
        return out

    def __iter__(self) -> Iterator[Boxes]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        each = (f'{name} {score:.2f}' for name, score in zip(self._values['label'], self.conf))
        return f'Boxes({", ".join(each)})'

    @property
    def xywh(self) -> Floats:
        """float32 (N, 4): centre x, centre y, width, height; of an oriented box before its
        rotation."""
        out = self.ltwh
        out[:, :2] += out[:, 2:] / 2
        return out

    @property
    def ltwh(self) -> Floats:
        """float32 (N, 4): left, top, width, height, as in COCO; before the rotation."""
        return self._rows['ltwh'].copy()

    @property
    def xyxy(self) -> Floats:
        """float32 (N, 4): left, top, right, bottom; of an oriented box, those of the upright
        rectangle around it, which may reach out of the frame."""
        if self._rows['angle'].any():
            corners = self.corners
            return np.concatenate([corners.min(1), corners.max(1)], 1)
        out = self.ltwh
        out[:, 2:] += out[:, :2]
        return out

    @property
    def angles(self) -> Floats:
        """float32 (N,): rotation about the centre in radians, clockwise; 0 for upright boxes."""
        return self._rows['angle'].copy()

    @property
    def obb(self) -> Floats:
        """float32 (N, 5): centre x, centre y, width, height, angle, like xywhr of Ultralytics."""
        return np.concatenate([self.xywh, self.angles[:, None]], 1)

    @property
    def corners(self) -> Floats:
        """float32 (N, 4, 2): x and y of the corners, clockwise from the upper left one of the box
        before its rotation."""
        x, y, width, height = self._rows['ltwh'].T[:, :, None]
        across = np.concatenate([x, x + width, x + width, x], 1)
        down = np.concatenate([y, y, y + height, y + height], 1)
        turned = self._rows['angle'] != 0
        if turned.any():
            angle = self._rows['angle'][turned, None]
            middle, centre = (x + width / 2)[turned], (y + height / 2)[turned]
            dx, dy = across[turned] - middle, down[turned] - centre
            across[turned] = middle + dx * np.cos(angle) - dy * np.sin(angle)
            down[turned] = centre + dx * np.sin(angle) + dy * np.cos(angle)
        return np.stack([across, down], 2)

    @property
    def conf(self) -> Floats:
        """float32 (N,): scores, from 0 to 1 unless the model's scores are not probabilities."""
        return self._rows['conf'].copy()

    @property
    def cls(self) -> Integers:
        """int32 (N,): the model's class numbers from 0; -1 if unknown."""
        return self._rows['cls'].copy()

    @property
    def names(self) -> Texts:
        """str (N,): class names; '' if there is none."""
        return np.array(self._values['label'], np.str_)

    @property
    def models(self) -> Texts:
        """str (N,): names of the models that boxes are from; '' if unknown."""
        return np.array(self._values['model'], np.str_)

    @property
    def ids(self) -> NDArray[np.int64] | None:
        """int64 (N,): ids of tracked objects, -1 for boxes without one; None without a tracker. Ids
        of 2**63 and more are negative."""
        ids: NDArray[np.int64] = self._rows['id'].copy()
        return ids if self._layout.tracked or (ids != UNTRACKED).any() else None

    @property
    def attributes(self) -> list[dict[str, tuple[str, float]]]:
        """Results of classifiers and text recognisers (classdecode) about each box's object, by
        attribute: the class or the text, and its confidence."""
        return list(self._values['attributes'])

    @property
    def parents(self) -> NDArray[np.int64]:
        """int64 (N,): index of the box that each box is a part of, such as the vehicle of a plate,
        among all boxes of the frame; -1 for boxes that are not parts of others."""
        return self._parents.copy()

    @property
    def tensors(self) -> list[dict[str, Floats]]:
        """Tensors of each box's object that no decoder has decoded, by name, each as float32 (D,)
        and as the model wrote it. Tensors of several models with one name are keyed model/name."""
        return list(self._values['tensors'])

    @property
    def embeddings(self) -> Floats | None:
        """float32 (N, D): the first tensor of each object, divided by its Euclidean length, so that
        `embeddings @ embeddings.T` has cosine similarities; NaN for boxes without one. None if no
        box of the stream had one so far. ValueError if they differ in length."""
        found = [next(iter(each.values()), None) for each in self._values['tensors']]
        lengths = {len(each) for each in found if each is not None}
        if len(lengths) > 1:
            raise ValueError(f'embeddings differ in length: {sorted(lengths)} values; read tensors')
        self._layout.embedding = next(iter(lengths), self._layout.embedding)
        if self._layout.embedding is None:
            return None
        out = np.full((len(found), self._layout.embedding), np.nan, np.float32)
        for row, each in zip(out, found):
            if each is not None:
                row[:] = each / (np.linalg.norm(each) or 1)
        return out

    @property
    def held(self) -> Bools:
        """bool (N,): True for boxes of an earlier frame, because the model did not run on this one
        (interval=3, hold=True)."""
        return self._rows['held'].copy()

    @property
    def predicted(self) -> Bools:
        """bool (N,): True for boxes that a tracker moved to where they are expected, because the
        model did not look at this frame (boxtrack predict=true)."""
        return self._rows['predicted'].copy()

    @property
    def masks(self) -> list[Mask | None] | None:
        """The N masks, None for boxes without one; None if the model has none."""
        masks = list(self._values['mask'])
        return masks if self._layout.masks or any(masks) else None

    @property
    def keypoints(self) -> Floats | None:
        """float32 (N, K, 3): x, y and score of keypoints, possibly outside of the frame; NaN for
        boxes with fewer than K of them. None if the model has no keypoints."""
        points = self._values['points']
        max_count = max(map(len, points), default=self._layout.keypoints)
        if not max_count:
            return None
        out = np.full((len(points), max_count, 3), np.nan, np.float32)
        for row, each in zip(out, points):
            row[:len(each)] = each
        return out

    def masks_in_frame(self) -> Bools:
        """Returns the masks as bool (N, height, width) in frame pixels; all False for boxes without
        one. It takes a byte per box and pixel. ValueError if the size of the frame is not known,
        as of a Decoder without `frame` and `size`."""
        if self._shape is None:
            raise ValueError('the size of the frame is not known: make the Decoder with'
                             ' frame=(width, height)')
        masks = self._values['mask']
        out = np.zeros((len(masks), *self._shape), bool)
        for row, mask in zip(out, masks):
            if mask:
                row[...] = mask.in_frame(self._shape)
        return out


def boxes_of_rows(rows: NDArray[Any], values: Values, shape: tuple[int, int] | None,
                  layout: Layout) -> Boxes:
    """Makes boxes without parents of rows of type ROW. shape: height and width of the frame, None
    if they are not known."""
    out = Boxes.__new__(Boxes)
    out._set(rows, values, shape, layout, np.full(len(rows), -1, np.int64))
    return out
