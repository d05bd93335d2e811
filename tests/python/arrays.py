#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the arrays of boxes by themselves: their selection, ids, parents, masks on the frame, and
tables of other packages."""
import sys
import types

import numpy as np

from common import CLIP, CONFIDENCE, MODEL, PIPELINES, need_inference, same
from tap import Skip, main, run

import gi
import keepbox

gi.require_version('GstAnalytics', '1.0')
from gi.repository import GLib, Gst, GstAnalytics  # noqa: E402

from keepbox._boxes import Boxes, Layout, Mask, _tensors_of  # noqa: E402
from keepbox._samples import attributes_of, boxes_of  # noqa: E402


def test_a_mask_covers_its_area_evenly(folder):
    del folder
    mask = Mask(np.array([[True, False], [False, True]]), (1., 2., 4., 2.))
    found = mask.in_frame((5, 6))
    expected = np.zeros((5, 6), bool)
    expected[2, 1:3] = expected[3, 3:5] = True
    assert np.array_equal(found, expected), found
    uneven = Mask(np.array([[True, False]]), (0., 0., 3., 1.)).in_frame((1, 3))
    assert uneven.tolist() == [[True, False, False]], 'the middle of a pixel decides'
    assert not Mask(np.ones((2, 2), bool), (-9., 0., 4., 4.)).in_frame((4, 4)).any()
    assert Mask(np.ones((2, 2), bool), (-2., -2., 4., 4.)).in_frame((4, 4))[:2, :2].all()


def test_selection(folder):
    del folder
    frame = keepbox.Detector(MODEL, confidence=CONFIDENCE).detect(CLIP)
    boxes = frame.boxes
    rings = boxes[boxes.names == 'ring']
    assert set(rings.names) == {'ring'} and 0 < len(rings) < len(boxes)
    assert np.array_equal(boxes[-1].conf, boxes.conf[-1:])
    assert np.array_equal(boxes[:3].xyxy, boxes.xyxy[:3])
    assert np.array_equal(boxes[[2, 0]].names, boxes.names[[2, 0]])
    assert [len(each) for each in boxes] == [1] * len(boxes)
    assert f'ring {rings.conf[0]:.2f}' in repr(rings), rings
    try:
        boxes[len(boxes)]
    except IndexError:
        return
    raise AssertionError('an index beyond the end')


def sample_with(*ids):
    """Returns a sample with an upright box for each tracking id, or without one for None."""
    buffer = Gst.Buffer.new_allocate(None, 64 * 64 * 3, None)
    meta = GstAnalytics.buffer_add_analytics_relation_meta(buffer)
    for number in ids:
        _, box = meta.add_od_mtd(GLib.quark_from_string('cat'), 1, 2, 3, 4, .5)
        if number is not None:
            _, track = meta.add_tracking_mtd(number, 0)
            meta.set_relation(GstAnalytics.RelTypes.RELATE_TO, box.id, track.id)
    caps = Gst.Caps.from_string('video/x-raw,format=RGB,width=64,height=64')
    return Gst.Sample.new(buffer, caps, None, None)


def test_ids_of_a_tracker(folder):
    del folder
    boxes = boxes_of(sample_with(7, None, 2 ** 40), (64, 64))
    same(boxes.ids, [7, -1, 2 ** 40], np.int64, (3,))
    same(boxes.cls, [-1] * 3, np.int32, (3,))
    assert list(boxes.models) == [''] * 3
    assert boxes_of(sample_with(None), (64, 64)).ids is None
    same(boxes_of(sample_with(None), (64, 64), Layout(tracked=True)).ids, [-1], np.int64, (1,))
    huge = boxes_of(sample_with(2 ** 63 + 5), (64, 64)).ids
    assert huge.tolist() == [5 - 2 ** 63], huge


def test_parts_have_the_index_of_their_parent(folder):
    del folder
    sample = sample_with(None, None, None)
    meta = GstAnalytics.buffer_get_analytics_relation_meta(sample.get_buffer())
    meta.set_relation(GstAnalytics.RelTypes.IS_PART_OF, 0, 2)
    boxes = boxes_of(sample, (64, 64))
    same(boxes.parents, [2, -1, -1], np.int64, (3,))
    same(boxes[[2, 0]].parents, [-1, 2], np.int64, (2,))
    assert boxes.embeddings is None and boxes.tensors == [{}] * 3


def test_frames_have_attributes(folder):
    """Those of another element's classification; an element without a label is no attribute."""
    del folder
    sample = sample_with(None)
    assert attributes_of(sample) == {}
    meta = GstAnalytics.buffer_get_analytics_relation_meta(sample.get_buffer())
    meta.add_one_cls_mtd(.5, GLib.quark_from_string('street'))
    assert attributes_of(sample) == {'': ('street', .5)}, attributes_of(sample)
    assert boxes_of(sample, (64, 64)).attributes == [{}]


