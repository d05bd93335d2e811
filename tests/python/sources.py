#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the sources of the Python package: pictures, arrays, lines of elements."""
import contextlib
import pathlib
import shutil
import time
import warnings

import numpy as np

from common import CLIP, MODEL, detector, fails, names, need_inference, run, warned
from tap import main, need

import keepbox
from keepbox._errors import error_of
from keepbox._gi import GLib, Gst


def pictures(folder, count=3):
    """Writes frames of the clip as pictures of different formats, named in their order."""
    need_inference()
    for number, suffix in zip(range(count), ('png', 'jpg', 'png')):
        encoder = {'png': 'pngenc', 'jpg': 'jpegenc quality=95'}[suffix]
        run('bash', '-c', f'gst-launch-1.0 -q filesrc location={CLIP} ! decodebin ! videoconvert'
            f' ! {encoder} ! identity eos-after={number + 2} ! multifilesink'
            f' location={folder}/all%d.{suffix}')
        (folder / f'all{number}.{suffix}').rename(folder / f'{number}.{suffix}')
        for path in folder.glob('all*'):
            path.unlink()


def test_pictures(folder):
    pictures(folder)
    (folder / 'notes.txt').write_text('no picture')
    detect = detector()
    clip = [sorted(names(frame)) for frame, _ in zip(detect(CLIP), range(3))]
    wanted = [str(folder / name) for name in ('0.png', '1.jpg', '2.png')]
    for source in folder, str(folder), f'{folder}/*.*g', wanted, iter(wanted):
        frames = list(detect(source))
        assert [frame.path for frame in frames] == wanted, source
        assert [frame.index for frame in frames] == [0, 1, 2]
        assert [sorted(names(frame)) for frame in frames] == clip and frames[0].time is None
    assert sorted(names(detect.detect(wanted[1]))) == clip[1]


def test_a_picture_that_cannot_be_read(folder):
    pictures(folder)
    (folder / '1.jpg').write_bytes((folder / '1.jpg').read_bytes()[:100])
    detect = detector()
    frames, found = warned(lambda: list(detect(folder)))
    assert [pathlib.Path(frame.path).name for frame in frames] == ['0.png', '2.png']
    said, = found
    assert said.category is keepbox.ElementWarning
    assert '1.jpg cannot be read and is left out' in str(said.message)
    assert str(said.message).count('1.jpg') == 1, said.message
    assert said.filename == __file__, said.filename
    fails(keepbox.Error, '', lambda: detect.detect(folder / '1.jpg'))
    assert len(detect.detect(folder / '0.png').boxes) > 5, 'the detector goes on'


def test_a_picture_is_turned_upright(folder):
    need('jifmux')
    pictures(folder, 1)
    run('gst-launch-1.0', '-q', 'filesrc', f'location={folder}/0.png', '!', 'pngdec', '!',
        'videoconvert', '!', 'videoflip', 'video-direction=90l', '!', 'jpegenc', 'quality=95', '!',
        'taginject', 'tags=image-orientation=rotate-90', '!', 'jifmux', '!', 'filesink',
        f'location={folder}/held.jpg')
    detect = detector()
    upright, held = detect.detect(folder / '0.png'), detect.detect(folder / 'held.jpg')
    assert held.shape == upright.shape == (720, 1280)
    assert names(held)[:3] == names(upright)[:3]


def test_arrays(folder):
    del folder
    detect, bgr = detector(), detector(colors='BGR')
    frame = detect.detect(CLIP)
    image = frame.image
    assert image.shape == (720, 1280, 3) and image.dtype == np.uint8 and image.flags.writeable
    found = detect.detect(image)
    assert found.image is image and found.time is None and found.path is None
    assert names(found) == names(frame)
    # rows of 3834 bytes, which GStreamer pads to 3836
    odd = image[:, 1:1279]
    assert np.abs(detect.detect(odd).boxes.xyxy[0] - found.boxes.xyxy[0] + (1, 0, 1, 0)).max() < 8
    for other in (image[:, :, ::-1], bgr.detect(CLIP).image):
        assert np.array_equal(bgr.detect(other).boxes.xyxy, found.boxes.xyxy)
    clear = np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])
    assert np.array_equal(detect.detect(clear).boxes.xyxy, found.boxes.xyxy)
    gray = image.mean(2).astype(np.uint8)
    assert len(detect.detect(gray).boxes) == len(detect.detect(gray[:, :, None]).boxes) > 3


