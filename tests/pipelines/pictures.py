#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs keepbox detect on folders of pictures with names of all kinds."""
import csv
import json

from tap import MODEL, PIPELINES, PROGRAM, detect, main, need, need_inference, run

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
    (place / 'notes.txt').write_text('no picture')
    return place


def boxes_of(line):
    return sorted((box['detection']['label'], box['x'], box['y']) for box in line['objects'])


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def near(found, expected, off):
    assert [box[0] for box in found] == [box[0] for box in expected], (found, expected)
    for box, other in zip(found, expected):
        assert max(abs(a - b) for a, b in zip(box[1:], other[1:])) <= off, (box, other)


def test_each_picture_has_a_line_with_its_name(folder):
    need_all()
    place, out = lay_out(folder), folder / 'new/results.jsonl'
    table, messages = detect(place, '--confidence', .5, '--boxes', out)
    assert not messages and '\n3 pictures in ' in table, (messages, table)
    lines = {line['source']: line for line in lines_of(out)}
    assert list(lines) == [f'{place}/{name}' for name in sorted(ENCODERS)], list(lines)
    # alone, and by a line of elements
    photo = place / 'Straße.ppm'
    detect(photo, '--confidence', .5, '--boxes', folder / 'one.jsonl')
    whole, = lines_of(folder / 'one.jsonl')
    text, _ = run('gst-launch-1.0', '-q', 'filesrc', f'location={photo}', '!', 'decodebin3', '!',
                  'videoconvert', '!', 'tensorinfer', f'model-file={MODEL}', '!', 'boxdecode',
                  'score-threshold=0.5', '!', 'boxsink')
    assert json.loads(text)['objects'] == whole['objects'] == lines[str(photo)]['objects']
    assert lines[f'{place}/{NARROW}']['resolution'] == {'width': 1277, 'height': 720}
    for line in lines.values():
        near(boxes_of(line), boxes_of(whole), 8)


def test_each_picture_is_drawn(folder):
    need_all()
    place, out = lay_out(folder), folder / 'results'
    (folder / 'more').mkdir()
    (folder / 'more' / NARROW).write_bytes((place / NARROW).read_bytes())
    detect(place, folder / 'more' / NARROW, '-o', out)
    starts = {'000000000724.jpg': b'\xff\xd8', 'b c.png': b'\x89PNG',
              'Straße.ppm.jpg': b'\xff\xd8', 'b c-2.png': b'\x89PNG'}
    assert sorted(path.name for path in out.iterdir()) == sorted(starts)
    for name, start in starts.items():
        assert (out / name).read_bytes().startswith(start), name
    for name in ENCODERS:
        assert (place / name).exists()
    # with boxes, and in straight rows: mostly as before
    frames = [frame for path in (place / NARROW, out / NARROW) for frame in pixels(path, folder)]
    apart = sum(abs(a - b) > 40 for a, b in zip(*frames)) / len(frames[0])
    assert 0.005 < apart < 0.2, apart
    detect(place / NARROW, '-o', folder / 'one.png')
    assert (folder / 'one.png').read_bytes() == (out / NARROW).read_bytes()


def pixels(path, folder):
    run('gst-launch-1.0', '-q', 'filesrc', f'location={path}', '!', 'pngdec', '!', 'videoconvert',
        '!', 'video/x-raw,format=GRAY8', '!', 'filesink', f'location={folder}/pixels.raw')
    yield (folder / 'pixels.raw').read_bytes()


def test_options(folder):
    need_all()
    place, out = lay_out(folder), folder / 'boxes.csv'
    detect(place, '--classes', 'star,ring', '--confidence', .6, '--boxes', out)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert {row['label'] for row in rows} == {'star', 'ring'}, rows
    assert {row['frame'] for row in rows} == {'0', '1', '2'}, rows
    assert min(float(row['score']) for row in rows) > .6
    text, table = detect(place, '--boxes', '-', model=PIPELINES / 'models/shapes-obb.onnx')
    assert text.count('\n') == 3 and '"rotation"' in text and '3 pictures' in table, table


def test_pictures_and_videos(folder):
    """Each video has a file, all pictures have one."""
    need_all()
    place, out = lay_out(folder), folder / 'boxes'
    run('gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=5', '!', 'jpegenc', '!', 'matroskamux',
        '!', 'filesink', f'location={place}/50% off.mkv')
    table, _ = detect(place, '--boxes', out, '-o', folder / 'drawn/')
    assert sorted(path.name for path in out.iterdir()) == ['50% off.jsonl', 'pictures.jsonl']
    assert len(lines_of(out / '50% off.jsonl')) == 5 and len(lines_of(out / 'pictures.jsonl')) == 3
    drawn = {path.name for path in (folder / 'drawn').iterdir()}
    assert drawn in ({'50% off.mp4', 'Straße.ppm.jpg', *ENCODERS} - {'Straße.ppm'},
                     {'50% off.webm', 'Straße.ppm.jpg', *ENCODERS} - {'Straße.ppm'}), drawn
    assert '\n8 frames in ' in table, table


def test_what_cannot_be_read_is_left_out(folder):
    need_all()
    place, out = lay_out(folder), folder / 'boxes.jsonl'
    (place / 'broken.jpg').write_bytes(b'\xff\xd8 and then nothing of a picture')
    _, messages = detect(place, '--boxes', out, status=1)
    assert messages.count('\n') == 0 and f'{place}/broken.jpg cannot be read and is left out' in \
        messages, messages
    assert len(lines_of(out)) == 3
    _, messages = detect(place / 'broken.jpg', status=1)
    assert 'broken.jpg' in messages and 'Traceback' not in messages, messages


def test_what_is_wrong_is_said_first(folder):
    need_all()
    place = lay_out(folder)
    for words, messages in (([place, '-o', place], 'is the folder of the pictures'),
                            ([place, '-o', folder / 'a.png'], 'there are 3 pictures'),
                            ([place / NARROW, '-o', folder / 'a.gif'], 'a picture is written as'),
                            ([place / NARROW, '-o', place / NARROW], 'is an input'),
                            ([place, '--boxes', place / NARROW, '--format', 'csv'], 'is an input'),
                            ([place, '--show'], '--show is for videos')):
        assert messages in detect(*words, status=2)[1], words
    (place / 'more').mkdir()
    said = detect(place / 'more', status=2)[1]
    assert f'neither pictures nor videos in the folder {place}/more: it is empty' in said, said
    said = detect(place, '--classes', 'nosuch', '-o', folder / 'out', status=1)[1]
    assert 'nosuch' in said and said.count('\n') == 0, said
    assert 'is a picture' in run(PROGRAM, 'line', place, '--model', MODEL, status=2)[1]


def test_a_full_disk(folder):
    need_all()
    place = lay_out(folder)
    said = detect(place, '--boxes', '/dev/full', status=1, timeout=60)[1]
    assert '/dev/full' in said and said.count('\n') == 0, said
    (folder / 'drawn').mkdir()
    (folder / f'drawn/{NARROW}').mkdir()
    said = detect(place, '-o', folder / 'drawn', status=1, timeout=60)[1]
    assert f'drawn/{NARROW}' in said and said.count('\n') == 0, said


if __name__ == '__main__':
    main(globals())
