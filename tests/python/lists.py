#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests lists, folders and patterns of videos and pictures as sources, and items of them that
cannot be read."""
import pathlib
import shutil

import numpy as np

from common import CLIP, MODEL, detector, fails, names, need_inference, png, warned, within
from tap import PIPELINES, main

import keepbox

BLACK = np.zeros((48, 64, 3), np.uint8)


def places(frames):
    """Returns the name of its file, if any, and the index of each frame."""
    return [(frame.path and pathlib.Path(frame.path).name, frame.index) for frame in frames]


def test_videos(folder):
    need_inference()
    for name in 'a.webm', 'b.webm':
        shutil.copy(CLIP, folder / name)
    (folder / 'notes.txt').write_text('neither')
    detect = keepbox.Detector(MODEL, confidence=.5, tracker='boxtrack')
    expected = [(names(frame), list(frame.boxes.ids), frame.time) for frame in detect(CLIP)]
    wanted = [(name, index) for name in ('a.webm', 'b.webm') for index in range(250)]
    for source in ([folder / 'a.webm', str(folder / 'b.webm')], folder, f'{folder}/*.webm'):
        stream = detect(source)
        frames = list(stream)
        assert places(frames) == wanted, places(frames)[::100]
        for part in frames[:250], frames[250:]:
            found = [(names(frame), list(frame.boxes.ids), frame.time) for frame in part]
            assert found == expected, 'times and ids begin again with each video'
    assert stream.duration == 10 and stream.stats()['boxdecode']['frames'] == 250
    with detect(folder) as stream:
        next(stream)
    assert next(stream, None) is None, 'closed'


def test_videos_and_pictures(folder):
    """In the order of their names, also in one folder; the pictures have numbers of their own."""
    detect = detector()
    png(folder / 'a.png')
    shutil.copy(CLIP, folder / 'b.webm')
    for name in 'c.png', 'd.png':
        png(folder / name)
    wanted = [('a.png', 0), *(('b.webm', index) for index in range(250)), ('c.png', 1),
              ('d.png', 2)]
    assert places(detect(folder)) == wanted
    mixed = [BLACK, folder / 'b.webm', BLACK]
    assert places(detect(mixed)) == [(None, 0), *wanted[1:251], (None, 1)]


def test_what_a_folder_has_instead(folder):
    detect = detector()
    fails(FileNotFoundError, f'neither pictures nor videos in the folder {folder}: it is empty',
          lambda: detect(folder))
    (folder / 'notes.txt').write_text('neither')
    (folder / 'sub').mkdir()
    fails(FileNotFoundError, '2 others, such as notes.txt', lambda: detect(folder))
    fails(FileNotFoundError, f'that match {folder}/s*: 1 others, such as sub/',
          lambda: detect(f'{folder}/s*'))


def broken(folder):
    """Writes two good pictures around one that is cut, one that is none, and a video of text."""
    for name in 'p1.png', 'p2.png', 'p6.png':
        png(folder / name)
    (folder / 'p3.png').write_bytes((folder / 'p1.png').read_bytes()[:60])
    (folder / 'p4.png').write_text('not a picture')
    (folder / 'p5.webm').write_text('not a video\n' * 50)


def test_files_that_cannot_be_read_are_left_out(folder):
    """By one rule for lists, folders and patterns; frames before them are returned first."""
    broken(folder)
    detect = detector()
    paths = sorted(map(str, folder.iterdir()))
    for source in folder, f'{folder}/p*', paths, tuple(paths), iter(paths):
        frames, found = within(60, lambda: warned(lambda: list(detect(source))))
        assert [name for name, _ in places(frames)] == ['p1.png', 'p2.png', 'p6.png'], source
        texts = [str(warning.message) for warning in found]
        assert len(texts) == 3, texts
        for text, name in zip(texts, ('p3.png', 'p4.png', 'p5.webm')):
            assert text.startswith(f'{folder}/{name} cannot be read and is left out: '), text
            assert text.count(name) == 1, text
    frames, found = warned(lambda: places(detect([paths[0], f'{folder}/no.png', paths[1]])))
    assert frames == [('p1.png', 0), ('p2.png', 1)]
    assert [str(each.message) for each in found] == [
        f'there is no picture named {folder}/no.png: it is left out']
    stream = detect(paths)
    _, found = warned(lambda: (next(stream), next(stream)))
    assert not found, 'the turn of the third has not come'


def test_nothing_that_can_be_read(folder):
    detect = detector()
    (folder / 'a.webm').write_text('not a video\n' * 50)
    (folder / 'b.png').write_text('not a picture')
    error, found = warned(lambda: fails(keepbox.Error, 'b.png', lambda: list(detect(folder))))
    assert len(found) == 2 and error.source == str(folder / 'b.png')
    warned(lambda: fails(FileNotFoundError, 'no.webm', lambda: list(detect(['no.webm']))))
    warned(lambda: fails(FileNotFoundError, 'no.png', lambda: detect.detect(['no.png'])))


def test_items_that_are_no_pictures(folder):
    """They are exceptions at their turn, and those behind them may still be read."""
    del folder
    detect = detector()
    wrong = [BLACK, None, BLACK, BLACK.astype(float), BLACK]
    for source in wrong, iter(wrong):
        stream, seen = detect(source), []
        for _ in range(6):
            try:
                seen.append(next(stream).index)
            except StopIteration:
                seen.append('end')
            except TypeError as error:
                seen.append(str(error).split()[-1] if 'NoneType' in str(error) else 'float')
        assert seen == [0, 'files', 1, 'float', 2, 'end'], seen

    def mine():
        yield BLACK
        yield BLACK
        raise KeyError('mine')
    stream = detect(mine())
    assert [next(stream).index, next(stream).index] == [0, 1]
    fails(KeyError, 'mine', lambda: next(stream))


def test_a_failing_model_is_not_left_out(folder):
    need_inference()
    png(folder / 'a.png')
    shutil.copy(CLIP, folder / 'b.webm')
    detect = keepbox.Detector(PIPELINES / 'models/shapes.onnx',
                              tracker='identity name=mine error-after=2')
    error = fails(keepbox.Error, 'mine: ', lambda: list(detect(folder)))
    assert not error.source


if __name__ == '__main__':
    main(globals())
