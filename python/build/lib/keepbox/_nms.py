# SPDX-License-Identifier: LGPL-2.1-or-later
"""Suppression of overlapping boxes as a function."""
from __future__ import annotations

import ctypes
import math
import threading
from typing import Any

import numpy as np

from . import _clib
from ._arrays import HOST_DEVICE, NUMPY, Library, library_of
from ._options import options_text

MOST_CLASSES = 2048
MOST_SUPPRESSORS = 32  # of a thread
# Contracts of packages that compare float32 overlaps with a float64 threshold on the CPU.
WIDE_THRESHOLD = ('torchvision', 'ultralytics')

_mine = threading.local()


def nms(boxes: Any, scores: Any, classes: Any = None, iou: float = .5, method: str | None = None,
        contract: str = 'torchvision', *, score_threshold: float | None = None,
        max_detections: int | None = None, class_agnostic: bool = False, wait: bool = True) -> Any:
    """Returns the indices of the boxes that remain if each one suppresses those of its class that
    overlap it and have lower scores, the best first.

    Arrays may be NumPy's, PyTorch's or CuPy's, on the host or on a CUDA device, where they are
    processed; other arrays and sequences are read as NumPy reads them. The result is of the same
    package, on the same device. On a GPU the work is enqueued on the package's current stream.

    Args:
        boxes: (N, 4): x1, y1, x2, y2 of N boxes, in any unit; (N, 5) are oriented boxes: centre x
            and y, width, height, angle in radians, clockwise. (B, N, 4) and (B, N, 5) are B
            problems of N boxes, which do not see each other.
        scores: (N,) or (B, N).
        classes: integers (N,) or (B, N): only boxes of one class suppress each other. None: all do.
        iou: boxes that overlap a better one by more than this are dropped, from 0 to 1.
        method: how boxes are suppressed, such as 'greedy', 'fast', 'diou'; None takes the
            contract's. The page Non-maximum suppression lists methods and contracts.
        contract: the package whose conventions are followed, such as 'torchvision', 'opencv',
            'ultralytics', 'mmcv', 'tensorflow': comparisons, order of equal scores, pixel widths.
        score_threshold: only boxes with higher scores remain; None keeps all.
        max_detections: the maximum number of boxes that remain, the best ones; None for no limit.
        class_agnostic: True ignores classes.
        wait: False returns at once, without waiting for the GPU: see below.

    Returns:
        int64 (K,), the indices of the K boxes that remain; of B problems a list of B such arrays,
        each with indices from 0 to N - 1. With wait=False a pair, both still being computed on the
        stream: int64 (N,) or (B * N,) and int32 (1,) or (B,). The latter has the number of boxes of
        each problem; the indices of problem b begin at b * N, are those of boxes.reshape(-1, 4),
        and have no meaning beyond that number.

    Raises:
        ValueError: shapes that do not fit each other, or an unknown method or contract.
        Error: no memory, or an error of the GPU.
        ImportError: libkeepbox-decode is not installed.

    All arithmetic is float32. Boxes and scores with a NaN or an infinity are never kept. A call
    reuses the memory of earlier calls of its thread with the same options. With wait=False on a
    GPU, classes have to be from 0 to 2047.

    Example:
        >>> boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [20, 20, 30, 30]], np.float32)
        >>> keepbox.nms(boxes, np.array([.9, .8, .7], np.float32))
        array([0, 2])
    """
    library = library_of(boxes)
    boxes, scores = library.dense(boxes, 'float32'), library.dense(scores, 'float32')
    if classes is not None:
        if isinstance(classes, float):
            raise TypeError(f'classes must be an array, not {classes}: did you mean iou={classes}?')
        classes = library.dense(classes, 'int64')
    shape, device = _shape_of(boxes, scores, classes), library.device_of(boxes)
    suppressor = _suppressor(float(iou), method, contract, score_threshold, max_detections,
                             bool(class_agnostic), device)
    call = suppressor.run if wait else suppressor.enqueue
    return call(library, shape, boxes, scores, classes)


