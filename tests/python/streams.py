#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the streams of the Python package: their end, errors, warnings, settings, threads."""
import gc
import threading
import time
import weakref

import numpy as np

from common import (CLIP, CONFIDENCE, MODEL, assert_nothing_left, boxsink, detector, fails,
                    is_worker, names, need_inference, resources, warned)
from tap import main

import keepbox


def test_settings_are_those_of_the_elements(folder):
    del folder
    need_inference()
    detect = keepbox.Detector(MODEL, classes=['ring', 3], confidence=.6, iou=.3, max_detections=4,
                              class_thresholds={'ring': .9}, nms_contract='ultralytics', threads=1,
                              multi_label=False)
    lines = boxsink('shapes.onnx', 'include-classes=ring,3', 'score-threshold=0.6',
                    'max-detections=4', 'iou-threshold=0.3', 'class-thresholds=ring:0.9',
                    'nms-contract=ultralytics', 'multi-label=false')
    for frame, line in zip(detect(CLIP), lines):
        assert names(frame) == [each['roi_type'] for each in line.get('objects', [])]
    assert (detect.confidence, detect.iou, detect.classes) == (.6, .3, ['ring', '3'])
    unset = keepbox.Detector(MODEL)
    assert (unset.confidence, unset.iou, unset.classes) == (None, None, [])
    stream = detect(CLIP)
    next(stream)
    assert stream.stats()['boxdecode']['frames'] >= 1 <= stream.stats()['tensorinfer']['inferred']


def test_live_settings(folder):
    del folder
    detect = detector()
    stream = detect(CLIP)
    before = next(stream)
    assert before.boxes.conf.min() < .9
    detect.confidence = .9
    detect.classes = ['ring']
    after = list(stream)[10:]
    assert len(after) == 239
    assert all(set(names(frame)) <= {'ring'} and (frame.boxes.conf > .9).all() for frame in after)
    assert any(len(frame.boxes) for frame in after)
    image = before.image
    assert set(names(detect.detect(image))) <= {'ring'}
    detect.classes = None
    assert len(set(names(detect.detect(image)))) > 1


def test_a_wrong_live_setting_is_a_warning(folder):
    del folder
    detect = detector()
    stream = detect(CLIP)
    next(stream)
    detect.classes = ['rinng']
    frames, found = warned(lambda: list(stream))
    warning, = found
    assert 'rinng' in str(warning.message) and warning.filename == __file__, warning
    assert all(len(frame.boxes) for frame in frames), 'the list before stays in force'


def test_errors(folder):
    need_inference()
    (folder / 'rubbish.onnx').write_text('rubbish')
    (folder / 'text.mp4').write_text('rubbish' * 100)
    error = fails(keepbox.Error, 'nosuch.onnx', lambda: keepbox.Detector(folder / 'nosuch.onnx'))
    assert error.element and 'model-file' in error.message and error.details, vars(error)
    fails(keepbox.Error, 'not ONNX', lambda: keepbox.Detector(folder / 'rubbish.onnx'))
    fails(TypeError, 'did you mean iou_threshold?', lambda: detector(iou_treshold=.4))
    fails(ValueError, 'ultralytics', lambda: detector(nms_contract='ultralytic'))
    fails(ValueError, '0 to 10000', lambda: detector(max_detections=10001))
    fails(ValueError, 'RGB or BGR', lambda: detector(colors='GBR'))
    detect = detector()
    fails(FileNotFoundError, 'nosuch.mp4', lambda: detect('nosuch.mp4'))
    fails(FileNotFoundError, 'nosuch*.jpg', lambda: detect('nosuch*.jpg'))
    (folder / 'empty').mkdir()
    fails(FileNotFoundError, str(folder / 'empty'), lambda: detect(folder / 'empty'))
    fails(FileNotFoundError, 'nosuch.jpg', lambda: list(detect(['nosuch.jpg'])))
    fails(FileNotFoundError, 'rubbish.onnx', lambda: detect(f'{folder}/*.onnx'))
    fails(keepbox.Error, 'text', lambda: list(detect(folder / 'text.mp4')))
    fails(keepbox.Error, 'nosuchsrc', lambda: detect('nosuchsrc ! identity'))
    fails(keepbox.Error, '/dev/video4711', lambda: detect(4711))
    fails(keepbox.Error, '', lambda: list(detect('rtsp://127.0.0.1:1/nothing')))
    fails(TypeError, 'float64', lambda: detect.detect(np.zeros((4, 4, 3))))
    fails(ValueError, '(4, 4, 2)', lambda: detect.detect(np.zeros((4, 4, 2), np.uint8)))
    for shape in (1, 70000, 3), (16385, 1), (2, 32768, 4):
        fails(ValueError, 'at most 16384 pixels', lambda: detect.detect(np.zeros(shape, np.uint8)))
    fails(ValueError, '(0, 4, 3)', lambda: detect.detect(np.zeros((0, 4, 3), np.uint8)))
    fails(TypeError, 'int', lambda: list(detect([1])))
    fails(TypeError, 'object', lambda: detect(object()))
    fails(TypeError, 'bool', lambda: detect(True))
    assert len(detect.detect(CLIP).boxes) > 5, 'the detector goes on'


