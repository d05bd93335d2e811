#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests keepbox.nms and the functions of other packages in keepbox.compat, with arrays of NumPy."""
import inspect
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from capsules import Exported
from common import fails, same
from tap import DATA, Skip, main

import keepbox
from keepbox import compat

SEMANTICS = {
    'onnx_exact(strict >, reorder, low-index ties)': ['onnx', 'tensorflow'],
    'torchvision_cpu(strict >, no reorder, stable sort)': ['exact', 'torchvision'],
    'inclusive_>= (EfficientNMS, seed b CPU, mmcv nms_match/soft, ultralytics fast_nms)':
        ['inclusive', 'efficientnms'],
    'plus_one (Faster R-CNN seed a, YOLOX demo, SCRFD, RetinaFace)': ['plus-one'],
    'numpy argsort()[::-1] ties (higher index wins)': ['numpy'],
    'opencv NMSBoxes': ['opencv'],
    'ultralytics class offset 7680': ['ultralytics'],
    'yolov7 ONNX end2end class offset 640': ['yolov7-onnx']}


def scene(count, seed=1, classes=3):
    """Returns boxes in groups that overlap, scores of which some are equal, and classes."""
    rng = np.random.default_rng(seed)
    middle = rng.integers(0, 400, (max(count // 8, 1), 2)).repeat(8, 0)[:count]
    middle = np.resize(middle, (count, 2)) + rng.integers(-6, 7, (count, 2))
    half = rng.integers(10, 20, (count, 2))
    boxes = np.concatenate([middle - half, middle + half], 1).astype(np.float32)
    scores = (rng.integers(0, count, count) / count).astype(np.float32)
    return boxes, scores, rng.integers(0, classes, count)


def expected(boxes, scores, classes=None, iou=.5):
    """Suppresses one box after the other, in float32 as torchvision does."""
    classes = np.zeros(len(boxes), int) if classes is None else classes
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order, kept = np.argsort(-scores, kind='stable'), []
    while len(order):
        first, rest = order[0], order[1:]
        kept.append(int(first))
        low, high = (np.maximum(boxes[first, :2], boxes[rest, :2]),
                     np.minimum(boxes[first, 2:], boxes[rest, 2:]))
        shared = np.maximum(high - low, 0).prod(1)
        overlap = shared / (area[first] + area[rest] - shared)
        order = rest[(overlap.astype(float) <= iou) | (classes[rest] != classes[first])]
    return kept


def test_indices_are_those_of_the_definition(folder):
    del folder
    for count in 1, 7, 64, 1000:
        for iou in .1, .3, .5, .6, .7:
            boxes, scores, classes = scene(count, count)
            found = keepbox.nms(boxes, scores, iou=iou)
            same(found, expected(boxes, scores, iou=iou), np.int64, found.shape)
            found = keepbox.nms(boxes, scores, classes, iou)
            same(found, expected(boxes, scores, classes, iou), np.int64, found.shape)
            if count == 1000:
                assert 100 < len(found) < 1000, len(found)


def test_a_threshold_that_float32_rounds_up(folder):
    """0.3 as float32 is more than 0.3: torchvision drops a box with just that overlap."""
    del folder
    boxes = np.array([[0, 0, 20, 1], [0, 0, 6, 1]], np.float32)
    assert keepbox.nms(boxes, [.9, .8], iou=.3).tolist() == [0]
    assert keepbox.nms(boxes, [.9, .8], iou=.3, contract='exact').tolist() == [0, 1]


def test_arrays_of_any_type_and_layout(folder):
    del folder
    boxes, scores, classes = scene(500)
    wanted = expected(boxes, scores, classes)
    wide = np.zeros((500, 8), np.float32)
    wide[:, 2:6] = boxes
    for each in (boxes.astype(np.float64), boxes.astype(np.float16), boxes.astype(np.int16),
                 np.asfortranarray(boxes), wide[:, 2:6], boxes[::-1].copy()[::-1],
                 boxes[:, ::-1].copy()[:, ::-1], boxes.tolist(), Exported(boxes),
                 Exported(np.asfortranarray(boxes))):
        assert keepbox.nms(each, scores, classes).tolist() == wanted, type(each)
    for each in scores.astype(np.float64), scores.repeat(2)[::2], scores.tolist():
        assert keepbox.nms(boxes, each, classes).tolist() == wanted, each
    for each in classes.astype(np.uint8), classes.astype(np.float32), classes.tolist():
        assert keepbox.nms(boxes, scores, each).tolist() == wanted, each
    before = boxes.copy()
    boxes.flags.writeable = False
    assert keepbox.nms(boxes, scores, classes).tolist() == wanted
    assert np.array_equal(boxes, before)


def test_no_boxes(folder):
    del folder
    for boxes, scores in ([], []), (np.zeros((0, 4)), np.zeros(0)):
        same(keepbox.nms(boxes, scores), [], np.int64, (0,))
        same(keepbox.nms(boxes, scores, []), [], np.int64, (0,))
    found = keepbox.nms(np.zeros((3, 0, 4)), np.zeros((3, 0)))
    assert [each.tolist() for each in found] == [[], [], []]


def test_several_problems(folder):
    del folder
    scenes = [scene(200, seed) for seed in range(5)]
    boxes, scores, classes = (np.stack(each) for each in zip(*scenes))
    for chosen in None, classes:
        found = keepbox.nms(boxes, scores, chosen)
        assert [each.tolist() for each in found] == [
            expected(*each[:2], None if chosen is None else each[2]) for each in scenes]
    indices, counts = keepbox.nms(boxes, scores, classes, wait=False)
    same(counts, [len(each) for each in found], np.int32, (5,))
    for image, each in enumerate(found):
        first = image * 200
        assert np.array_equal(indices[first:first + counts[image]] - first, each)


def test_limits(folder):
    del folder
    boxes, scores, classes = scene(400)
    wanted = expected(boxes, scores, classes)
    assert keepbox.nms(boxes, scores, classes, max_detections=10).tolist() == wanted[:10]
    above = [index for index in wanted if scores[index] > .5]
    assert keepbox.nms(boxes, scores, classes, score_threshold=.5).tolist() == above
    assert keepbox.nms(boxes, scores, classes, class_agnostic=True).tolist() == expected(
        boxes, scores)
    assert keepbox.nms(boxes, scores, method='none').tolist() == list(
        np.argsort(-scores, kind='stable'))
    indices, count = keepbox.nms(boxes, scores, classes, wait=False)
    assert count.tolist() == [len(wanted)] and indices[:count[0]].tolist() == wanted


def test_values_that_are_not_finite(folder):
    del folder
    boxes = np.array([[0, 0, 1, 1], [5, 5, 9, 9], [np.nan, 0, 1, 1], [0, 0, np.inf, 1]])
    assert keepbox.nms(boxes, [.1, np.nan, .9, .8]).tolist() == [0]


def test_any_numbers_of_classes(folder):
    del folder
    boxes, scores, classes = scene(3000)
    rng = np.random.default_rng(5)
    for numbers in (classes - 7, classes * 10**12, classes + 2047, -classes,
                    rng.integers(0, 1500, 3000) * 9, rng.integers(-2900, 2900, 3000)):
        assert keepbox.nms(boxes, scores, numbers).tolist() == expected(boxes, scores, numbers)
    assert len(np.unique(numbers)) > 2048 - 700, 'more than the C library takes'
    numbers = np.arange(3000) // 1.1
    assert len(np.unique(numbers)) > 2048
    assert keepbox.nms(boxes, scores, numbers).tolist() == expected(boxes, scores, numbers.astype(
        int))
    found = keepbox.nms(boxes.reshape(3, 1000, 4), scores.reshape(3, 1000),
                        (classes - 7).reshape(3, 1000))
    assert [each.tolist() for each in found] == [
        expected(boxes[i:i + 1000], scores[i:i + 1000], classes[i:i + 1000])
        for i in (0, 1000, 2000)]


def test_oriented_boxes(folder):
    del folder
    boxes = np.array([[50, 50, 40, 20, 0], [50, 50, 20, 40, np.pi / 2], [50, 50, 40, 4, np.pi / 2],
                      [90, 50, 40, 20, .3]], np.float32)
    assert keepbox.nms(boxes, [.9, .8, .7, .6]).tolist() == [0, 2, 3]
    assert keepbox.nms(boxes, [.9, .8, .7, .6], [0, 1, 0, 0]).tolist() == [0, 1, 2, 3]
    assert keepbox.nms(boxes, [.8, .9, .7, .6], contract='mmcv').tolist() == [1, 2, 3]


def test_vectors_of_other_packages(folder):
    """The cases of the tests of ONNX, ONNX Runtime and TensorFlow, and adversarial ones."""
    del folder
    file = DATA / 'nms-vectors.json'
    if not file.exists():
        raise Skip('no NMS vectors on this machine')
    count = 0
    for each in json.loads(file.read_text())['cases']:
        boxes = np.array(each['boxes'] or [], object)
        if boxes.ndim != 2:
            continue
        boxes = np.array([[float(value) for value in row] for row in boxes], np.float32)
        if each['box_format'].startswith('y1x1y2x2'):
            boxes = boxes[:, [1, 0, 3, 2]]
        for name, wanted in each.get('expected_by_semantics', {}).items():
            for contract in SEMANTICS.get(name, []):
                limit = each.get('max_output')
                threshold = each.get('score_threshold')
                found = keepbox.nms(
                    boxes, np.array(each['scores'], float), each.get('classes'),
                    each['iou_threshold'], contract=contract,
                    score_threshold=None if threshold is None else float(threshold),
                    max_detections=None if limit is None or limit > 1e6 else int(limit))
                assert found.tolist() == wanted, (each['name'], contract, found, wanted)
                count += 1
    assert count > 60, count


def test_errors(folder):
    del folder
    boxes, scores, classes = scene(8)
    fails(ValueError, 'boxes must have shape (N, 4)', lambda: keepbox.nms(boxes[:, :3], scores))
    fails(ValueError, 'scores must have shape (8,)', lambda: keepbox.nms(boxes, scores[:5]))
    fails(ValueError, 'scores must have shape (8,)', lambda: keepbox.nms(boxes, scores[:, None]))
    fails(ValueError, 'classes must have shape', lambda: keepbox.nms(boxes, scores, classes[:2]))
    fails(TypeError, 'did you mean iou=0.5?', lambda: keepbox.nms(boxes, scores, .5))
    fails(ValueError, 'nosuch', lambda: keepbox.nms(boxes, scores, method='nosuch'))
    fails(ValueError, 'nosuch', lambda: keepbox.nms(boxes, scores, contract='nosuch'))
    fails(ValueError, 'iou-threshold', lambda: keepbox.nms(boxes, scores, iou=2))
    assert keepbox.nms(boxes, scores).tolist() == expected(boxes, scores), 'as if nothing was'


def test_threads(folder):
    del folder
    scenes = [scene(300 + 10 * seed, seed) for seed in range(8)]

    def wrong_in(boxes, scores, classes):
        wanted = expected(boxes, scores, classes)
        return sum(keepbox.nms(boxes, scores, classes).tolist() != wanted for _ in range(200))
    with ThreadPoolExecutor(len(scenes)) as pool:
        assert not any(pool.map(wrong_in, *zip(*scenes)))


def test_thresholds_that_change_take_no_more_memory(folder):
    del folder
    from keepbox import _nms
    boxes, scores, _ = scene(20)
    for step in range(200):
        keepbox.nms(boxes, scores, iou=step / 200)
    assert len(_nms._mine.suppressors) <= _nms.MOST_SUPPRESSORS


def test_names_of_torchvision(folder):
    del folder
    boxes, scores, classes = scene(300)
    assert compat.nms(boxes, scores, .4).tolist() == expected(boxes, scores, iou=.4)
    found = compat.batched_nms(boxes=boxes, scores=scores, idxs=classes, iou_threshold=.4)
    assert found.tolist() == expected(boxes, scores, classes, .4)


def test_names_of_opencv(folder):
    del folder
    boxes, scores, classes = scene(300)
    sides = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1)
    wanted = [index for index in expected(boxes, scores, iou=.4) if scores[index] > .3]
    same(compat.NMSBoxes(sides.tolist(), scores.tolist(), .3, .4), wanted, np.int32,
         (len(wanted),))
    best = np.argsort(-scores, kind='stable')[:50]
    found = compat.NMSBoxes(sides, scores, .0, .4, top_k=50)
    assert found.tolist() == best[expected(boxes[best], scores[best], iou=.4)].tolist()
    assert compat.NMSBoxesBatched(sides, scores, classes, 0, .4).tolist() == [
        index for index in expected(boxes, scores, classes, .4) if scores[index] > 0]
    same(compat.NMSBoxes([], [], .3, .4), [], np.int32, (0,))
    fails(ValueError, 'eta must be 1', lambda: compat.NMSBoxes(sides, scores, 0, .4, eta=.9))


def test_help_reads_well(folder):
    del folder
    out = subprocess.run([sys.executable, '-c', 'import keepbox; help(keepbox.nms)'],
                         capture_output=True, text=True, check=True).stdout
    for word in 'iou: ', 'wait: ', 'Raises:', 'array([0, 2])':
        assert word in out, out
    assert list(inspect.signature(keepbox.nms).parameters)[:6] == [
        'boxes', 'scores', 'classes', 'iou', 'method', 'contract']


if __name__ == '__main__':
    main(globals())
