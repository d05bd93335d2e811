#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the ends of streams: files without a video or without their end, silent and live sources,
elements that drop frames."""
import os
import pathlib
import socket
import threading

import numpy as np

from common import (CLIP, MODEL, detector, fails, launch, names, need_inference, need_own_elements,
                    warned, within)
from tap import main, need

import keepbox

STARTS = 40
SOUND = 'audiotestsrc num-buffers={} ! audioconvert ! vorbisenc'
BLACK = np.zeros((48, 64, 3), np.uint8)


def is_open(path):
    """Returns True if this process has the file open."""
    return any(pathlib.Path(f'/proc/self/fd/{each}').resolve() == path.resolve()
               for each in os.listdir('/proc/self/fd'))


def without_index(path):
    """Writes the begin of an MP4, whose index would be at its end."""
    need('mp4mux')
    need('openh264enc')
    launch('videotestsrc num-buffers=50 ! video/x-raw,format=I420,width=320,height=240'
           f' ! openh264enc ! h264parse ! mp4mux ! filesink location={path}')
    path.write_bytes(path.read_bytes()[:20000])


def with_sound(path, first, buffers):
    """Writes the clip with sound, as its first or its second stream."""
    streams = [f'filesrc location={CLIP} ! matroskademux ! queue ! m.',
               f'{SOUND.format(buffers)} ! queue ! m.']
    launch(' '.join(streams[::-1] if first else streams)
           + f' webmmux name=m ! filesink location={path}')


def test_files_without_a_video_end_each_time(folder):
    detect = detector()
    text, sound, cut = folder / 'text.mp4', folder / 'sound.webm', folder / 'cut.mp4'
    text.write_text('rubbish\n' * 100)
    launch(f'{SOUND.format(40)} ! webmmux ! filesink location={sound}')
    without_index(cut)
    for path, words in ((text, 'text file'), (sound, 'neither a video nor a picture'), (cut, '')):
        for start in range(STARTS):
            error = within(20, lambda: fails(keepbox.Error, words, lambda: list(detect(path))))
            assert error.source == str(path), (start, vars(error))
    assert len(list(detect(CLIP))) == 250, 'the detector goes on'


def test_a_uri_without_a_video(folder):
    detect = detector()
    launch(f'{SOUND.format(40)} ! webmmux ! filesink location={folder}/sound.webm')
    uri = f'file://{folder}/sound.webm'
    for _ in range(STARTS // 4):
        error = within(20, lambda: fails(keepbox.Error, 'neither a video nor a picture',
                                         lambda: list(detect(uri))))
        assert error.source == uri, vars(error)


def test_sound_and_other_videos_do_not_matter(folder):
    detect = detector()
    expected = [names(frame) for frame in detect(CLIP)]
    for first in False, True:
        path = folder / 'with.webm'
        with_sound(path, first, 400)
        assert [names(frame) for frame in within(60, lambda: list(detect(path)))] == expected
    street = CLIP.with_name('street.webm')
    launch(f'filesrc location={CLIP} ! matroskademux ! queue ! m. filesrc location={street}'
           f' ! matroskademux ! queue ! m. matroskamux name=m ! filesink location={folder}/two.mkv')
    found, _ = warned(lambda: [names(frame) for frame in detect(folder / 'two.mkv')])
    assert found == expected, 'the first video'


def test_a_video_that_ends_early(folder):
    detect = detector()
    half = folder / 'half.webm'
    data = CLIP.read_bytes()
    half.write_bytes(data[:len(data) // 2])
    stream = detect(half)
    assert stream.duration == 10, stream.duration
    frames, found = warned(lambda: list(stream))
    assert 100 < len(frames) < 150 and stream.duration == 10
    warning, = found
    assert f'{half} ends after {len(frames) / 25:.2f} s' in str(warning.message), warning.message
    assert 'it declares 10.00 s' in str(warning.message) and warning.filename == __file__
    frames, found = warned(lambda: list(detect(CLIP)))
    assert len(frames) == 250 and not found, found
    with detect(CLIP) as stream:
        _, found = warned(lambda: next(stream))
    assert not found, 'a loop that ends early is meant'


def test_durations(folder):
    detect = detector()
    stream = detect(CLIP)
    next(stream)
    assert stream.duration == 10
    assert detect(BLACK).duration is None
    assert detect('videotestsrc num-buffers=3').duration is None
    (folder / 'text.mp4').write_text('rubbish\n' * 100)
    assert within(5, lambda: detect(folder / 'text.mp4').duration) is None


def test_a_silent_source_ends(folder):
    del folder
    detect = detector()
    for line in ('videotestsrc is-live=true ! valve drop=true',
                 'videotestsrc ! identity sleep-time=900000'):
        error = within(20, lambda: fails(keepbox.Error, 'no frame has come for 0.3 s',
                                         lambda: list(detect(line, timeout=.3))))
        assert 'timeout=' in error.message
    slow = detector(tracker='identity sleep-time=700000')
    frames = within(20, lambda: list(slow('videotestsrc num-buffers=4', timeout=.3)))
    assert len(frames) == 4, 'frames that wait for elements have come'


def test_a_source_whose_frames_are_dropped_is_not_silent(folder):
    del folder
    dropped = detector(tracker='identity drop-probability=1.0')
    line = ('videotestsrc is-live=true num-buffers=60'
            ' ! video/x-raw,width=64,height=48,framerate=30/1')
    assert within(30, lambda: list(dropped(line, timeout=.5))) == []


def test_a_silent_server_ends(folder):
    del folder
    detect = detector()
    with socket.create_server(('127.0.0.1', 0)) as server:
        clients = []
        threading.Thread(target=lambda: clients.append(server.accept()), daemon=True).start()
        uri = f'http://127.0.0.1:{server.getsockname()[1]}/a.mp4'
        error = within(20, lambda: fails(keepbox.Error, 'no frame has come for 1 s',
                                         lambda: list(detect(uri, timeout=1))))
    assert error.source == uri


def test_the_end_of_a_live_source_is_an_error(folder):
    """With a file for the stream of a camera, which ends as one that is silent for too long."""
    need_own_elements()
    del folder
    detect = detector()
    uri = f'file://{CLIP}'
    from keepbox import _sources
    _sources.LIVE, before = (*_sources.LIVE, 'file://'), _sources.LIVE
    try:
        error = within(60, lambda: fails(keepbox.Error, 'ended by itself',
                                         lambda: list(detect(uri))))
        assert error.source == uri and 'live=False' in error.message, vars(error)
        stream = detect(uri)
        within(60, lambda: fails(keepbox.Error, 'ended by itself', lambda: list(stream)))
        assert not is_open(CLIP), 'the camera is free for the next stream'
        del stream
        assert len(list(detect(uri, live=False))) == 250
    finally:
        _sources.LIVE = before
    assert len(list(detect(uri))) == 250


def test_elements_that_drop_frames(folder):
    """A tracker that drops frames ends neither in a loop without end nor with wrong pictures."""
    del folder
    need_inference()
    images = [np.full((48, 64 + 2 * number, 3), number, np.uint8) for number in range(9)]
    all_dropped = keepbox.Detector(MODEL, tracker='identity drop-probability=1.0')
    for source in images, iter(images), images[0]:
        error = within(20, lambda: fails(keepbox.Error, 'no picture came out of identity drop',
                                         lambda: list(all_dropped(source))))
        assert 'which drops frames' in str(error)
    within(20, lambda: fails(keepbox.Error, 'no picture', lambda: all_dropped.detect(images[0])))
    some = keepbox.Detector(MODEL, tracker='identity drop-probability=0.4')
    kept = 0
    for _ in range(6):
        try:
            frames, found = within(20, lambda: warned(lambda: list(some(images))))
        except keepbox.Error:
            continue
        for frame in frames:
            assert frame.image is images[frame.image[0, 0, 0]]
            assert frame.shape == frame.image.shape[:2]
        kept += len(frames)
        wanted = f'only {len(frames)} of 9 pictures came out of identity drop-probability=0.4'
        about = [each for each in found if 'pictures' in str(each.message)]
        assert (len(frames) == 9) == (not about) and all(wanted in str(each.message)
                                                         for each in about), found
    assert 0 < kept < 54, kept
    dropped = keepbox.Detector(MODEL, tracker='identity drop-probability=1.0')
    error = within(30, lambda: fails(keepbox.Error, 'drops its frames',
                                     lambda: list(dropped(CLIP))))
    assert error.source == str(CLIP)


def test_an_element_that_ends_the_stream(folder):
    del folder
    need_inference()
    images = [BLACK] * 7
    detect = keepbox.Detector(MODEL, tracker='identity eos-after=3')
    for _ in range(2):
        assert len(within(20, lambda: list(detect(images)))) == 2, 'a new pipeline each time'


if __name__ == '__main__':
    main(globals())
