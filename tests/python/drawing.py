#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the pixels of frames, and drawing on them, next to the same elements in a pipeline."""
import gc
import threading

import numpy as np

from common import CLIP, MODEL, PIPELINES, fails, need_inference, run
from tap import main, need

import keepbox
from keepbox._line import Pipeline
from keepbox._memory import buffer_of, pixels_of
from keepbox._gi import Gst


def first(model=MODEL, **properties):
    need_inference()
    return keepbox.Detector(model, confidence=.5, **properties).detect(CLIP)


def of_a_line(folder, *elements, form='RGB'):
    """Returns the first frame of the clip after these elements."""
    run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin', '!',
        'videoconvert', *elements, '!', f'video/x-raw,format={form}', '!', 'identity',
        'eos-after=2', '!', 'filesink', f'location={folder}/frame.raw')
    return np.fromfile(folder / 'frame.raw', np.uint8)[:720 * 1280 * 3].reshape(720, 1280, 3)


def test_images_are_those_of_videoconvert(folder):
    frame = first()
    assert np.array_equal(frame.image, of_a_line(folder))
    assert frame.image is frame.image and frame.image.flags.writeable
    assert np.array_equal(first(colors='BGR').image, of_a_line(folder, form='BGR'))


def test_drawings_are_those_of_boxoverlay(folder):
    need('boxoverlay')
    for model in 'shapes.onnx', 'shapes-seg.onnx', 'shapes-pose.onnx', 'shapes-obb.onnx':
        path = PIPELINES / 'models' / model
        frame = first(path)
        wanted = of_a_line(folder, '!', 'tensorinfer', f'model-file={path}', '!', 'boxdecode',
                           'score-threshold=0.5', '!', 'videoconvert', '!',
                           'video/x-raw,format=RGB', '!', 'boxoverlay', 'draw-scores=false',
                           'color-by=model')
        drawn = frame.draw(draw_scores=False, color_by='model')
        assert np.array_equal(drawn, wanted), model
        assert not np.array_equal(frame.draw(), drawn) and not np.array_equal(frame.image, drawn)
        assert drawn.flags.writeable


def test_drawing_on_arrays_leaves_them(folder):
    del folder
    need('boxoverlay')
    image = first().image
    before = image.copy()
    drawn = keepbox.Detector(MODEL, confidence=.5).detect(image).draw(draw_labels=False)
    assert np.array_equal(image, before)
    changed = (drawn != image).any(2).mean()
    assert .005 < changed < .1, changed


def test_images_are_the_readers_own(folder):
    """Frames that are RGB already need no conversion, and share their memory with the pipeline."""
    del folder
    need('boxoverlay')
    need_inference()
    frame = keepbox.Detector(MODEL).detect(
        'videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=RGB,width=64,height=64')
    before = frame.draw()
    frame.image[...] = 0
    assert np.array_equal(frame.draw(), before) and before.max() == 255


def test_what_boxoverlay_does_not_have(folder):
    del folder
    need('boxoverlay')
    frame = first()
    fails(TypeError, 'did you mean draw_scores?', lambda: frame.draw(draw_scors=False))
    fails(ValueError, 'tracking-id', lambda: frame.draw(color_by='modl'))
    assert frame.draw().any(), 'the frame goes on'


def test_rows_of_every_width(folder):
    del folder
    for width in range(1, 9):
        for shape in (3, width), (3, width, 1), (3, width, 3), (3, width, 4):
            pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
            form = {1: 'GRAY8', 3: 'RGB', 4: 'RGBA'}[pixels[0, 0].size]
            caps = f'video/x-raw,format={form},width={width},height=3,framerate=0/1'
            sample = Gst.Sample.new(buffer_of(pixels), Gst.Caps.from_string(caps), None, None)
            found = pixels_of(sample)
            assert np.array_equal(found.reshape(shape), pixels), (shape, found, pixels)


def test_arrays_of_frames_are_views_that_keep_their_memory(folder):
    del folder
    line = Pipeline('videotestsrc num-buffers=1 pattern=white'
                    ' ! video/x-raw,format=RGB,width=64,height=64')
    line.play()
    sample = line.pull()
    pixels = pixels_of(sample)
    assert pixels_of(sample).ctypes.data == pixels.ctypes.data, 'no copy'
    del sample
    line.close()
    gc.collect()
    assert (pixels == 255).all()


def test_renderers_are_used_by_threads(folder):
    del folder
    need('boxoverlay')
    frame, drawn = first(), []
    threads = [threading.Thread(target=lambda thickness=thickness: drawn.extend(
        frame.draw(thickness=thickness).sum() for _ in range(5))) for thickness in range(1, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 35 and len(set(drawn)) == 7, drawn


if __name__ == '__main__':
    main(globals())