def _shape_of(boxes: Any, scores: Any, classes: Any) -> tuple[int, ...]:
    """Returns the shape of boxes, after checking all shapes."""
    shape: tuple[int, ...] = boxes.shape
    # Comparing numbers takes a fraction of the time of comparing shapes.
    if len(shape) == 2 and 3 < shape[1] < 6 and scores.ndim == 1 and scores.shape[0] == shape[0]:
        if classes is None or classes.ndim == 1 and classes.shape[0] == shape[0]:
            return shape
    shape = tuple(shape)
    if shape == (0,):  # an empty list
        return _shape_of(boxes.reshape(0, 4), scores, classes)
    if len(shape) not in (2, 3) or shape[-1] not in (4, 5):
        raise ValueError(f'boxes must have shape (N, 4), (N, 5), (B, N, 4) or (B, N, 5), not'
                         f' {shape}')
    for name, array in (('scores', scores), ('classes', classes)):
        if array is not None and tuple(array.shape) != shape[:-1]:
            raise ValueError(f'{name} must have shape {shape[:-1]}, because boxes have {shape}, not'
                             f' {tuple(array.shape)}')
    return shape


def _suppressor(*key: Any) -> _Suppressor:
    """Returns this thread's suppressor for options and a device; the one that was used least
    recently makes room for a new one."""
    found: dict[Any, _Suppressor] | None = getattr(_mine, 'suppressors', None)
    if found is None:
        found = _mine.suppressors = {}
    suppressor = found.get(key)
    if suppressor is None or not suppressor.is_current:
        while len(found) >= MOST_SUPPRESSORS:
            del found[next(iter(found))]
        suppressor = found[key] = _Suppressor(*key)
    return suppressor


def _rounded_down(value: float) -> float:
    """Returns the largest float32 that is not above a value: as a threshold of float32 it decides
    as the value itself does."""
    near = np.float32(value)
    return float(near if float(near) <= value else np.nextafter(near, np.float32(-np.inf)))


