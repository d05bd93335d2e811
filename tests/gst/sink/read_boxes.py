#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads files of boxsink with parsers of other projects, and prints the boxes as JSON.

usage: read_boxes.py jsonl|coco|mot|kitti|csv|dota FILE...
"""
import contextlib
import csv
import json
import pathlib
import sys

import numpy

try:
    from pycocotools import mask as mask_of
    from pycocotools.coco import COCO
except ImportError:
    COCO = mask_of = None


def lengths(text):
    """Returns the runs of a COCO mask, starting with pixels outside of the object."""
    runs, groups = [], []
    for group in text.encode('ascii'):
        groups.append(group - 48)
        if groups[-1] & 32:
            continue
        number = sum((bits & 31) << 5 * place for place, bits in enumerate(groups))
        if groups[-1] & 16:
            number -= 1 << 5 * len(groups)
        runs.append(number + (runs[-2] if len(runs) > 2 else 0))
        groups = []
    assert not groups, text
    return runs


def rows(text, height, width):
    """Formats a mask as text, with # inside the object."""
    runs = lengths(text)
    pixels = numpy.repeat(numpy.arange(len(runs)) % 2, runs).reshape(width, height).T
    if mask_of:
        assert (mask_of.decode({'size': [height, width], 'counts': text}) == pixels).all()
    return [''.join('.#'[pixel] for pixel in row) for row in pixels]


def jsonl(path):
    with open(path, encoding='utf-8') as lines:
        for frame in map(json.loads, lines):
            for thing in frame.get('objects', []):
                found = thing['detection']
                mask = thing.get('mask')
                yield {'points': thing.get('keypoints', {}).get('points'),
                       'mask': mask and {'place': [mask[key] for key in 'xywh'],
                                         'rows': rows(mask['rle'], mask['height'], mask['width'])},
                       'frame': frame['frame'], 'label': found.get('label'),
                       'class': found.get('label_id'), 'score': found['confidence'],
                       'box': [thing[key] for key in 'xywh'],
                       'model': found.get('model', {}).get('name')}


def by_pycocotools(results):
    """Returns the results after an evaluation has loaded them."""
    truth = COCO()
    truth.dataset = {'info': {}, 'images': [{'id': each['image_id']} for each in results],
                     'categories': [{'id': each['category_id']} for each in results],
                     'annotations': []}
    truth.createIndex()
    found = truth.loadRes(results)
    return found.loadAnns(found.getAnnIds())


def coco(path):
    results = json.loads(pathlib.Path(path).read_text(encoding='utf-8'))
    for each in by_pycocotools(results) if COCO and results else results:
        shape = each.get('segmentation')
        shape = shape if isinstance(shape, dict) else None
        yield {'points': each.get('keypoints'),
               'mask': shape and {'size': shape['size'],
                                  'rows': rows(shape['counts'], *shape['size'])},
               'frame': each['image_id'], 'class': each['category_id'], 'score': each['score'],
               'box': each['bbox'], 'model': each.get('model')}


def mot(path):
    for row in numpy.loadtxt(path, delimiter=',', ndmin=2):
        assert len(row) == 10, row
        yield {'frame': int(row[0]), 'score': row[6], 'box': list(row[2:6])}


def kitti(path):
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        columns = line.split()
        assert len(columns) == 16, line
        numbers = numpy.array(columns[1:], dtype=float)
        x1, y1, x2, y2 = numbers[3:7]
        yield {'frame': int(pathlib.Path(path).stem), 'label': columns[0], 'score': numbers[-1],
               'box': [x1, y1, x2 - x1, y2 - y1]}


def from_csv(path):
    with open(path, newline='', encoding='utf-8') as lines:
        for row in csv.DictReader(lines, strict=True):
            x1, y1, x2, y2 = (float(row[key]) for key in ('x1', 'y1', 'x2', 'y2'))
            yield {'frame': int(row['frame']), 'label': row['label'] or None,
                   'class': int(row['class_id']) if row['class_id'] else None,
                   'score': float(row['score']), 'box': [x1, y1, x2 - x1, y2 - y1],
                   'model': row['model'] or None}


def dota(path):
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        image, *numbers = line.split()
        score, *corners = map(float, numbers)
        x, y = corners[::2], corners[1::2]
        assert len(x) == len(y) == 4, line
        yield {'frame': int(image), 'label': pathlib.Path(path).name, 'score': score,
               'box': [min(x), min(y), max(x) - min(x), max(y) - min(y)]}


def main():
    read = {'jsonl': jsonl, 'coco': coco, 'mot': mot, 'kitti': kitti, 'csv': from_csv,
            'dota': dota}[sys.argv[1]]
    with contextlib.redirect_stdout(sys.stderr):  # pycocotools prints its progress
        boxes = [box for path in sys.argv[2:] for box in read(path)]
    boxes.sort(key=lambda box: box['frame'])
    json.dump(boxes, sys.stdout, default=float)


main()
