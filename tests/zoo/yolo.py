# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exports of Ultralytics' models, and the boxes of its own predict()."""
import os
import pathlib
import shutil
import zlib
from unittest import mock

import numpy as np
import torch

import pictures
from settle import Watch, raise_scores, settle_norms, smooth, spread

ANY_SIZE = False
THRESHOLD = 0.25
WANTED = 300  # anchors above the threshold in all pictures
# name: the model's file, the size of its input (height, width), and what export() is given
MODELS = {
    'yolov8n': ('yolov8n.yaml', (640, 640), {}),
    'yolov8n-half': ('yolov8n.yaml', (320, 320), {'quantize': 16}),
    'yolov8n-rectangular': ('yolov8n.yaml', (320, 640), {}),
    'yolov8n-plain-graph': ('yolov8n.yaml', (320, 320), {'simplify': False, 'opset': 12}),
    'yolov8n-nms': ('yolov8n.yaml', (320, 320), {'nms': True}),
    'yolov8n-seg': ('yolov8n-seg.yaml', (320, 320), {}),
    'yolov8n-seg-nms': ('yolov8n-seg.yaml', (320, 320), {'nms': True}),
    'yolov8n-pose': ('yolov8n-pose.yaml', (320, 320), {}),
    'yolov8n-pose-nms': ('yolov8n-pose.yaml', (320, 320), {'nms': True}),
    'yolov8n-obb': ('yolov8n-obb.yaml', (320, 320), {}),
    'yolov8n-obb-nms': ('yolov8n-obb.yaml', (320, 320), {'nms': True}),
    'yolo11n-dynamic': ('yolo11n.yaml', (320, 320), {'dynamic': True}),
    'yolo11n-seg': ('yolo11n-seg.yaml', (320, 320), {}),
    'yolo11n-obb-rectangular': ('yolo11n-obb.yaml', (320, 640), {}),
    'yolo12n': ('yolo12n.yaml', (320, 320), {}),
    'yolov10n': ('yolov10n.yaml', (320, 320), {'nms': False}),
    'yolov10n-default': ('yolov10n.yaml', (320, 320), {}),
    'yolo26n': ('yolo26n.yaml', (320, 320), {}),
    'yolo26n-end2end': ('yolo26n.yaml', (320, 320), {'nms': False}),
    'yolo26n-seg': ('yolo26n-seg.yaml', (320, 320), {}),
    'yolo26n-seg-end2end': ('yolo26n-seg.yaml', (320, 320), {'nms': False}),
    'yolo26n-pose': ('yolo26n-pose.yaml', (320, 320), {}),
    'yolo26n-pose-end2end': ('yolo26n-pose.yaml', (320, 320), {'nms': False}),
    'yolo26n-obb': ('yolo26n-obb.yaml', (320, 320), {}),
    'yolo26n-obb-end2end': ('yolo26n-obb.yaml', (320, 320), {'nms': False}),
    'yolov5nu': ('yolov5n.yaml', (320, 320), {}),
    'yolov9t': ('yolov9t.yaml', (320, 320), {}),
    'rtdetr-l': ('rtdetr-l.yaml', (320, 320), {}),
    'rtdetr-l-two-classes': ('rtdetr-l.yaml', (320, 320), {}),
    'rtdetr-resnet50-dynamic': ('rtdetr-resnet50.yaml', (320, 320), {'dynamic': True}),
}
CLASSES = {'rtdetr-l-two-classes': 2}  # whose rows are as long as those with a score a class
# Numbers of the last layers of boxes that make boxes of some cells: deviation, mean, least. With 16
# bins a side the far ones are the rarest.
BOXES = {16: (1.0, -0.6 * torch.arange(16).repeat(4), None), 1: (0.8, 3.0, 0.3)}


def size_of(name):
    height, width = MODELS[name][1]
    return width, height