def test_tensors_of_one_name_are_keyed_by_model(folder):
    del folder
    found = [([1], 'out', 'a'), ([2], 'out', None), ([3], 'more', 'a'), ([4], None, 'a')]
    box = types.SimpleNamespace(get_n_tensors=lambda: len(found), get_tensor=found.__getitem__)
    tensors = {name: values.tolist() for name, values in _tensors_of(box).items()}
    assert tensors == {'a/out': [1], '/out': [2], 'more': [3], '': [4]}, tensors


def test_no_boxes(folder):
    del folder
    boxes = Boxes([], (720, 1280))
    for array, shape in ((boxes.xyxy, (0, 4)), (boxes.xywh, (0, 4)), (boxes.obb, (0, 5)),
                         (boxes.corners, (0, 4, 2)), (boxes.conf, (0,)), (boxes.cls, (0,)),
                         (boxes.names, (0,)), (boxes.masks_in_frame(), (0, 720, 1280))):
        assert array.shape == shape, (array, shape)
    assert boxes.masks is boxes.keypoints is boxes.ids is None and not boxes


def test_frames_without_boxes_have_what_the_model_has(folder):
    del folder
    need_inference()
    black = np.zeros((48, 64, 3), np.uint8)
    for model, points, masks in (('shapes', None, None), ('shapes-pose', (0, 5, 3), None),
                                 ('shapes-seg', None, [])):
        path = PIPELINES / f'models/{model}.onnx'
        boxes = keepbox.Detector(path).detect(black).boxes
        assert boxes.ids is None and len(boxes) == 0 and boxes.masks == masks, model
        assert (boxes.keypoints is None) == (points is None), model
        assert points is None or boxes.keypoints.shape == points
        tracked = keepbox.Detector(path, tracker='boxtrack').detect(black).boxes
        same(tracked.ids, [], np.int64, (0,))
        for each in tracked.ids, tracked[:0].ids, boxes.xyxy:
            assert not list(each)
    empty = Boxes([], (64, 64), Layout(embedding=128))
    same(empty.embeddings, [], np.float32, (0, 128))


def test_skipped_frames(folder):
    """As boxsink marks them; held and predicted boxes are on frames that have them."""
    del folder
    need_inference()
    expected = [index % 3 != 0 for index in range(7)]
    for settings in {}, {'tracker': 'boxtrack'}, {'tracker': 'boxtrack predict=true'}:
        detect = keepbox.Detector(MODEL, confidence=CONFIDENCE, interval=3, **settings)
        frames = [frame for frame, _ in zip(detect(CLIP), range(7))]
        assert [frame.skipped for frame in frames] == expected, settings
        predicted = [frame.boxes.predicted.all() and len(frame.boxes) > 0 for frame in frames]
        assert predicted == ([False] * 7 if 'predict' not in str(settings) else expected), settings
    assert not any(frame.skipped for frame, _ in zip(keepbox.Detector(MODEL)(CLIP), range(7)))


def test_boxes_that_are_held(folder):
    del folder
    need_inference()
    detector = keepbox.Detector(MODEL, interval=3, hold=True)
    for frame, _ in zip(detector(CLIP), range(7)):
        assert set(frame.boxes.held) == {frame.index % 3 != 0}, frame.index