class _Suppressor(_clib.Owned):
    """Options, and the structure of the last call."""

    def __init__(self, iou: float, method: str | None, contract: str,
                 score_threshold: float | None, max_detections: int | None, class_agnostic: bool,
                 device: int) -> None:
        on_host = device == HOST_DEVICE
        if on_host and contract in WIDE_THRESHOLD:
            iou = _rounded_down(iou)
        self._key = iou, method, contract, score_threshold, max_detections, class_agnostic, device
        super().__init__('nms', options_text({
            'iou_threshold': iou, 'nms_method': method, 'nms_contract': contract,
            'score_threshold': score_threshold, 'max_detections': max_detections,
            'class_agnostic': class_agnostic, 'device_id': None if on_host else device}))
        self._device = device
        self._run = _clib.functions().keepbox_nms_run
        self._problems = _clib.Problems(memory=_clib.HOST if on_host else _clib.CUDA)
        self._argument = ctypes.byref(self._problems)
        self._make_counts(1)

    def _make_counts(self, count: int) -> None:
        self._counts = (ctypes.c_uint32 * count)()
        self._counts_address = ctypes.addressof(self._counts)

    def _call(self, library: Library, shape: tuple[int, ...], boxes: Any, scores: Any,
              classes: Any, indices: Any, counts: int, starts: Any = None,
              on_host: bool = True) -> int:
        """Starts the work on arrays of one or more problems. counts: where the counts are written;
        on_host: in host memory; starts: the first box of each problem. Returns the status."""
        problems, address_of = self._problems, library.address_of
        problems.boxes, problems.scores = address_of(boxes), address_of(scores)
        problems.classes = None if classes is None else address_of(classes)
        problems.indices, problems.counts = address_of(indices), counts
        problems.counts_memory = _clib.HOST if on_host else _clib.CUDA
        problems.oriented = shape[-1] == 5
        if starts is None:
            problems.n_boxes, problems.starts = shape[0], None
        else:
            problems.n_boxes = len(indices)
            problems.starts, problems.n_problems = NUMPY.address_of(starts), len(starts)
        if self._device != HOST_DEVICE:
            problems.stream = library.stream_of(self._device)
        return int(self._run(self.pointer, self._argument, self.error))

    def enqueue(self, library: Library, shape: tuple[int, ...], boxes: Any, scores: Any,
                classes: Any) -> tuple[Any, Any]:
        """Starts the work. Returns indices and counts."""
        starts = _starts_of(shape)
        indices = library.empty(boxes, 'int64', math.prod(shape[:-1]))
        counts = library.empty(boxes, 'int32', 1 if starts is None else len(starts))
        if self._call(library, shape, boxes, scores, classes, indices, library.address_of(counts),
                      starts, self._device == HOST_DEVICE):
            self.raise_error()
        return indices, counts

    def run(self, library: Library, shape: tuple[int, ...], boxes: Any, scores: Any,
            classes: Any) -> Any:
        """Returns the indices."""
        if len(shape) == 3:
            return self._run_several(library, shape, boxes, scores, classes)
        indices = library.empty(boxes, 'int64', shape[0])
        if not shape[0]:
            return indices
        if self._call(library, shape, boxes, scores, classes, indices, self._counts_address):
            return self._run_renumbered(library, boxes, scores, classes)
        return library.cut(indices, self._counts[0])

    def _run_several(self, library: Library, shape: tuple[int, ...], boxes: Any, scores: Any,
                     classes: Any) -> list[Any]:
        number, size, _ = shape
        if not number * size:
            return [library.empty(boxes, 'int64', 0) for _ in range(number)]
        indices = library.empty(boxes, 'int64', number * size)
        if len(self._counts) < number:
            self._make_counts(number)
        if self._call(library, shape, boxes, scores, classes, indices, self._counts_address,
                      _starts_of(shape)):
            self._raise_unless_of_classes(classes)
            return [self.run(library, shape[1:], *each) for each in zip(boxes, scores, classes)]
        return [indices[first:first + count] - first for first, count in
                zip(range(0, number * size, size), self._counts)]

    def _raise_unless_of_classes(self, classes: Any) -> None:
        """Raises the error of the last call, unless it is about the numbers of classes."""
        if classes is None or self.status != _clib.INVALID:
            self.raise_error()
        if classes.min() >= 0 and classes.max() < MOST_CLASSES:
            self.raise_error()

    def _run_renumbered(self, library: Library, boxes: Any, scores: Any, classes: Any) -> Any:
        """Returns the indices after an error about the numbers of classes. Distinct ones are
        numbered from 0; if they are more than the C library takes, they become several problems in
        host memory."""
        self._raise_unless_of_classes(classes)
        found, numbers = np.unique(NUMPY.dense(classes, 'int64'), return_inverse=True)
        if len(found) <= MOST_CLASSES:
            return self.run(library, boxes.shape, boxes, scores, library.copied(numbers, boxes))
        host = self if self._device == HOST_DEVICE else _suppressor(*self._key[:-1], HOST_DEVICE)
        return library.copied(host._run_parts(
            NUMPY.dense(boxes, 'float32'), NUMPY.dense(scores, 'float32'), numbers), boxes)

    def _run_parts(self, boxes: Any, scores: Any, numbers: Any) -> Any:
        """Returns the indices of boxes in host memory, with any number of classes from 0 on."""
        part, numbers = np.divmod(numbers, MOST_CLASSES)
        order = np.argsort(part, kind='stable')
        starts = np.flatnonzero(np.diff(part[order], prepend=-1)).astype(np.uint32)
        counts, indices = np.zeros(len(starts), np.uint32), np.empty(len(order), np.int64)
        if self._call(NUMPY, boxes.shape, boxes[order], scores[order], numbers[order], indices,
                      NUMPY.address_of(counts), starts):
            self.raise_error()
        kept = np.concatenate([order[indices[start:start + count]]
                               for start, count in zip(starts, counts)])
        return kept[np.lexsort((kept, -scores[kept]))][:self._key[4]]


def _starts_of(shape: tuple[int, ...]) -> Any:
    """Returns the first box of each problem of (B, N, 4) boxes; None of (N, 4)."""
    return None if len(shape) == 2 else np.arange(shape[0], dtype=np.uint32) * np.uint32(shape[1])