def test_settings_are_all_set_or_none(folder):
    del folder
    detect = detector()
    stream = detect(CLIP)
    before = next(stream).boxes.conf.min()
    for wrong in ({'iou': 5}, {'nms_contract': 'none such'}, {'interval': 'often'},
                  {'colors': 'BGR'}, {'nosuch': 1}):
        kind = TypeError if {'colors', 'nosuch'} & set(wrong) else ValueError
        fails(kind, '', lambda: detect.set(confidence=.9, classes=['ring'], **wrong))
        assert (detect.confidence, detect.iou, detect.classes) == (CONFIDENCE, None, []), wrong
    assert next(stream).boxes.conf.min() < .9 and before < .9
    assert len(detect.detect(CLIP).boxes) == 8
    detect.set(confidence=.9, iou=.4)
    assert (detect.confidence, detect.iou) == (.9, .4)


def test_passwords_in_elements(folder):
    del folder
    detect = detector()
    for secret in ('user-pw=secret', 'user-id=secret', 'user-pw="se\\"cret !" ',
                   "password='secret'", 'proxy-pw = secret', 'passphrase=secret',
                   'location=rtsp://me:secret@host/x'):
        error = fails(keepbox.Error, 'in the pipeline rtspsrc ',
                      lambda: detect(f'rtspsrc {secret} ! nosuch bypass=true'))
        assert 'cret' not in str(error) and 'nosuch bypass=true' in str(error), error


def test_unknown_attributes(folder):
    del folder
    detect = detector()
    for name, messages in (('confidance', 'did you mean confidence?'), ('conf', 'mean confidence?'),
                           ('max_detections', 'call set(max_detections=5)'),
                           ('max_detection', 'did you mean set(max_detections=...)?'),
                           ('device', 'did you mean set(provider=...)?'),
                           ('labels', 'call set(labels=5)'),
                           ('colors', 'another one with colors=5'),
                           ('xyzzy', 'see help(keepbox.Detector)')):
        fails(AttributeError, f'{name} is not an attribute of Detector: ',
              lambda: setattr(detect, name, 5))
        fails(AttributeError, messages, lambda: setattr(detect, name, 5))
        assert not hasattr(detect, name)
    detect.confidence, detect.iou, detect.classes = .9, .3, ['ring']
    assert (detect.confidence, detect.iou, detect.classes) == (.9, .3, ['ring'])

    class Mine(keepbox.Detector):
        pass
    mine = Mine(MODEL)
    mine.place = 'gate'
    assert mine.place == 'gate', 'a subclass has attributes of its own'