def test_a_tracker_in_the_pipeline(folder):
    del folder
    need_inference()
    if Gst.ElementFactory.find('ioutracker') is None:
        raise Skip('no ioutracker, which GStreamer has from 1.28 on')
    detector = keepbox.Detector(MODEL, confidence=CONFIDENCE, tracker='ioutracker')
    ids = [frame.boxes.ids for frame, _ in zip(detector(CLIP), range(10))]
    assert set(ids[1]) == set(ids[2]) and len(set(ids[2])) == len(ids[2]) > 5, ids


def test_tables_of_pandas(folder):
    del folder
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise Skip('no pandas') from error
    frame = keepbox.Detector(MODEL, confidence=CONFIDENCE).detect(CLIP)
    table = frame.to_pandas()
    assert len(table) == len(frame.boxes)
    assert set(table.frame) == {0} and set(table.timestamp) == {0}
    assert np.array_equal(table[['x1', 'y1', 'x2', 'y2']].to_numpy(), frame.boxes.xyxy)
    assert list(table.label) == list(frame.boxes.names) and set(table.path) == {str(CLIP)}
    assert table.tracking_id.isna().all() and str(table.tracking_id.dtype) == 'Int64'
    assert not table.held.any() and not table.predicted.any() and not table.skipped.any()
    assert not len(keepbox.Detector(MODEL).detect(np.zeros((9, 9, 3), np.uint8)).to_pandas())


def test_tables_of_frames(folder):
    """The columns of CSV, with the same types on frames with boxes and without, and a row for each
    frame if asked for."""
    try:
        import pandas
    except ImportError as error:
        raise Skip('no pandas') from error
    detect = keepbox.Detector(MODEL, confidence=CONFIDENCE, interval=3, tracker='boxtrack')
    frames = [frame for frame, _ in zip(detect(CLIP), range(9))]
    for empty in False, True:
        tables = [frame.to_pandas(empty=empty) for frame in frames]
        table = pandas.concat(tables)
        for each in tables:
            assert dict(each.dtypes) == dict(table.dtypes), (each.dtypes, table.dtypes)
        looked = [index for index in range(9) if index % 3 == 0]
        assert sorted(set(table.frame)) == (list(range(9)) if empty else looked)
        assert set(table.frame[table.skipped]) == (set(range(9)) - set(looked) if empty else set())
        boxes = table.dropna(subset='score')
        assert len(boxes) == sum(len(frame.boxes) for frame in frames) > 20
        assert list(boxes.tracking_id.fillna(-1)) == [number for frame in frames if len(frame.boxes)
                                                      for number in frame.boxes.ids]
    run('bash', '-c', f'gst-launch-1.0 -q filesrc location={CLIP} ! decodebin3 ! videoconvert'
        f' ! identity eos-after=2 ! tensorinfer model-file={MODEL} ! boxdecode'
        f' ! boxsink format=csv location={folder}/boxes.csv')
    written = pandas.read_csv(folder / 'boxes.csv', dtype={'tracking_id': 'Int64'})
    assert list(table.columns)[:len(written.columns)] == list(written.columns), table.columns
    assert written.tracking_id.isna().all(), 'a box without an id has none in CSV, too'


def test_detections_of_supervision(folder):
    """With a stand-in for supervision where it is not installed: what it is called with."""
    del folder
    try:
        import supervision
    except ImportError:
        supervision = types.ModuleType('supervision')
        supervision.Detections = types.SimpleNamespace
        sys.modules['supervision'] = supervision
    for model in 'shapes-seg.onnx', 'shapes-obb.onnx':
        frame = keepbox.Detector(PIPELINES / 'models' / model, confidence=CONFIDENCE).detect(CLIP)
        found, boxes = frame.to_supervision(), frame.boxes
        assert np.array_equal(found.xyxy, boxes.xyxy) and np.array_equal(found.class_id, boxes.cls)
        assert np.array_equal(found.confidence, boxes.conf) and found.tracker_id is None
        assert np.array_equal(found.data['class_name'], boxes.names)
        assert (found.mask is not None) == ('seg' in model)
        assert ('xyxyxyxy' in found.data) == ('obb' in model)


if __name__ == '__main__':
    main(globals())
