#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the scripts of pipelines/ that draw pictures of clips."""
import importlib.util
import json
import struct

import numpy as np

from tap import CLIP, PIPELINES, Skip, main, need, need_inference, run


def test_wall(folder):
    need_inference()

    def pixels(name):
        run('gst-launch-1.0', '-q', 'filesrc', f'location={folder / name}.png', '!', 'pngdec', '!',
            'videoconvert', '!', 'video/x-raw,format=RGBx', '!', 'filesink',
            f'location={folder / name}.raw')
        flat = np.fromfile(folder / f'{name}.raw', np.uint8)
        return flat.reshape(234, 836, 4)[:, :, :3].astype(int)

    clips = [PIPELINES / f'media/wall-{number}.webm' for number in (1, 2)]
    _, line = run(PIPELINES / 'wall', folder / 'boxes.png', *clips)
    run('bash', '-c', line.replace('boxoverlay', 'boxoverlay draw-boxes=false')
        .replace('boxes.png', 'plain.png'))
    boxed, plain = pixels('boxes'), pixels('plain')
    for tile in np.s_[:, :416], np.s_[:, 420:]:
        drawn = np.abs(boxed[tile] - plain[tile]).max(2) > 40
        assert .01 < drawn.mean() < .2, drawn.mean()
    assert (np.abs(plain[:, :416] - plain[:, 420:]).max(2) > 40).mean() > .3, 'of the same clip'
    assert 'the name of the picture' in run(PIPELINES / 'wall', status=2)[1]


def test_hero(folder):
    need_inference()
    need('webpenc')
    need('avwait')
    _, messages = run(PIPELINES / 'hero', folder / 'hero.webp')
    data = (folder / 'hero.webp').read_bytes()
    assert data[:4] == b'RIFF' and data[8:12] == b'WEBP' and 60 <= data.count(b'ANMF') <= 62, \
        (data[:12], data.count(b'ANMF'))
    assert 300_000 < len(data) < 1_500_000, len(data)
    assert 'boxtrack' in messages and 'one name is needed' in run(PIPELINES / 'hero', status=2)[1]


def test_pictures_of_what_is_kept(folder):
    need_inference()
    _, messages = run(PIPELINES / 'kept', folder / 'kept.png', PIPELINES / 'media/wall-1.webm', 20)
    data = (folder / 'kept.png').read_bytes()
    assert data.startswith(b'\x89PNG')
    strip = 44 if importlib.util.find_spec('cairo') else 0
    assert struct.unpack('>II', data[16:24]) == (1288, 360 + strip), 'no strip for the numbers'
    line = messages.splitlines()[0].replace(' -e ', ' -q -e ')
    before, decode = line.split(' ! tee name=tensors')[0], 'boxdecode score-threshold=0.5'
    counts = []
    for more in ('nms-method=none score-threshold=0.25', 'iou-threshold=0.5'):
        assert f'{more} ! ' in line, line
        out, _ = run('bash', '-c', f'{before} ! {decode} {more} ! boxsink')
        assert len(out.splitlines()) == 20
        counts.append(len(json.loads(out.splitlines()[-1])['objects']))
    assert counts[0] > 3 * counts[1] > 30, counts
    assert 'FRAME must be a number' in run(PIPELINES / 'kept', 'x', CLIP, 'y', status=2)[1]


def test_pictures_of_tiles(folder):
    need_inference()
    _, messages = run(PIPELINES / 'tiles', folder / 'tiles.png')
    strip = 44 if importlib.util.find_spec('cairo') else 0
    line = messages.splitlines()[0]
    assert line.count('tiles=4x3+whole') == 1, line
    assert line.count('left=1500 top=1000') == 2, line
    run('gst-launch-1.0', '-q', 'filesrc', f'location={folder / "tiles.png"}', '!', 'pngdec', '!',
        'videoconvert', '!', 'video/x-raw,format=RGBx', '!', 'filesink',
        f'location={folder / "raw"}')
    pixels = np.fromfile(folder / 'raw', np.uint8).reshape(470 + strip, 1288, 4)[:470].astype(int)
    boxes = (abs(pixels[:, :, :3] - (230, 159, 0)) < 12).all(2)  # drawn ones
    whole, tiles = boxes[:, :640].sum(), boxes[:, 648:].sum()
    assert tiles > 4 * whole > 0, f'{whole} pixels of boxes without tiles, {tiles} with tiles'
    for words, wrong in (((), 'one, two or four'), (('x', CLIP, 'y', 'z'), 'LEFT and TOP'),
                         (('--tiles', '3', 'x'), 'columns x rows'),
                         (('--track', 'x'), 'more than')):
        assert wrong in run(PIPELINES / 'tiles', *words, status=2)[1], words


def test_captions(folder):
    if not importlib.util.find_spec('cairo'):
        raise Skip('no pycairo')
    boxes, picture = folder / 'boxes.jsonl', folder / 'picture.png'
    run('gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', 'pattern=black', '!',
        'video/x-raw,width=400,height=20', '!', 'pngenc', '!', 'filesink', f'location={picture}')
    drawn = []
    for count in 1, 7:
        copy = folder / f'{count}.png'
        copy.write_bytes(picture.read_bytes())
        boxes.write_text('{"objects":[{}]}\n' + json.dumps({'objects': [{}] * count}) + '\n')
        run(PIPELINES / 'caption.py', copy, boxes, 'boxes')
        run('gst-launch-1.0', '-q', 'filesrc', f'location={copy}', '!', 'pngdec', '!',
            'videoconvert',
            '!', 'video/x-raw,format=GRAY8', '!', 'filesink', f'location={copy}.raw')
        drawn.append(np.fromfile(f'{copy}.raw', np.uint8).reshape(64, 400))
    strip = [picture[20:] < 128 for picture in drawn]
    assert all(picture[:20].max() < 30 for picture in drawn) and strip[0].any(), 'no words'
    # The number at the left differs, the word behind it does not.
    places = np.flatnonzero((strip[0] != strip[1]).any(0))
    assert 0 < len(places) and places.max() < 190, places
    _, messages = run(PIPELINES / 'caption.py', picture, boxes, 'a', boxes, status=1)
    assert 'WORDS are missing' in messages, messages


if __name__ == '__main__':
    main(globals())
