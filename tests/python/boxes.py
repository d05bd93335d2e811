#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the arrays of the Python package with what boxsink writes of the same clip."""
import json
import math

import numpy as np

from common import CLIP, CONFIDENCE, PIPELINES, boxsink, need_inference, same
from tap import main, run

import keepbox
import shapes
from keepbox._samples import attributes_of, boxes_of
from keepbox._gi import Gst


def frames_of(model):
    """Yields each frame of the clip with the objects that boxsink writes of it."""
    need_inference()
    detector = keepbox.Detector(PIPELINES / 'models' / model, confidence=CONFIDENCE)
    lines = boxsink(model, f'score-threshold={CONFIDENCE}')
    frames = list(detector(CLIP))
    assert len(frames) == len(lines) == 250, (len(frames), len(lines))
    objects = 0
    for frame, line in zip(frames, lines):
        assert (frame.index, round(frame.time * 1e9)) == (line['frame'], line['timestamp']), line
        assert frame.shape == (line['resolution']['height'], line['resolution']['width'])
        found = line.get('objects', [])
        assert len(frame.boxes) == len(found)
        objects += len(found)
        yield frame, found
    assert objects > 1000, objects


def column(objects, *names):
    """Returns a value of each object as boxsink wrote it: the digits of a float32."""
    def value(item):
        for name in names:
            item = item.get(name, 0)
        return item
    return np.array([value(each) for each in objects])


def test_boxes_are_those_of_boxsink(folder):
    del folder
    for frame, objects in frames_of('shapes.onnx'):
        boxes, count = frame.boxes, len(objects)
        ltwh = np.stack([column(objects, name) for name in 'xywh'], 1).astype(np.float32)
        same(boxes.ltwh, ltwh, np.float32, (count, 4))
        same(boxes.conf, column(objects, 'detection', 'confidence'), np.float32, (count,))
        same(boxes.cls, column(objects, 'detection', 'label_id'), np.int32, (count,))
        assert list(boxes.names) == [each['roi_type'] for each in objects]
        assert set(boxes.models) == {'shapes'}
        middle = ltwh[:, :2] + ltwh[:, 2:] / 2
        same(boxes.xywh, np.concatenate([middle, ltwh[:, 2:]], 1), np.float32, (count, 4))
        same(boxes.xyxy, np.concatenate([ltwh[:, :2], ltwh[:, :2] + ltwh[:, 2:]], 1), np.float32,
             (count, 4))
        assert not boxes.angles.any() and not boxes.held.any()
        assert boxes.ids is boxes.masks is boxes.keypoints is None


def test_masks_are_those_of_boxsink(folder):
    del folder
    for frame, objects in list(frames_of('shapes-seg.onnx'))[::25]:
        assert len(frame.boxes.masks) == len(objects) > 0
        for mask, each in zip(frame.boxes.masks, objects):
            wanted = each['mask']
            assert mask.pixels.dtype == bool
            assert np.array_equal(mask.pixels, shapes.unpacked(wanted['rle'], wanted['height'],
                                                               wanted['width']))
            same(np.array(mask.rect, np.float32), [wanted[name] for name in 'xywh'], np.float32,
                 (4,))
        whole = frame.boxes.masks_in_frame()
        assert whole.shape == (len(objects), 720, 1280) and whole.dtype == bool
        for pixels, (left, top, right, bottom) in zip(whole, frame.boxes.xyxy):
            rows, columns = np.nonzero(pixels)
            # a pixel of these masks is 16 pixels of the frame wide
            assert left - 16 <= columns.min() and columns.max() <= right + 16, (left, right)
            assert top - 16 <= rows.min() and rows.max() <= bottom + 16, (top, bottom)


def test_keypoints_are_those_of_boxsink(folder):
    del folder
    for frame, objects in frames_of('shapes-pose.onnx'):
        points = [each['keypoints']['points'] for each in objects]
        same(frame.boxes.keypoints, points, np.float32, (len(objects), 5, 3))


