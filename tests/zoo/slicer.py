# SPDX-License-Identifier: LGPL-2.1-or-later
"""supervision's InferenceSlicer on recorded tensors of tiles, and why its boxes may differ.

The callback decodes the recorded tensor of its slice with NumPy and suppresses its boxes, as a user
of InferenceSlicer does with a model. Slices are distinguished by the image, whose pixels are their
own positions.
"""
import json
import warnings

import numpy as np
import supervision as sv

# Boxes may reach a little past their slice, about which it warns.
warnings.filterwarnings('ignore', 'Detections returned by the callback')

SIDE, OVERLAP = 640, 128  # of slices, in pixels


class Recording:
    """The tiles and the tensors of the frames that tensorrecord wrote of a YOLOv8 model."""

    def __init__(self, folder):
        self.frames = []
        for line in (folder / 'frames.jsonl').read_text().splitlines():
            frame = json.loads(line)
            [tensor] = frame['tensors']
            tiles = np.array(tensor['source']['tiles'], np.float32)
            self.frames.append((tiles, np.load(folder / tensor['file'])))
            self.size = frame['width'], frame['height']


def slices_of(width, height, side, overlap):
    """Returns the slices as corners."""
    offsets = sv.InferenceSlicer._generate_offset((width, height), (side, side),
                                                  (overlap, overlap))
    return [[int(edge) for edge in each] for each in offsets]


def decoded(rows, tile, size, threshold, iou):
    """Returns the boxes of a slice in pixels of the frame."""
    centre, extent, scores = rows[:2].T, rows[2:4].T, rows[4:].T
    likely = scores.max(1) > threshold
    half = extent[likely] / 2
    corners = np.concatenate([centre[likely] - half, centre[likely] + half], 1)
    scale, pad = np.tile(tile[:2], 2), np.tile(tile[2:4], 2)
    xyxy = (corners - pad) * scale
    found = sv.Detections(xyxy=xyxy, confidence=scores[likely].max(1),
                          class_id=scores[likely].argmax(1)).with_nms(iou)
    found.xyxy = np.clip(found.xyxy, 0, np.tile(np.array(size, np.float32), 2))
    return found


def sliced(recording, frame, rule, threshold, iou):
    """Returns the boxes of a frame. @param rule filter, metric and threshold of InferenceSlicer."""
    tiles, tensor = recording.frames[frame]
    numbers = {tuple(tile[4:6].astype(int)): number for number, tile in enumerate(tiles)}
    width, height = recording.size

    def callback(image):
        down, across = image[0, 0]
        number = numbers[across, down]
        found = decoded(tensor[number], tiles[number], recording.size, threshold, iou)
        found.xyxy = found.xyxy - np.float32([across, down, across, down])
        found.data['slice'] = np.full(len(found), number)
        return found

    kind, metric, overlap = rule
    slicer = sv.InferenceSlicer(callback, slice_wh=SIDE, overlap_wh=OVERLAP, overlap_filter=kind,
                                overlap_metric=metric, iou_threshold=overlap)
    return slicer(np.stack(np.indices((height, width)), 2))


def keys_of(boxes, scores):
    """Returns boxes as a set of x1 y1 x2 y2 class, and score unless it is left out."""
    places = boxes.xyxy.astype(float).round(2).tolist()
    levels = boxes.confidence.astype(float).round(4).tolist() if scores else [0] * len(places)
    return {(*place, int(number), level)
            for place, number, level in zip(places, boxes.class_id, levels)}


def union_of(a, b):
    return np.concatenate([np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])])


def joined_across_slices(every, rule):
    """Joins boxes by the rule of boxdecode, which differs from InferenceSlicer's in two points:
    boxes of one slice are not compared, and a box is not extended over one that it no longer
    overlaps by the threshold."""
    kind, metric, threshold = rule
    order = np.argsort(-every.confidence, kind='stable')
    overlaps = sv.box_iou_batch(every.xyxy, every.xyxy, metric)
    kept, places = [], every.xyxy.copy()
    for index in order:
        twin = next((each for each in kept if overlaps[each, index] > threshold and
                     every.class_id[each] == every.class_id[index] and
                     every.data['slice'][each] != every.data['slice'][index]), None)
        if twin is None:
            kept.append(index)
        elif kind == sv.OverlapFilter.NON_MAX_MERGE:
            box = every.xyxy[index]
            if sv.box_iou_batch(places[twin][None], box[None], metric)[0, 0] > threshold:
                places[twin] = union_of(places[twin], box)
    out = every[kept]
    out.xyxy = places[kept]
    return out