def test_unknown_arguments(folder):
    del folder
    need_inference()
    for name, messages in (('conf', 'confidence'), ('confidance', 'confidence'),
                           ('clases', 'classes'),
                       ('device', 'provider'), ('max_det', 'max_detections'),
                       ('trackr', 'tracker'), ('lables', 'labels'),
                       ('iou_treshold', 'iou_threshold'),
                       ('imgsz', 'input_size, for a model that takes any size')):
        error = fails(TypeError, f'did you mean {messages}?', lambda: detector(**{name: 1}))
        assert str(error).startswith(f'{name} is not a property of tensorinfer or boxdecode')
    error = fails(TypeError, 'xyzzy', lambda: detector(xyzzy=1))
    assert 'did you mean' not in str(error)
    detect = detector()
    fails(TypeError, 'did you mean confidence?', lambda: detect.set(conf=.4))
    fails(TypeError, 'make another Detector', lambda: detect.set(colors='BGR'))


def test_a_tracker_that_is_a_method(folder):
    del folder
    need_inference()
    fails(keepbox.Error, 'did you mean boxtrack? bytetrack is its default method',
          lambda: detector(tracker='bytetrack'))
    fails(keepbox.Error, "did you mean 'boxtrack method=oc-sort'?",
          lambda: detector(tracker='oc-sort'))
    fails(keepbox.Error, 'no element "nosuch"', lambda: detector(tracker='nosuch'))
    frames = [frame for frame, _ in zip(detector(tracker='boxtrack method=sort')(CLIP), range(10))]
    assert frames[-1].boxes.ids is not None


def test_frames_before_an_error_are_returned(folder):
    del folder
    seen = []

    def read():
        for frame in detector()('videotestsrc ! identity error-after=9'):
            seen.append(frame.index)
            time.sleep(.02)
    fails(keepbox.Error, 'Failed after iterations', read)
    assert seen == list(range(8)), seen


def test_warnings_of_elements(folder):
    """A threshold that nothing passes is a warning of boxdecode."""
    del folder
    detect = detector(confidence=2)
    frames, found = warned(lambda: list(detect(CLIP)))
    assert len(frames) == 250 and not any(len(frame.boxes) for frame in frames)
    assert found and all(warning.category is keepbox.ElementWarning for warning in found)
    assert {warning.filename for warning in found} == {__file__}, found


def test_a_stream_that_is_left_early_leaves_nothing(folder):
    del folder
    detect = detector()
    for frame in detect(CLIP):
        break
    images = [frame.image] * 5
    for frame in detect(images):
        break
    del frame
    before = resources()
    for _ in range(10):
        for frame in detect(CLIP):
            break
        for frame in detect(images):
            break
        with detect(CLIP) as stream:
            next(stream)
        stream.close()
        assert next(stream, None) is None
    del frame, stream
    assert_nothing_left(before)


def test_a_detector_leaves_nothing(folder):
    del folder
    frame = detector().detect(CLIP)
    del frame
    before = resources()
    detect = detector()
    stream = detect(CLIP)
    frame = next(stream)
    assert resources()[0] > before[0] or is_worker()
    gone = weakref.ref(detect)
    del detect, stream
    gc.collect()
    assert gone() is None
    assert len(frame.boxes) > 5 and frame.image.any(), 'frames outlive their detector'
    del frame
    assert_nothing_left(before)
    with detector() as detect:
        stream = detect(CLIP)
        next(stream)
    assert len(list(stream)) < 10, 'closing ends streams'


def test_threads_share_a_detector(folder):
    del folder
    detect = detector()
    image, found = detect.detect(CLIP).image, []

    def work():
        for _ in range(10):
            found.append(names(detect.detect(image)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40 and all(each == found[0] for each in found) and len(found[0]) > 5


def test_a_live_source_returns_the_newest_frame(folder):
    del folder
    line = 'videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=50/1'
    stream, times = detector()(line, live=True), []
    for frame in stream:
        times.append(frame.time)
        time.sleep(.2)
        if len(times) == 4:
            break
    # all that came meanwhile, but two on their way, are left out
    assert all(later - sooner > .1 for sooner, later in zip(times[1:], times[2:])), times
    slow = detector(tracker='identity sleep-time=200000')(line, live=True)
    times = [frame.time for frame, _ in zip(slow, range(4))]
    assert all(later - sooner > .1 for sooner, later in zip(times[1:], times[2:])), times


if __name__ == '__main__':
    main(globals())
