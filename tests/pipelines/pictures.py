#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines/pictures on folders of pictures with names of all kinds."""
import json

from tap import PIPELINES, main, need, need_inference, run

SCRIPT = PIPELINES / 'pictures'
ENCODERS = {'000000000724.jpg': 'jpegenc', 'b c.png': 'pngenc', 'Straße.ppm': 'pnmenc'}
NARROW = 'b c.png'  # an odd width, whose rows end in padding


def need_all():
    need_inference()
    need('boxoverlay')


def lay_out(folder):
    """Writes a frame of the clip in several formats, and files that are no pictures."""
    place = folder / 'pictures of mine'
    place.mkdir()
    for name, encoder in ENCODERS.items():
        size = 'width=1277' if name == NARROW else 'width=1280'
        run('gst-launch-1.0', '-q', 'filesrc', f'location={PIPELINES}/media/shapes.webm', '!',
            'decodebin', '!', 'identity', 'eos-after=2', '!', 'videoconvertscale', '!',
            f'video/x-raw,format=RGB,{size}', *('!', 'videoconvert', '!') * (encoder == 'jpegenc'),
            *('!',) * (encoder != 'jpegenc'), encoder, '!', 'filesink', f'location={place / name}')
    (place / 'broken.jpg').write_bytes(b'\xff\xd8 and then nothing of a picture')
    (place / 'notes.txt').write_text('no picture')
    return place


def boxes_of(line):
    return sorted((box['detection']['label'], box['x'], box['y']) for box in line['objects'])


def near(found, expected, off):
    assert [box[0] for box in found] == [box[0] for box in expected], (found, expected)
    for box, other in zip(found, expected):
        assert max(abs(a - b) for a, b in zip(box[1:], other[1:])) <= off, (box, other)


def test_each_picture_has_a_line_with_its_name(folder):
    need_all()
    place, out = lay_out(folder), folder / 'new/results'
    _, messages = run(SCRIPT, place, out)
    assert 'broken.jpg' in messages and 'notes.txt' not in messages, messages
    texts = (out / 'boxes.jsonl').read_text().splitlines()
    lines = {line['picture']: line for line in map(json.loads, texts)}
    assert list(lines) == sorted(ENCODERS), list(lines)
    run(PIPELINES / 'file', place / 'Straße.ppm', folder / 'one.jsonl')
    whole = json.loads((folder / 'one.jsonl').read_text())
    near(boxes_of(lines['Straße.ppm']), boxes_of(whole), 1e-3)
    assert whole['resolution'] == lines['Straße.ppm']['resolution']
    assert lines[NARROW]['resolution'] == {'width': 1277, 'height': 720}
    for line in lines.values():
        near(boxes_of(line), boxes_of(whole), 8)
    box, same = lines['Straße.ppm']['objects'][0], whole['objects'][0]
    for key in 'w', 'h', 'roi_type':
        assert box[key] == same[key] or abs(box[key] - same[key]) < 1e-3, (box, same)
    assert set(box['detection']) <= set(same['detection']), (box, same)


def test_each_picture_is_drawn(folder):
    need_all()
    place, out = lay_out(folder), folder / 'results'
    run(SCRIPT, place, out)
    starts = {'000000000724.jpg': b'\xff\xd8', 'b c.png': b'\x89PNG', 'Straße.ppm.jpg': b'\xff\xd8'}
    assert sorted(path.name for path in out.iterdir()) == sorted([*starts, 'boxes.jsonl'])
    for name, start in starts.items():
        assert (out / name).read_bytes().startswith(start), name
    for name in ENCODERS:
        assert (place / name).exists()
    # with boxes, and in straight rows: mostly as before
    frames = [frame for path in (place / NARROW, out / NARROW) for frame in pixels(path, folder)]
    apart = sum(abs(a - b) > 40 for a, b in zip(*frames)) / len(frames[0])
    assert 0.005 < apart < 0.2, apart


def pixels(path, folder):
    run('gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'pngdec', '!', 'videoconvert',
        '!', 'video/x-raw,format=GRAY8', '!', 'filesink', f'location={folder}/pixels.raw')
    yield (folder / 'pixels.raw').read_bytes()


def test_options(folder):
    need_all()
    place, out = lay_out(folder), folder / 'results'
    run(SCRIPT, '--classes', 'star,ring', '--threshold', '0.6', place, out)
    found = [box for line in (out / 'boxes.jsonl').read_text().splitlines()
             for box in json.loads(line).get('objects', [])]
    assert {box['roi_type'] for box in found} == {'star', 'ring'}, found
    assert min(box['detection']['confidence'] for box in found) > 0.6
    run(SCRIPT, '--model', PIPELINES / 'models/shapes-obb.onnx', place, out)
    assert '"rotation"' in (out / 'boxes.jsonl').read_text()


def test_what_is_wrong_is_said_first(folder):
    place = folder / 'pictures'
    place.mkdir()
    for words, messages in (([place], '1 names were given'),
                            ([folder / 'nosuch', folder / 'out'], 'there is no folder'),
                            ([place, place], "the folder of the pictures"),
                            (['--modle', 'x'], '--modle is not an option'),
                            ([place, folder / 'out', '--model'], '--model needs a value'),
                            (['--threshold', 'low', place, folder / 'out'], 'not low')):
        assert messages in run(SCRIPT, *words, status=2)[1], words
    need_all()
    for words, messages in (([place], 'no pictures in the folder'),
                            (['--classes', 'nosuch', lay_out(folder)], 'nosuch')):
        assert messages in run(SCRIPT, *words, folder / 'out', status=1)[1], words


if __name__ == '__main__':
    main(globals())
