# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions of other packages with their names, arguments and results, done by keepbox:
torchvision.ops.nms and batched_nms, cv2.dnn.NMSBoxes and NMSBoxesBatched, and
ultralytics.utils.nms.non_max_suppression. The page The decoder as a function compares them.

    from keepbox.compat import batched_nms  # instead of torchvision.ops
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import HOST_DEVICE, library_of
from ._decoder import Decoder, rows_of
from ._nms import nms as _nms

__all__ = ['nms', 'batched_nms', 'NMSBoxes', 'NMSBoxesBatched', 'non_max_suppression']

# What Ultralytics' function is always called with.
MAX_NMS, MAX_WH = 30000, 7680
# Half the width of a frame around the model's input that holds every box.
FAR = 1 << 20


def nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    """Suppresses boxes as torchvision.ops.nms does.

    Args:
        boxes: (N, 4): x1, y1, x2, y2. scores: (N,).
        iou_threshold: boxes that overlap a better one by more are dropped.

    Returns:
        int64 (K,), the indices of the boxes that remain, the best first, on the device of boxes.
    """
    return _nms(boxes, scores, None, iou_threshold)


def batched_nms(boxes: Any, scores: Any, idxs: Any, iou_threshold: float) -> Any:
    """Suppresses boxes of the same class as torchvision.ops.batched_nms does class by class. For
    few boxes torchvision moves classes apart instead, which rounds the boxes.

    Args:
        boxes: (N, 4): x1, y1, x2, y2. scores: (N,). idxs: integers (N,), the class of each.
        iou_threshold: boxes that overlap a better one of their class by more are dropped.

    Returns:
        int64 (K,), the indices of the boxes that remain, the best first, on the device of boxes.
    """
    return _nms(boxes, scores, idxs, iou_threshold)


def NMSBoxes(bboxes: Any, scores: Any, score_threshold: float, nms_threshold: float,
             eta: float = 1., top_k: int = 0) -> NDArray[np.int32]:
    """Suppresses boxes as cv2.dnn.NMSBoxes does.

    Args:
        bboxes: (N, 4): left, top, width, height. scores: (N,).
        score_threshold: only boxes with higher scores remain.
        nms_threshold: boxes that overlap a better one by more are dropped.
        eta: 1. Other values, which lower the threshold with each box, are a ValueError.
        top_k: only as many of the best boxes are considered; 0: all.

    Returns:
        int32 (K,), the indices of the boxes that remain, the best first.
    """
    return _nms_boxes(bboxes, scores, None, score_threshold, nms_threshold, eta, top_k)


def NMSBoxesBatched(bboxes: Any, scores: Any, class_ids: Any, score_threshold: float,
                    nms_threshold: float, eta: float = 1., top_k: int = 0) -> NDArray[np.int32]:
    """Suppresses boxes of the same class. class_ids: integers (N,); the others as of NMSBoxes().
    OpenCV moves classes apart instead, which rounds the boxes."""
    return _nms_boxes(bboxes, scores, class_ids, score_threshold, nms_threshold, eta, top_k)


def _nms_boxes(bboxes: Any, scores: Any, class_ids: Any, score_threshold: float,
               nms_threshold: float, eta: float, top_k: int) -> NDArray[np.int32]:
    if eta != 1:
        raise ValueError(f'eta must be 1, not {eta}: thresholds that change with each box are not'
                         ' possible')
    boxes: Any = np.array(bboxes, np.float32).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    scores = np.asarray(scores, np.float32)
    chosen = None
    if 0 < top_k < len(scores):
        chosen = np.argsort(-scores, kind='stable')[:top_k]
        boxes, scores = boxes[chosen], scores[chosen]
        class_ids = None if class_ids is None else np.asarray(class_ids)[chosen]
    kept = _nms(boxes, scores, class_ids, nms_threshold, contract='opencv',
                score_threshold=score_threshold)
    found: NDArray[np.int32] = (kept if chosen is None else chosen[kept]).astype(np.int32)
    return found