def unscaled(name):
    """Returns sizes of frames whose pixels reach the model unscaled, with or without bars."""
    width, height = size_of(name)
    return [(width, height)] + ([] if is_rtdetr(name) else [(width, height * 3 // 4)])


def is_rtdetr(name):
    return MODELS[name][0].startswith('rtdetr')


def picture_batch(paths, width, height):
    """Returns pictures fitted like in predict(), 0..1."""
    from ultralytics.data.augment import LetterBox
    fit = LetterBox((height, width))
    seen = [fit(image=pictures.read(path)) for path in paths]
    return torch.from_numpy(np.stack(seen)).permute(0, 3, 1, 2).float() / 255


def last(branch):
    return [level[-1] for level in branch] if branch is not None else []


def settle_yolo(head, run):
    """Tunes the boxes of both branches of the head, if there are two."""
    for prefix in ('', 'one2one_'):
        if getattr(head, prefix + 'cv3', None) is None:
            continue
        boxes, scores, more = (last(getattr(head, prefix + part, None))
                               for part in ('cv2', 'cv3', 'cv4'))
        more = [layer for layer in more if hasattr(layer, 'weight')]
        watch = Watch(boxes + scores + more, run)
        for layer in boxes:
            spread(layer, watch.of(layer), *BOXES[head.reg_max])
        for layer in filter(watch.saw, more):
            spread(layer, watch.of(layer), 0.5, 0.0)
        raise_scores(scores, watch, WANTED)


def settle_rtdetr(head, run):
    """Tunes the scores of the 300 queries per picture, and moves boxes off their reference
    points."""
    scores = [head.dec_score_head[-1]]
    raise_scores(scores, Watch(scores, run), WANTED // 4)
    for layer in (mlp.layers[-1] for mlp in head.dec_bbox_head):
        torch.nn.init.normal_(layer.weight, std=0.05)


def build(name, paths):
    """Returns a model with random weights."""
    from ultralytics import RTDETR, YOLO
    torch.manual_seed(zlib.crc32(name.encode()))
    yaml = MODELS[name][0]
    model = (RTDETR if is_rtdetr(name) else YOLO)(yaml)
    if name in CLASSES:
        made = type(model.model)(yaml, nc=CLASSES[name], verbose=False)
        made.args, made.task = model.model.args, model.model.task
        model.model = made
    net = model.model.eval()
    net.names = {i: f'thing {i}' for i in range(len(net.names))}
    batch = picture_batch(paths, *size_of(name))

    def run():
        with torch.no_grad():
            net(batch)
    smooth(net)
    settle_norms(net, run)
    (settle_rtdetr if is_rtdetr(name) else settle_yolo)(net.model[-1], run)
    return model


def export(name, path, paths):
    """Writes the ONNX file."""
    model = build(name, paths)
    _, imgsz, options = MODELS[name]
    here = pathlib.Path.cwd()
    os.chdir(path.parent)
    try:
        made = model.export(format='onnx', imgsz=list(imgsz), verbose=False, device='cpu',
                            **options)
        if pathlib.Path(made).resolve() != path.resolve():
            shutil.move(made, path)
    finally:
        os.chdir(here)


def masks_of(result):
    if result.masks is None:
        return None
    return result.masks.data.numpy().astype(bool)


def expect(name, path, picture):
    """Returns the objects of predict(), and their masks as a bool array, or None. Pictures are
    scaled by pictures.scale(), not by OpenCV."""
    from ultralytics import RTDETR, YOLO
    task = {'seg': 'segment', 'pose': 'pose', 'obb': 'obb'}
    task = next((word for key, word in task.items() if f'-{key}' in name), 'detect')
    model = RTDETR(str(path)) if is_rtdetr(name) else YOLO(str(path), task=task)
    with mock.patch('cv2.resize', pictures.scale):
        result = model.predict(str(picture), conf=THRESHOLD, rect=False, verbose=False,
                               device='cpu', imgsz=list(MODELS[name][1]))[0]
    objects = []
    if result.obb is not None:
        for row in result.obb.data.tolist():
            x, y, w, h, angle, score, of = row
            objects.append({'oriented': [x, y, w, h, angle], 'score': score, 'class': int(of)})
        return objects, None
    for row in result.boxes.data.tolist():
        objects.append({'box': row[:4], 'score': row[4], 'class': int(row[5])})
    if result.keypoints is not None:
        for each, points in zip(objects, result.keypoints.data.tolist()):
            each['points'] = points
    return objects, masks_of(result)