def test_lists_of_arrays(folder):
    del folder
    detect = detector()
    images = [frame.image for frame, _ in zip(detect(CLIP), range(6))]
    expected = [names(detect.detect(image)) for image in images]
    for source in images, np.stack(images), tuple(images), (image for image in images):
        assert [names(frame) for frame in detect(source)] == expected
    for frame in detect(images):
        break
    assert [names(frame) for frame in detect(images[::-1])] == expected[::-1], 'after a break'
    sizes = [image[:400 + 50 * at, :700 + at] for at, image in enumerate(images)]
    for frame, image in zip(detect(sizes), sizes):
        assert frame.shape == image.shape[:2] and frame.image is image


def test_the_model_is_kept(folder):
    need_inference()
    for suffix in '', '.modelinfo':
        shutil.copy(f'{MODEL}{suffix}', folder / f'model.onnx{suffix}')
    detect = keepbox.Detector(folder / 'model.onnx', confidence=.5)
    image = keepbox.Detector(MODEL).detect(CLIP).image
    (folder / 'model.onnx').unlink()
    for _ in range(3):
        assert len(detect.detect(image).boxes) > 5
        for _ in detect([image] * 4):
            break
    detect.close()
    fails(keepbox.Error, 'model.onnx', lambda: detect.detect(image))


def test_the_next_array_is_not_waited_for(folder):
    del folder
    detect, given = detector(), []
    image = detect.detect(CLIP).image

    def camera():
        for number in range(3):
            given.append(number)
            yield image
    for frame in detect(camera()):
        assert given == list(range(frame.index + 1)), (frame.index, given)


def test_the_item_after_an_unreadable_one_is_not_waited_for(folder):
    detect, order = detector(), []
    image = detect.detect(CLIP).image

    def camera():
        for item in image, folder / 'missing.png', image:
            order.append('given')
            yield item
    with warnings.catch_warnings():
        warnings.simplefilter('always')
        warnings.showwarning = lambda *_: order.append('warned')
        for _ in detect(camera()):
            order.append('frame')
            time.sleep(.3)  # the line has nothing left of it
    assert order == ['given', 'frame', 'given', 'warned', 'given', 'frame'], order


def test_lines_of_elements(folder):
    del folder
    frames = list(detector()('videotestsrc num-buffers=3 ! video/x-raw,width=322,height=240'))
    assert [frame.shape for frame in frames] == [(240, 322)] * 3
    assert [round(frame.time, 3) for frame in frames] == [0, .033, .067]


def test_one_element(folder):
    need_inference()
    detect = detector()
    assert len(list(detect('videotestsrc num-buffers=2'))) == 2
    fails(keepbox.Error, '/dev/video4711', lambda: list(detect('v4l2src device=/dev/video4711')))
    # a URI in the elements is theirs
    assert len(detect.detect(f'urisourcebin uri=file://{CLIP} ! decodebin').boxes) > 5
    fails(keepbox.Error, "identify device 'v4l2://video4711'",
          lambda: list(detect('v4l2src device=v4l2://video4711')))
    for text in 'v4l2scr device=/dev/video2', 'videotestsrc!identity', 'identity':
        error = fails(FileNotFoundError, f'no file named {text}', lambda: detect(text))
        assert "for GStreamer elements pass a source element and put ' ! '" in str(error)
    for name in 'nosuch.mp4', f'{folder}/no such', pathlib.Path('videotestsrc.x'):
        error = fails(FileNotFoundError, str(name), lambda: detect(name))
        assert 'GStreamer' not in str(error)
    fails(FileNotFoundError, 'videotestsrc', lambda: detect(pathlib.Path('videotestsrc')))
    # a file of that name comes first
    shutil.copy(CLIP, folder / 'videotestsrc')
    with contextlib.chdir(folder):
        frame = detect.detect('videotestsrc')
    assert frame.path == 'videotestsrc' and frame.shape == (720, 1280)