def test_oriented_boxes_are_those_of_boxsink(folder):
    del folder
    oriented = 0
    for frame, objects in frames_of('shapes-obb.onnx'):
        boxes = frame.boxes
        same(boxes.angles, column(objects, 'rotation'), np.float32, (len(objects),))
        same(boxes.obb, np.concatenate([boxes.xywh, boxes.angles[:, None]], 1), np.float32,
             (len(objects), 5))
        for corners, around, box in zip(boxes.corners, boxes.xyxy, boxes.obb):
            x, y, width, height, angle = box
            cos, sin = math.cos(angle), math.sin(angle)
            expected = [(x + (a * width * cos - b * height * sin) / 2,
                         y + (a * width * sin + b * height * cos) / 2)
                        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            assert np.abs(corners - expected).max() < 1e-3, (corners, expected)
            assert np.array_equal(around, [*corners.min(0), *corners.max(0)])
            oriented += angle != 0
    assert oriented > 1000, oriented


def test_text_of_frames_is_that_of_boxsink(folder):
    """Of a model that reads plates, on a part of the picture that is a whole frame for it."""
    del folder
    need_inference()
    line = (f'filesrc location={PIPELINES}/media/street.webm ! decodebin ! videoconvert '
            '! videocrop left=600 top=300 right=600 bottom=390 ! identity eos-after=3 '
            f'! tensorinfer model-file={PIPELINES}/models/world-plates.onnx input-std=255 '
            'resize-mode=stretch ! classdecode')
    out, _ = run('gst-launch-1.0', '-q', *f'{line} ! boxsink'.split())
    pipeline = Gst.parse_launch(f'{line} ! appsink name=sink sync=false')
    pipeline.set_state(Gst.State.PLAYING)
    assert len(out.splitlines()) == 2, out
    for text in out.splitlines():
        [written] = json.loads(text)['objects']
        found = attributes_of(pipeline.get_by_name('sink').emit('pull-sample'))
        assert list(found) == ['text'] and found['text'][0] == written['text']['label'], found
        assert found['text'][1] == np.float32(written['text']['confidence'])
    pipeline.set_state(Gst.State.NULL)


def test_embeddings_are_those_of_boxsink(folder):
    """Of vehicles, by the scores of a classifier that no element decodes."""
    del folder
    need_inference()
    line = (f'filesrc location={PIPELINES}/media/street.webm ! decodebin ! videoconvert '
            f'! identity eos-after=4 ! tensorinfer model-file={PIPELINES}/models/world-street.onnx '
            '! boxdecode score-threshold=0.5 ! tensorinfer regions=objects input-std=255 '
            f'include-classes=car,bus,truck model-file={PIPELINES}/models/world-vehicles.onnx ')
    out, _ = run('gst-launch-1.0', '-q',
                 *f'{line} ! boxsink add-tensor-data=true normalize=l2'.split())
    pipeline = Gst.parse_launch(f'{line} ! appsink name=sink sync=false')
    pipeline.set_state(Gst.State.PLAYING)
    count = 0
    for text in out.splitlines():
        objects = json.loads(text).get('objects', [])
        sample = pipeline.get_by_name('sink').emit('pull-sample')
        boxes = boxes_of(sample, (720, 1280))
        assert len(boxes) == len(objects)
        if boxes.embeddings is None:
            assert not any(each['tensors'] for each in objects)
            continue
        for each, row, tensors in zip(objects, boxes.embeddings, boxes.tensors):
            if not each['tensors']:
                assert np.isnan(row).all() and not tensors
                continue
            first = each['tensors'][0]
            assert first['layer_name'] in tensors and first['precision'] == 'FP32', first
            assert first['dims'] == [1, len(row)] and len(tensors) == len(each['tensors'])
            assert np.allclose(first['data'], row, atol=1e-6), (first, row)
            assert abs(np.linalg.norm(row) - 1) < 1e-5
            count += 1
    pipeline.set_state(Gst.State.NULL)
    assert count > 4, count


if __name__ == '__main__':
    main(globals())
