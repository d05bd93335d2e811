#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests gi.repository.Keepbox as used by a Python application."""
import contextlib
import gc
import io
import sys

import gi
import numpy as np

from tap import PIPELINES, SOURCE, blocks_of, main, need_inference, run

gi.require_version('Gst', '1.0')
gi.require_version('GstAnalytics', '1.0')
gi.require_version('GstApp', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('Keepbox', '1.0')
from gi.repository import GLib, Gst, GstAnalytics, GstApp, GstVideo, Keepbox  # noqa: E402

sys.path.insert(0, str(PIPELINES))
import boxes as reader  # noqa: E402
import detect  # noqa: E402

ROW = np.array([10.25, 20.5, 50, 60, .75, 7], np.float32)


def describe():
    return Keepbox.TensorInfo.new('yolo-26-end2end-out', GstAnalytics.TensorDataType.FLOAT32,
                                  [1, 1, 6])


def new_frame():
    frame = Gst.Buffer.new_allocate(None, 64 * 64 * 3, None)
    frame.pts = 0
    return frame


def refused(word, function, *args):
    try:
        function(*args)
    except GLib.Error as error:
        assert error.domain == 'gst-resource-error-quark', error.domain
        assert 'expected' in error.message and word in error.message, error.message
        return
    raise AssertionError(f'{word}: no error')


def decode(frame):
    """Returns the boxes of a frame after boxdecode, read after the frame is gone. Not with appsrc,
    which before GStreamer 1.27 loses the tensors of frames that Python also holds."""
    line = Gst.parse_bin_from_description(
        'boxdecode model-name=rows ! appsink name=boxes async=false sync=false', True)
    pad, segment = Gst.Pad.new('src', Gst.PadDirection.SRC), Gst.Segment()
    caps = Gst.Caps.from_string('video/x-raw,format=RGB,width=64,height=64,framerate=25/1')
    segment.init(Gst.Format.TIME)
    line.set_state(Gst.State.PLAYING)
    pad.set_active(True)
    pad.link(line.get_static_pad('sink'))
    for event in (Gst.Event.new_stream_start('rows'), Gst.Event.new_caps(caps),
                  Gst.Event.new_segment(segment)):
        pad.push_event(event)
    pushed = pad.push(frame)
    assert pushed == Gst.FlowReturn.OK, pushed
    boxes = Keepbox.buffer_get_boxes(line.get_by_name('boxes').pull_sample().get_buffer())
    line.set_state(Gst.State.NULL)
    return boxes


def check(boxes):
    box, = boxes
    assert tuple(box.get_rect()) == (10.25, 20.5, 39.75, 39.5), box.get_rect()
    assert (box.get_score(), box.get_angle()) == (.75, 0)
    assert (box.get_class_id(), box.get_anchor(), box.get_od_id()) == (7, 0, 0)
    assert (box.get_label(), box.get_model()) == ('class-7', 'rows')
    assert tuple(box.get_tracking_id()) == (False, 0)


def test_tensors_as_bytes(folder):
    frame = new_frame()
    assert Keepbox.buffer_add_tensor_bytes(frame, describe(), GLib.Bytes.new(ROW.tobytes()))
    boxes = decode(frame)
    del frame
    check(boxes)


def test_tensors_where_they_lie(folder):
    numbers, given_back = ROW.copy(), []
    before = sys.getrefcount(numbers)
    frame = new_frame()
    Keepbox.buffer_add_tensor(frame, describe(), numbers.ctypes.data, numbers.nbytes,
                              lambda numbers: given_back.append(numbers.nbytes), numbers)
    assert sys.getrefcount(numbers) == before + 1 and not given_back
    boxes = decode(frame)
    del frame
    gc.collect()
    assert given_back == [24] and sys.getrefcount(numbers) == before, given_back
    check(boxes)


def test_batches(folder):
    numbers, given_back = np.stack([ROW] * 3), []
    numbers[1, 5] = 8
    info = Keepbox.TensorInfo.new('yolo-26-end2end-out', GstAnalytics.TensorDataType.FLOAT32,
                                  [3, 1, 6])
    frames = [new_frame() for _ in numbers]
    args = info, numbers.ctypes.data, numbers.nbytes, given_back.append, len(numbers)
    refused('first dimension of 2', Keepbox.buffers_add_tensor, frames[:2], *args)
    refused('at least one buffer', Keepbox.buffers_add_tensor, [], *args)
    refused('different buffers', Keepbox.buffers_add_tensor, frames[:1] * 3, *args)
    assert Keepbox.buffers_add_tensor(frames, *args)
    boxes = [decode(frame) for frame in frames]
    del frames
    gc.collect()
    assert given_back == [3], given_back
    check(boxes[0])
    check(boxes[2])
    assert boxes[1][0].get_class_id() == 8, boxes[1][0].get_class_id()


def test_boxes_with_a_tracker(folder):
    frame = new_frame()
    meta = GstAnalytics.buffer_add_analytics_relation_meta(frame)
    _, box = meta.add_od_mtd(GLib.quark_from_string('cat'), 1, 2, 3, 4, .5)
    _, track = meta.add_tracking_mtd(2 ** 63, 0)
    meta.set_relation(GstAnalytics.RelTypes.RELATE_TO, box.id, track.id)
    found, = Keepbox.buffer_get_boxes(frame)
    assert tuple(found.get_rect()) == (1, 2, 3, 4) and found.get_label() == 'cat'
    assert tuple(found.get_tracking_id()) == (True, 2 ** 63), found.get_tracking_id()
    assert reader.words(found) == '- -1 cat 0.500  3.00 x 4.00 at 1.00, 2.00  #9223372036854775808'
    assert found.get_class_id() == found.get_anchor() == -1 and found.get_model() is None
    assert Keepbox.buffer_get_boxes(new_frame()) == []


def test_boxes_with_masks(folder):
    frame = new_frame()
    meta = GstAnalytics.buffer_add_analytics_relation_meta(frame)
    _, box = meta.add_od_mtd(GLib.quark_from_string('cat'), 1, 2, 3, 4, .5)
    mask = Gst.Buffer.new_wrapped(bytes([1, 0, 9, 9, 0, 1, 9, 9]))
    GstVideo.buffer_add_video_meta(mask, GstVideo.VideoFrameFlags.NONE,
                                   GstVideo.VideoFormat.GRAY8, 2, 2)
    _, seen = meta.add_segmentation_mtd(mask, GstAnalytics.SegmentationType.INSTANCE, [0, 1],
                                        5, 6, 7, 8)
    meta.set_relation(GstAnalytics.RelTypes.RELATE_TO, box.id, seen.id)
    found, = Keepbox.buffer_get_boxes(frame)
    del frame, meta
    pixels, width, height = found.get_mask()
    assert (pixels.get_data(), width, height) == (bytes([1, 0, 0, 1]), 2, 2), pixels.get_data()
    assert tuple(found.get_mask_rect()) == (True, 5, 6, 7, 8), found.get_mask_rect()
    assert not found.get_points() and not found.get_edges() and found.get_points_name() is None


def test_boxes_live_by_themselves(folder):
    frame = new_frame()
    Keepbox.buffer_add_tensor_bytes(frame, describe(), GLib.Bytes.new(ROW.tobytes()))
    copies = [box.copy() for box in decode(frame)]
    gc.collect()
    check(copies)


def test_errors(folder):
    info, numbers = describe(), GLib.Bytes.new(ROW.tobytes())
    refused('24 bytes', Keepbox.buffer_add_tensor_bytes, new_frame(), info, GLib.Bytes.new(b'123'))
    info.set_ready(Keepbox.Ready.STREAM, 4711)
    refused('KEEPBOX_READY_NOW', Keepbox.buffer_add_tensor_bytes, new_frame(), info, numbers)
    info.set_memory(Keepbox.Memory.CUDA)
    refused('KEEPBOX_MEMORY_CUDA', Keepbox.buffer_add_tensor_bytes, new_frame(), info, numbers)


class Output(np.ndarray):
    """Exposes an array like PyTorch does."""

    def data_ptr(self):
        return self.ctypes.data


def masks_sample():
    """Returns a frame with boxes that have masks, from recorded tensors."""
    media = PIPELINES / 'media'
    line = Gst.parse_launch(
        f'tensorreplay location={media}/shapes-seg.f16.raw dims=1,26,2100 type=float16'
        f' ! tensorreplay location={media}/shapes-seg-protos.f16.raw dims=1,16,80,80 type=float16'
        ' ! boxdecode score-threshold=0.55 iou-threshold=0.3 ! appsink name=boxes sync=false')
    line.set_state(Gst.State.PLAYING)
    sample = line.get_by_name('boxes').pull_sample()
    line.set_state(Gst.State.NULL)
    return sample


def code_of_pages():
    """Returns the program of docs/embedding.md, and the code that reads boxes, adds a tensor, and a
    batch."""
    blocks = blocks_of(SOURCE / 'docs/embedding.md', 'python')
    assert len(blocks) == 4, blocks
    return blocks


def test_program_of_the_page(folder):
    need_inference()
    (folder / 'pipelines').symlink_to(PIPELINES)
    (folder / 'app.py').write_text(code_of_pages()[0])
    out, messages = run(sys.executable, 'app.py', cwd=folder)
    rows = [line.split() for line in out.splitlines()]
    assert len(rows) > 1500 and not messages, (len(rows), messages)
    assert all(len(row) == 6 and 0.25 < float(row[1]) <= 1 for row in rows), rows[0]
    assert {'ring', 'star', 'circle'} <= {row[0] for row in rows}


def test_code_of_pages(folder):
    _, reads, adds, adds_batch = code_of_pages()
    frame, output = new_frame(), np.zeros((1, 84, 8400), np.float32).view(Output)
    meta = GstAnalytics.buffer_add_analytics_relation_meta(frame)
    meta.add_od_mtd(GLib.quark_from_string('cat'), 1, 2, 3, 4, .5)
    words = {'sample': Gst.Sample.new(frame, None, None, None)}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(reads, words)
    assert out.getvalue() == 'None -1 cat 0.5 1.0 2.0\n', out.getvalue()
    words['sample'] = masks_sample()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(reads, words)
    assert words['mask'].get_data() == words['pixels'].tobytes() and words['pixels'].any()
    assert words['pixels'].shape == (words['height'], words['width'])
    words.update(frame=new_frame(), output=output, GstAnalytics=GstAnalytics)
    exec(adds, words)
    batch = np.zeros((8, 84, 8400), np.float32).view(Output)
    words.update(frames=[new_frame() for _ in batch], output=batch)
    exec(adds_batch, words)
    assert all(GstAnalytics.buffer_get_tensor_meta(frame) for frame in words['frames'])


def test_boxes_of_arrays(folder):
    need_inference()
    clip = detect.pictures(f'filesrc location={PIPELINES}/media/shapes.webm ! decodebin')
    _, picture = next(clip)
    clip.close()
    assert picture.shape == (720, 1280, 3) and picture.dtype == np.uint8
    model, found = PIPELINES / 'models/shapes.onnx', {}
    for form, turned in (('RGB', picture), ('BGR', picture[:, :, ::-1])):
        with contextlib.closing(detect.Detector(model, form, 'score-threshold=0.5')) as detector:
            # Alternating sizes, one with a stride that is not a multiple of four bytes.
            each = [detector(turned), detector(turned[:, 1:1278]), detector(turned)]
        found[form] = [[(box.get_label(), *box.get_rect()) for box in boxes] for boxes in each]
    assert found['RGB'] == found['BGR'] and found['RGB'][0] == found['RGB'][2], found
    whole, part, _ = found['RGB']
    assert len(whole) >= 8 and any(x % 1 for _, x, *_ in whole), whole
    for label, *box in whole:
        assert any(label == other and np.abs(np.subtract((x + 1, *rest), box)).max() < 8
                   for other, x, *rest in part), f'{label} {box}: {part}'


def test_boxes_that_are_held(folder):
    need_inference()
    line = detect.Line(f'filesrc location={PIPELINES}/media/shapes.webm ! decodebin ! framesave'
                       ' ! videoconvertscale ! video/x-raw,width=640,height=360'
                       f' ! tensorinfer model-file={PIPELINES}/models/shapes.onnx interval=3'
                       ' hold=true ! boxdecode ! framerestore')
    with contextlib.closing(line):
        for number in range(7):
            boxes = Keepbox.buffer_get_boxes(line.pull().get_buffer())
            assert {box.is_held() for box in boxes} == {number % 3 != 0}, number
            assert ('  held' in reader.words(boxes[0])) == (number % 3 != 0)


def test_version(folder):
    numbers = Keepbox.VERSION_MAJOR, Keepbox.VERSION_MINOR, Keepbox.VERSION_MICRO
    assert Keepbox.version() == '.'.join(map(str, numbers)), Keepbox.version()


if __name__ == '__main__':
    Gst.init(None)
    main(globals())