def test_errors_name_their_source(folder):
    need_inference()
    detect = detector()
    (folder / 'text.mp4').write_text('rubbish' * 100)
    (folder / 'bad.jpg').write_bytes(b'\xff\xd8\xff\xe0' + b'rubbish' * 100)
    for source, name in ((folder / 'text.mp4', f'{folder}/text.mp4'), (4711, '/dev/video4711'),
                         (folder / 'bad.jpg', f'{folder}/bad.jpg'),
                         ('rtsp://me:p@ss@127.0.0.1:1/x', 'rtsp://127.0.0.1:1/x'),
                         ('http://127.0.0.1:1/x@y.mp4', 'http://127.0.0.1:1/x@y.mp4')):
        error = fails(keepbox.Error, f'{name}: ', lambda: list(detect(source)))
        assert error.source == name and str(error).startswith(f'{name}: '), error
        assert error.element and 'p@ss' not in str(error), vars(error)
    error = fails(keepbox.Error, 'file:///nosuch.mp4: Resource not found: No such file',
                  lambda: list(detect('file:///nosuch.mp4')))
    assert error.message in str(error) and error.details.endswith('"/nosuch.mp4"')
    # other elements' errors are not about the source
    line = 'videotestsrc ! identity error-after=2'
    error = fails(keepbox.Error, 'identity0: ', lambda: list(detect(line)))
    assert not error.source
    tracked = detector(tracker='identity name=mine error-after=2')
    error = fails(keepbox.Error, 'mine: Failed after iterations', lambda: list(tracked(CLIP)))
    assert not error.source


def failed(text, details, name='keepbox-source'):
    """Returns the error that a message of an element becomes."""
    error = GLib.Error.new_literal(Gst.StreamError.quark(), text, Gst.StreamError.CODEC_NOT_FOUND)
    element = Gst.ElementFactory.make('identity', name)
    return error_of(Gst.Message.new_error(element, error, details), 'a.mp4')


def test_details_of_errors(folder):
    del folder
    place = 'file.c(1): work (): /GstPipeline:p:\n'
    error = failed('A plug-in is missing.', f'{place}no suitable plugins found:\nMissing decoder:'
                   ' H.264 (High Profile) (video/x-h264, width=(int)320)\n')
    assert str(error) == ('a.mp4: A plug-in is missing: Missing decoder: H.264; on Debian install'
                          ' gstreamer1.0-libav'), error
    assert 'High Profile' in error.details
    error = failed('Unauthorized', f'{place}URL: http://me:secret@host/a.mp4 (401)')
    assert str(error) == 'a.mp4: Unauthorized: URL: http://host/a.mp4 (401)', error
    assert 'secret' not in error.details, error.details
    error = failed('No rtsp://me:se#ret@cam/1.', place, 'other')
    assert str(error) == 'other: No rtsp://cam/1.', error
    assert str(failed('It failed.', place)) == 'a.mp4: It failed.'
    assert str(failed('It failed.', f'{place}why', 'other')) == 'other: It failed.'


def test_names_with_any_characters(folder):
    odd = folder / 'a "b\' ! c=d'
    odd.mkdir()
    model, clip = odd / 'm "1".onnx', odd / "it's a clip.webm"
    shutil.copy(MODEL, model)
    shutil.copy(f'{MODEL}.modelinfo', f'{model}.modelinfo')
    shutil.copy(CLIP, clip)
    need_inference()
    assert len(keepbox.Detector(model, confidence=.5).detect(clip).boxes) > 5


if __name__ == '__main__':
    main(globals())
