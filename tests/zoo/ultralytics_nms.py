#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares Ultralytics' predict() with its own non_max_suppression() and with that of
keepbox.compat: boxes, scores, classes, keypoints, masks and angles have to be the same, bit for
bit.

Models of yolo.py with random weights are run as they are, in PyTorch, and from an ONNX file. What
reaches the function is also passed to both with other arguments, those of val() among them; there
rows with equal scores may be in another order.

This program is not part of the build's tests, because it requires Ultralytics; zoo.py lists the
packages.

    PYTHONPATH=python ~/zoo-venv/bin/python tests/zoo/ultralytics_nms.py --work ~/zoo

The output is a table of the models; the exit status is 1 if one differs. --device=cuda runs models
of PyTorch, and their suppression, on a GPU.
"""
import argparse
import importlib.util
import os
import pathlib
import sys
from unittest import mock

MISSING = [name for name in ('cv2', 'torch', 'torchvision', 'ultralytics', 'onnx', 'onnxruntime')
           if importlib.util.find_spec(name) is None]
if MISSING and {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; zoo.py lists what it requires')

import torch
import torchvision  # noqa: F401  Ultralytics uses its operator if it is loaded

import pictures
import yolo
from keepbox import compat

MODELS = ('yolov8n-rectangular', 'yolo11n-seg', 'yolov8n-pose', 'yolov8n-obb')
HOURS = 1e4  # without a limit of time, at which Ultralytics' function leaves images out
SIZES = ((640, 480), (810, 1080))
# What val() and tracking pass, and what predict() can be asked for.
ARGUMENTS = ({'conf_thres': .001, 'multi_label': True, 'iou_thres': .7, 'max_det': 3000},
             {'agnostic': True, 'iou_thres': .3}, {'classes': [0, 3, 7], 'iou_thres': .5},
             {'max_det': 5}, {'conf_thres': .4, 'return_idxs': True})


def parts_of(result):
    """Returns the tensors of a result."""
    named = ((name, getattr(result, name)) for name in ('boxes', 'obb', 'keypoints', 'masks'))
    return {name: each.data for name, each in named if each is not None}


def calls_differ(theirs, calls):
    """Yields what is different between the functions for recorded calls and other arguments."""
    for given, options in calls:
        for more in ({}, *ARGUMENTS):
            # For oriented boxes val() and predict() have one label for each box.
            if options.get('rotated') and more.get('multi_label'):
                more = {**more, 'multi_label': False}
            wanted, found = (each(given.clone(), **{**options, **more, 'max_time_img': HOURS})
                             for each in (theirs, compat.non_max_suppression))
            if more.get('return_idxs'):
                wanted, found = sum(wanted, []), sum(found, [])
            for ours, other in zip(found, wanted, strict=True):
                if in_order(ours) != in_order(other):
                    yield f'{more}: {tuple(other.shape)} expected, {tuple(ours.shape)} found'


def in_order(rows):
    """Returns rows or indices in an order of their own: PyTorch's sort leaves that of equal scores
    open."""
    return sorted(rows.tolist())


def check(model, paths, device, size):
    """Returns the number of boxes, and what differs."""
    from ultralytics.utils import nms
    theirs, calls, differences, count = nms.non_max_suppression, [], [], 0

    def recording(prediction, conf_thres=.25, iou_thres=.45, classes=None, agnostic=False,
                  **options):
        first = prediction[0] if isinstance(prediction, list | tuple) else prediction
        options.update(conf_thres=conf_thres, iou_thres=iou_thres, classes=classes,
                       agnostic=agnostic)
        calls.append((first.clone(), options))
        return compat.non_max_suppression(prediction, **options)

    for path in paths:
        options = {'conf': yolo.THRESHOLD, 'verbose': False, 'device': device, 'imgsz': size}
        wanted = parts_of(model.predict(str(path), **options)[0])
        with mock.patch.object(nms, 'non_max_suppression', recording):
            found = parts_of(model.predict(str(path), **options)[0])
        count += len(next(iter(wanted.values())))
        differences += [f'{name} of {path.name}' for name in {*wanted, *found}
                        if name not in wanted or name not in found
                        or not torch.equal(wanted[name], found[name])]
    assert calls, 'predict() has not called the function'
    return count, differences + list(calls_differ(theirs, calls))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--work', type=pathlib.Path, default=pathlib.Path('zoo'),
                        help='folder for models and pictures')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('names', nargs='*', default=MODELS, help='models of yolo.py')
    given = parser.parse_args()
    work = given.work.resolve()
    (work / 'models').mkdir(parents=True, exist_ok=True)
    for name, value in (('CONFIG_DIR', str(work / 'settings')), ('OFFLINE', 'true'),
                        ('AUTOINSTALL', 'false'), ('VERBOSE', 'false')):
        os.environ.setdefault(f'YOLO_{name}', value)
    import ultralytics
    from ultralytics import YOLO
    print(f'Ultralytics {ultralytics.__version__}, PyTorch {torch.__version__}, {given.device}')
    bad = 0
    for name in given.names:
        paths = [pictures.write(work / 'pictures', *size) for size in SIZES]
        size, file = list(yolo.MODELS[name][1]), work / 'models' / f'{name}.onnx'
        if not file.exists():
            yolo.export(name, file, paths)
        task = {'seg': 'segment', 'pose': 'pose', 'obb': 'obb'}.get(name.split('-')[-1], 'detect')
        for kind, model, device in (
                ('PyTorch', yolo.build(name, paths), given.device),
                ('ONNX', YOLO(str(file), task=task), 'cpu')):
            count, differences = check(model, paths, device, size)
            bad += bool(differences) or not count
            print(f'{name:<24}{kind:<10}{count:>5} boxes  '
                  + (f'DIFFERS: {"; ".join(differences[:3])}' if differences else 'same'))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