def non_max_suppression(prediction: Any, conf_thres: float = .25, iou_thres: float = .45,
                        classes: Sequence[int] | None = None, agnostic: bool = False,
                        multi_label: bool = False, max_det: int = 300, nc: int = 0,
                        max_time_img: float = .05, max_nms: int = MAX_NMS, max_wh: int = MAX_WH,
                        rotated: bool = False, end2end: bool = False,
                        return_idxs: bool = False) -> Any:
    """Decodes and suppresses as ultralytics.utils.nms.non_max_suppression does.

    Args:
        prediction: (B, 4 + classes + extra, N), the raw output of a YOLOv8 or YOLO11 model: centre
            x and y, width and height, a score for each class, and other values such as keypoints,
            mask coefficients or an angle; or of an end-to-end model, (B, N, 6 + extra) with x1, y1,
            x2, y2, score, class. Of a list or tuple the first item. Of PyTorch, CuPy or NumPy.
        conf_thres: only boxes with higher scores remain.
        iou_thres: boxes that overlap a better one of their class by more are dropped.
        classes: numbers of the classes to keep; None keeps all.
        agnostic: boxes of different classes suppress each other.
        multi_label: an anchor gives a box for each class above conf_thres, not for the best alone.
        max_det: the maximum number of boxes of an image.
        nc: the number of classes; 0: all values after the box are scores.
        max_time_img: has no effect: there is no limit of time.
        max_nms, max_wh: 30000 and 7680. Other values are a ValueError.
        rotated: the last value is an angle, boxes are oriented.
        end2end: the output is that of an end-to-end model, also if it has not 6 columns.
        return_idxs: also return which of the N columns the boxes come from.

    Returns:
        a list of B float32 arrays (K, 6 + extra): x1, y1, x2, y2, score, class and the other
        values, in pixels of the model's input, the best first; with rotated=True centre x and y,
        width and height first. With return_idxs=True a pair of that list and one of int64 (K,).
    """
    if isinstance(prediction, list | tuple):
        prediction = prediction[0]
    if prediction.shape[-1] == 6 or end2end:
        found = [_filtered(each, conf_thres, classes, max_det) for each in prediction]
    else:
        if (max_nms, max_wh) != (MAX_NMS, MAX_WH):
            raise ValueError(f'max_nms and max_wh must be {MAX_NMS} and {MAX_WH}, not {max_nms} and'
                             f' {max_wh}')
        nc = nc or prediction.shape[1] - 4 - rotated
        chosen = None if classes is None else tuple(
            sorted(int(each) for each in classes if 0 <= each < nc))
        found = [(_none(prediction, nc), _none(prediction))] * len(prediction)
        if chosen != ():
            decoder = _decoder(bool(rotated), nc, float(conf_thres), float(iou_thres), chosen,
                               bool(agnostic), bool(multi_label) and nc > 1, int(max_det))
            found = _suppressed(decoder, prediction, nc, rotated)
    rows, indices = [each for each, _ in found], [each for _, each in found]
    return (rows, indices) if return_idxs else rows


def _none(prediction: Any, nc: int | None = None) -> Any:
    """Returns no rows of boxes with a number of classes, or no indices."""
    library = library_of(prediction)
    if nc is None:
        return library.empty(prediction, 'int64', 0)
    return library.empty(prediction, 'float32', 0, prediction.shape[1] - nc + 2)


def _filtered(rows: Any, conf_thres: float, classes: Sequence[int] | None,
              max_det: int) -> tuple[Any, Any]:
    """Returns those rows of an end-to-end model that remain, and their indices."""
    library = library_of(rows)
    kept = rows[:, 4] > conf_thres
    if classes is not None:
        of_class = kept & False
        for each in classes:
            of_class = of_class | (rows[:, 5] == int(each))
        kept = kept & of_class
    indices = kept.nonzero()
    indices = (indices[0] if isinstance(indices, tuple) else indices.reshape(-1))[:max_det]
    return library.dense(rows[indices], 'float32'), indices


@functools.lru_cache(32)
def _decoder(rotated: bool, nc: int, conf_thres: float, iou_thres: float,
             classes: tuple[int, ...] | None, agnostic: bool, multi_label: bool,
             max_det: int) -> Decoder:
    return Decoder('yolov8-obb' if rotated else 'yolov8', num_classes=nc,
                   score_threshold=conf_thres, iou_threshold=iou_thres, class_agnostic=agnostic,
                   nms_contract='ultralytics-obb' if rotated else 'ultralytics',
                   multi_label=multi_label, max_detections=max_det,
                   include_classes=classes, size=(MAX_WH, MAX_WH))


def _suppressed(decoder: Decoder, prediction: Any, nc: int,
                rotated: bool) -> list[tuple[Any, Any]]:
    """Returns rows of Ultralytics' form and their columns in the output, of each image. Boxes are
    those of the output itself: the decoder's are clipped to its frame."""
    library = library_of(prediction)
    read = prediction if rotated else prediction[:, :4 + nc]
    frames = [(2 * FAR, 2 * FAR, 1, 1, -FAR, -FAR)] * len(prediction)
    if library.device_of(prediction) == HOST_DEVICE:
        handle = decoder._run((read,), frames)
        images = [rows_of(image) for image in handle.images]
        parts = [tuple(library.copied(rows[name], prediction)
                       for name in ('anchor', 'score', 'class')) for rows in images]
    else:
        boxes = decoder.enqueue(read, frames=frames)
        parts = [(boxes.anchors[image, :count], boxes.conf[image, :count], boxes.cls[image, :count])
                 for image, count in enumerate(boxes.counts.tolist())]
    out = []
    for columns, (anchors, scores, numbers) in zip(prediction, parts):
        indices = library.dense(anchors, 'int64')
        values = columns[:, indices]
        rows = library.empty(prediction, 'float32', len(indices), len(columns) - nc + 2)
        half = values[2:4] / 2
        first = values[:2] if rotated else values[:2] - half
        rows[:, :2], rows[:, 2:4] = first.T, (values[2:4] if rotated else values[:2] + half).T
        rows[:, 4], rows[:, 5], rows[:, 6:] = scores, numbers, values[4 + nc:].T
        out.append((rows, indices))
    return out
