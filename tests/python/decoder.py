#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the boxes of keepbox.Decoder with those of boxdecode for the same tensors, and tests the
arrays that it takes, its options and its errors."""
import importlib.util
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from capsules import Exported
from common import fails, same, warned
from tap import PIPELINES, Skip, main

import keepbox
from keepbox import compat

MEDIA = PIPELINES / 'media'
LABELS = PIPELINES / 'models/shapes.labels'
SHAPES = ['circle', 'square', 'triangle', 'star', 'cross', 'ring']
SEGMENTS = {'shapes-seg': (26, 2100), 'shapes-seg-protos': (16, 80, 80)}
SCALED = dict(resize_mode='letterbox-center', size=(320, 320), frame=(1280, 720))


def recorded(name, *shape):
    """Returns the tensors of a recording, (frames, 1, ...)."""
    return np.fromfile(MEDIA / f'{name}.f16.raw', np.float16).reshape(-1, 1, *shape)


def clip():
    return recorded('shapes-tensors', 10, 2100)


def replayed(recordings, properties='', source=''):
    """Returns the boxes of boxdecode for recordings, a Boxes for each frame."""
    from keepbox._samples import boxes_of
    from keepbox._gi import Gst, GstVideo
    parts = [f'tensorreplay location={MEDIA}/{name}.f16.raw type=float16'
             f' dims={",".join(map(str, (1, *shape)))}' for name, shape in recordings.items()]
    line = ' ! '.join([*([source] if source else []), *parts, f'boxdecode {properties}',
                       'appsink name=sink sync=false'])
    pipeline, out = Gst.parse_launch(line), []
    pipeline.set_state(Gst.State.PLAYING)
    while sample := pipeline.get_by_name('sink').emit('pull-sample'):
        info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        out.append(boxes_of(sample, (info.height, info.width)))
    pipeline.set_state(Gst.State.NULL)
    return out


def assert_equal(found, wanted):
    """Checks that boxes have the same bits."""
    for name in 'ltwh', 'xyxy', 'conf', 'cls', 'angles', 'names', 'corners':
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    assert (found.keypoints is None) == (wanted.keypoints is None)
    if found.keypoints is not None:
        assert np.array_equal(found.keypoints, wanted.keypoints, equal_nan=True)
    assert (found.masks is None) == (wanted.masks is None)
    for ours, theirs in zip(found.masks or [], wanted.masks or []):
        assert (ours is None) == (theirs is None), (ours, theirs)
        if ours is not None:
            assert ours.rect == theirs.rect, (ours.rect, theirs.rect)
            assert np.array_equal(ours.pixels, theirs.pixels)


def test_boxes_are_those_of_the_element(folder):
    del folder
    decode = keepbox.Decoder('yolov8', score_threshold=.3, label_file=LABELS)
    wanted = replayed({'shapes-tensors': (10, 2100)}, f'score-threshold=0.3 label-file={LABELS}')
    assert len(wanted) == 21 and sum(map(len, wanted)) > 150, wanted
    for tensor, boxes in zip(clip(), wanted):
        assert_equal(decode(tensor), boxes)
        assert_equal(decode(tensor.astype(np.float32)), boxes)
    assert_equal(decode(clip()[0])[:2], wanted[0][:2])


def test_boxes_on_another_frame(folder):
    del folder
    source = 'videotestsrc num-buffers=21 ! video/x-raw,width=1280,height=720'
    wanted = replayed({'shapes-tensors': (10, 2100)},
                      'resize-mode=letterbox-center model-size=320x320 nms-contract=ultralytics'
                      ' iou-threshold=0.7', source)
    decode = keepbox.Decoder(iou_threshold=.7, nms_contract='ultralytics', **SCALED)
    assert sum(map(len, wanted)) > 150
    for tensor, boxes in zip(clip(), wanted):
        assert_equal(decode(tensor), boxes)


def test_keypoints_masks_and_angles_are_those_of_the_element(folder):
    del folder
    properties = 'score-threshold=0.55 iou-threshold=0.3'
    options = {'score_threshold': .55, 'iou_threshold': .3}
    pose = dict(num_classes=6)
    cases = [({'shapes-obb': (11, 2100)}, 'detector=yolov8-obb', dict(detector='yolov8-obb')),
             ({'shapes-pose': (25, 2100)}, 'detector=yolov8-pose num-classes=6',
              dict(detector='yolov8-pose', **pose)),
             (SEGMENTS, '', {}), (SEGMENTS, 'mask-size=frame', dict(mask_size='frame')),
             (SEGMENTS, 'mask-size=none', dict(mask_size='none'))]
    for recordings, more, given in cases:
        boxes, = replayed(recordings, f'{properties} {more}')
        assert len(boxes) > 4, recordings
        decode = keepbox.Decoder(**options, **given)
        found = decode([recorded(name, *shape)[0] for name, shape in recordings.items()])
        assert_equal(found, boxes)
        if found.masks:
            assert np.array_equal(
                keepbox.Decoder(**options, **given, frame=(320, 320), size=(320, 320))(
                    [recorded(name, *shape)[0] for name, shape in recordings.items()]
                ).masks_in_frame(), boxes.masks_in_frame())


def test_arrays_of_any_layout(folder):
    del folder
    tensor = clip()[3].astype(np.float32)
    decode = keepbox.Decoder('yolov8', **SCALED)
    wanted = decode(tensor)
    assert len(wanted) > 5
    wide = np.zeros((1, 12, 4200), np.float32)
    wide[:, 1:11, ::2] = tensor
    for each in (np.asfortranarray(tensor), wide[:, 1:11, ::2], tensor[:, ::-1].copy()[:, ::-1],
                 tensor[:, :, ::-1].copy()[:, :, ::-1],
                 tensor.transpose(2, 1, 0).copy().transpose(),
                 tensor.astype(np.float64), Exported(tensor), Exported(tensor, dense=True),
                 Exported(tensor, offset=400), Exported(wide[:, 1:11, ::2]),
                 Exported(np.asfortranarray(tensor)), Exported(tensor, device_type=3),
                 Exported(tensor[:, ::-1].copy()[:, ::-1])):
        assert_equal(decode(each), wanted)
    written = tensor.copy()
    written.flags.writeable = False
    assert_equal(decode(written), wanted)
    one = np.full((1, 10, 2100), np.float32(.5))
    assert_equal(decode(np.broadcast_to(np.float32(.5), (1, 10, 2100))), decode(one))
    assert_equal(decode(tensor[0]), wanted)


def test_values_of_onnx_runtime(folder):
    del folder
    if importlib.util.find_spec('onnxruntime') is None:
        raise Skip('no ONNX Runtime for Python')
    import onnxruntime
    tensor = clip()[3].astype(np.float32)
    decode = keepbox.Decoder('yolov8')
    value = onnxruntime.OrtValue.ortvalue_from_numpy(tensor)
    assert_equal(decode(value), decode(tensor))


def test_quantised_integers(folder):
    del folder
    tensor = clip()[3].astype(np.float32)
    stored = np.round(tensor * 64).astype(np.int16) - np.int16(9000)
    decode = keepbox.Decoder('yolov8', quantization=(1 / 64, -9000), size=(320, 320))
    real = np.round(tensor * 64) / 64
    boxes = decode(stored)
    assert_equal(boxes, keepbox.Decoder('yolov8', size=(320, 320))(real))
    assert len(boxes) > 5
    by_name = keepbox.Decoder('yolov8', quantization={'output0': (1 / 64, -9000)}, size=(320, 320))
    assert_equal(by_name({'output0': stored}), boxes)


def test_warnings(folder):
    del folder
    logits = clip()[0].astype(np.float32)
    logits[:, 4:] = logits[:, 4:] * 20 - 10
    decode = keepbox.Decoder('yolov8', size=(320, 320))
    _, found = warned(lambda: [decode(logits) for _ in range(3)])
    assert [each.category for each in found] == [keepbox.ElementWarning], found
    assert 'expected scores in 0..1' in str(found[0].message) and found[0].filename == __file__


def test_a_batch(folder):
    del folder
    tensors = clip()[:, 0]
    decode = keepbox.Decoder('yolov8', size=(320, 320))
    found = decode(tensors)
    assert isinstance(found, list) and len(found) == 21
    for boxes, tensor in zip(found, tensors):
        assert_equal(boxes, decode(tensor[None]))
    one = decode.batch(tensors[:1])
    assert isinstance(one, list) and len(one) == 1
    decode(tensors)
    assert [each['kept'] for each in decode.funnel] == [len(each) for each in found]


def test_frames_of_a_batch(folder):
    del folder
    tensors = clip()[:3, 0]
    sizes = [(1280, 720), (640, 640), (320, 200)]
    decode = keepbox.Decoder('yolov8', **SCALED)
    found = decode(tensors, frames=sizes)
    for boxes, tensor, size in zip(found, tensors, sizes):
        assert_equal(boxes, keepbox.Decoder('yolov8', **{**SCALED, 'frame': size})(tensor[None]))
    own = decode(tensors, frames=[(320, 320, 1, 1, 0, 0), (320, 320, 2, 2, 0, 0),
                                  (320, 320, 1, 1, -100, 0)])
    plain = keepbox.Decoder('yolov8', size=(320, 320))(tensors)
    assert_equal(own[0], plain[0])
    inner = own[1].xyxy[(own[1].xyxy < 320).all(1)]
    assert len(inner) and all((np.abs(plain[1].xyxy * 2 - box).max(1) < 1e-3).any()
                              for box in inner)
    assert (own[2].xyxy[:, 0] >= 100).all()
    one = decode(tensors[:1], frames=sizes[:1])
    assert isinstance(one, list) and len(one) == 1
    fails(ValueError, 'a frame must be (width, height)',
          lambda: decode(tensors, frames=[(1, 2, 3)] * 3))


def test_outputs_by_name(folder):
    del folder
    tensors = {name: recorded(name, *shape)[0] for name, shape in SEGMENTS.items()}
    first, second = tensors.values()
    decode = keepbox.Decoder(score_threshold=.55)
    wanted = decode(first, second)
    assert wanted.masks
    assert_equal(decode(second, first), wanted)
    assert_equal(decode((first, second)), wanted)
    assert_equal(decode({'output0': first, 'output1': second}), wanted)
    named = keepbox.Decoder(score_threshold=.55, detector='yolov8',
                            tensor_ids=['wanted'], num_classes=6)
    plain = clip()[0]
    assert_equal(named({'other': first, 'wanted': plain}), keepbox.Decoder(
        'yolov8', score_threshold=.55)(plain))


def test_options(folder):
    tensor = clip()[0]
    names = keepbox.Decoder('yolov8', names=SHAPES)(tensor).names
    assert len(set(names)) > 2 and set(names) <= set(SHAPES)
    assert np.array_equal(keepbox.Decoder('yolov8', names=dict(enumerate(SHAPES)))(tensor).names,
                          names)
    some = keepbox.Decoder('yolov8', names=SHAPES, include_classes=['ring', 3])(tensor)
    assert set(some.names) == {'ring', 'star'}
    picky = keepbox.Decoder('yolov8', names=SHAPES, class_thresholds={'ring': .99, 3: .98})(tensor)
    assert 'ring' not in picky.names and len(picky)
    assert len(keepbox.Decoder('yolov8', min_size=(40, 40))(tensor)) < len(names)
    assert len(keepbox.Decoder('yolov8', regions=[(0, 0, .5, 1)])(tensor)) < len(names)
    assert set(keepbox.Decoder('yolov8')(tensor).names) <= {f'class-{n}' for n in range(6)}
    own = folder / 'own with blanks.detector'
    own.write_text('[detector]\nbase=yolov8\nlabel-file=my own.labels\n')
    (folder / 'my own.labels').write_text('\n'.join(SHAPES))
    assert np.array_equal(keepbox.Decoder(own)(tensor).names, names)
    assert 'score-threshold' in keepbox.Decoder.options()
    assert set(keepbox.Decoder('yolov8')(tensor).models) == {''}


def test_changes(folder):
    del folder
    tensor = clip()[0]
    decode = keepbox.Decoder('yolov8', names=SHAPES)
    before = decode(tensor)
    decode.set(score_threshold=.9)
    few = decode(tensor)
    assert 0 < len(few) < len(before) and few.conf.min() > .9
    fails(ValueError, 'nosuch', lambda: decode.set(score_threshold=.1, nms_contract='nosuch'))
    assert_equal(decode(tensor), few)
    decode.set(score_threshold=.25, include_classes='ring')
    assert set(decode(tensor).names) == {'ring'}
    decode.set(include_classes=None)
    assert_equal(decode(tensor), before)
    decode.set(names=None)
    assert set(decode(tensor).names) <= {f'class-{number}' for number in range(6)}


def test_what_it_counts_and_assumes(folder):
    del folder
    decode = keepbox.Decoder(score_threshold=.3)
    assert decode.funnel == [] and decode.remark == ''
    boxes = decode(clip()[0])
    funnel = decode.funnel
    assert funnel['anchors'] == 2100 and funnel['kept'] == len(boxes) <= funnel['after_top_k']
    assert isinstance(decode.remark, str)
    decode.set(score_threshold=.9)
    assert decode.funnel == funnel, 'of the last call'


def test_boxes_outlive_the_decoder(folder):
    del folder
    decode = keepbox.Decoder(score_threshold=.55)
    tensors = [recorded(name, *shape)[0] for name, shape in SEGMENTS.items()]
    boxes = decode(tensors)
    copy = pickle.loads(pickle.dumps(boxes))
    pixels = [mask.pixels.copy() for mask in boxes.masks]
    decode([np.zeros_like(each) for each in tensors])
    del decode
    assert_equal(copy, boxes)
    assert all(np.array_equal(mask.pixels, each) for mask, each in zip(boxes.masks, pixels))
    assert boxes.ids is None and not boxes.held.any() and set(boxes.parents) == {-1}
    assert boxes.attributes == [{}] * len(boxes) and boxes.embeddings is None


def test_boxes_are_read_without_gstreamer(folder):
    boxes = keepbox.Decoder('yolov8')(clip()[0])
    (folder / 'boxes').write_bytes(pickle.dumps(boxes))
    out = subprocess.run([sys.executable, '-c', f'''
import sys
sys.modules['gi'] = None
import pickle
import keepbox
import numpy as np
boxes = pickle.load(open({str(folder / 'boxes')!r}, 'rb'))
tensor = np.fromfile({str(MEDIA / 'shapes-tensors.f16.raw')!r}, np.float16)[:21000]
found = keepbox.Decoder('yolov8')(tensor.reshape(1, 10, 2100))
print(np.array_equal(found.xyxy, boxes.xyxy), len(found))
'''], capture_output=True, text=True, check=True).stdout
    assert out == f'True {len(boxes)}\n', out


def test_threads(folder):
    del folder
    decode = keepbox.Decoder('yolov8', **SCALED)
    tensors = clip()
    wanted = [decode(each).xyxy for each in tensors]

    def wrong_from(first):
        each = [(first + step) % len(tensors) for step in range(100)]
        return [index for index in each
                if not np.array_equal(decode(tensors[index]).xyxy, wanted[index])]
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(wrong_from, range(0, 20, 5)))


def test_errors(folder):
    tensor = clip()[0]
    decode = keepbox.Decoder('yolov8')
    fails(TypeError, 'did you mean score_threshold?', lambda: keepbox.Decoder(scorethreshold=.3))
    fails(TypeError, 'did you mean score_threshold?', lambda: keepbox.Decoder(conf=.3))
    fails(TypeError, 'did you mean size?', lambda: keepbox.Decoder(model_size=(640, 640)))
    fails(ValueError, 'nosuch', lambda: keepbox.Decoder('nosuch'))
    fails(ValueError, 'nosuch', lambda: keepbox.Decoder(nms_contract='nosuch'))
    fails(keepbox.Error, 'nosuch.labels',
          lambda: keepbox.Decoder('yolov8', label_file=folder / 'nosuch.labels')(tensor))
    fails(ValueError, 'double quotes', lambda: keepbox.Decoder(label_file='a"b'))
    fails(ValueError, 'expected', lambda: keepbox.Decoder('yolov8-seg')(tensor))
    fails(ValueError, 'model-size', lambda: decode(np.zeros((1, 9, 5), np.float32)))
    fails(ValueError, 'no output', lambda: decode())
    fails(ValueError, 'no output', lambda: decode([]))
    fails(ValueError, 'bool', lambda: decode(tensor > 0))
    fails(ValueError, 'complex', lambda: decode(tensor.astype(complex)))
    fails(ValueError, 'dimensions', lambda: decode(np.zeros((1,) * 9, np.float32)))
    fails(ValueError, 'DLPack device 8', lambda: decode(Exported(tensor, device_type=8)))
    fails(ValueError, 'DLPack type 5', lambda: decode(Exported(tensor, kind=5)))
    fails(ValueError, 'on a CUDA device', lambda: decode.enqueue(tensor))
    unknown = keepbox.Decoder()
    unknown(tensor)
    assert_equal(decode(tensor), keepbox.Decoder('yolov8')(tensor))


def test_a_missing_library(folder):
    out = subprocess.run([sys.executable, '-c', f'''
import os
os.environ['KEEPBOX_DECODE_LIBRARY'] = {str(folder / 'nosuch.so')!r}
import keepbox
try:
    keepbox.Decoder('yolov8')
except ImportError as error:
    print(error)
'''], capture_output=True, text=True, check=True).stdout
    assert 'nosuch.so' in out and 'libkeepbox-decode0' in out, out


def test_name_of_ultralytics(folder):
    """non_max_suppression() has the decoder's boxes, but does not clip them."""
    del folder
    tensors = clip()[:4, 0].astype(np.float32)
    tensors[0, 0] += 40  # over the border
    found, columns = compat.non_max_suppression(tensors, .3, .7, return_idxs=True)
    decode = keepbox.Decoder('yolov8', score_threshold=.3, iou_threshold=.7, size=(320, 320),
                             nms_contract='ultralytics')
    out = 0
    for rows, index, tensor in zip(found, columns, tensors):
        boxes, = decode.batch(tensor[None])
        same(rows[:, 4], boxes.conf, np.float32, (len(boxes),))
        assert np.array_equal(rows[:, 5], boxes.cls)
        assert np.abs(np.clip(rows[:, :4], 0, 320) - boxes.xyxy).max() < 1e-4
        assert np.array_equal(tensor[4:, index].max(0), rows[:, 4])
        out += (rows[:, 2] > 320).sum()
    assert out, 'boxes over the border'
    rings = compat.non_max_suppression(tensors, .3, classes=[5])
    assert all(set(rows[:, 5]) <= {5} for rows in rings) and sum(map(len, rings))
    assert not any(map(len, compat.non_max_suppression(tensors, .3, classes=[])))
    pose = recorded('shapes-pose', 25, 2100)[0].astype(np.float32)
    rows, = compat.non_max_suppression(pose, .3, nc=6)
    assert rows.shape[1] == 6 + 15 and len(rows) > 4
    turned, = compat.non_max_suppression(recorded('shapes-obb', 11, 2100)[0], .3, rotated=True)
    assert turned.shape[1] == 7 and turned[:, 6].any()
    ends = np.array([[[1, 2, 3, 4, .9, 0], [1, 2, 3, 4, .2, 1], [1, 2, 3, 4, .8, 2]]], np.float32)
    rows, = compat.non_max_suppression(ends, .5)
    assert np.array_equal(rows, ends[0, [0, 2]])
    rows, = compat.non_max_suppression(ends, .5, classes=[2, 3])
    assert np.array_equal(rows, ends[0, [2]])
    fails(ValueError, 'max_nms', lambda: compat.non_max_suppression(tensors, max_nms=5))


if __name__ == '__main__':
    main(globals())
