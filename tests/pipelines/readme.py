#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of README.md and docs/ as printed, in a folder like a fresh clone, next to the
user's own photo and model. install.py covers embedding, switching.py its page."""
import csv
import io
import json
import os
import re
import shutil
import subprocess

import yolox
from tap import (DATA, PIPELINES, SOURCE, Skip, blocks_of, blocks_of_pages, main, need, pages,
                 run)

DOCS = SOURCE / 'docs'
SWITCHING = DOCS / 'switching.md'
RENAME = re.compile(r'! capssetter \S+ *\\?\n? *')


def is_photo_line(block):
    return 'photo.jpg' in block


def is_gpu_line(block):
    return 'memory=cuda' in block


def is_tried_elsewhere(block):
    """./dev runs these tests itself; install.py installs and compiles, program.py has the page of
    the program."""
    return any(words in block for words in ('./dev ', 'meson install', 'cc app.c',
                                            'keepbox detect ', 'keepbox line ', 'keepbox doctor ',
                                            'model-name=oriented', 'rows.', 'mp4mux'))


def photo_line(inference='tensorinfer'):
    line, = (block for block in blocks_of_pages('sh')
             if is_photo_line(block) and inference in block)
    return line


def stock_line():
    return photo_line('onnxinference')


def need_tool():
    if shutil.which('keepbox') is None:
        raise Skip('no program keepbox')


def lay_out(folder, photo='000000000139.jpg'):
    (folder / 'pipelines').symlink_to(PIPELINES)
    if not (DATA / 'yolox').is_dir():
        return
    for name, target in {'photo.jpg': photo, 'yolox_nano.onnx': 'yolox_nano.onnx',
                         'yolox_nano.onnx.modelinfo': 'yolox_nano.onnx.modelinfo',
                         'coco.labels': 'coco.labels'}.items():
        (folder / name).symlink_to(DATA / 'yolox' / target)


def need_photos(inference='tensorinfer'):
    if not (DATA / 'yolox').is_dir():
        raise Skip('no photos on this machine')
    need(inference)


def launch(line, folder, status=0):
    """Runs a line; from GStreamer 1.28 on without the property that README says to omit. Returns
    its boxes, from the file that it names or from stdout, and its stderr."""
    inspected = subprocess.run(['gst-inspect-1.0', 'onnxinference'], capture_output=True, text=True,
                               check=False).stdout
    if 'input-image-format' not in inspected:
        line = line.replace(' input-image-format=chw', '')
    out, messages = run('bash', '-c', line, cwd=folder, status=status)
    named = re.search(r'! boxsink (?:format=\w+ )?location=(\S+)', line)
    if not named or status:
        return out, messages
    written = sorted(folder.glob(re.sub('%[0-9]*[A-Za-z]', '*', named[1])))
    return ''.join(path.read_text() for path in written), messages


def boxes_in(text):
    rows = list(csv.reader(io.StringIO(text)))[1:]
    return [(int(row[3]), float(row[4]), [float(number) for number in row[5:9]]) for row in rows]


def compare(found, expected, score_off=1e-3, apart=1):
    assert [box[0] for box in found] == [box[0] for box in expected], f'{found} is not {expected}'
    for (_, score, corners), (_, want, truth) in zip(found, expected):
        off = max(abs(a - b) for a, b in zip(corners, truth))
        assert abs(score - want) <= score_off and off <= apart, \
            f'{score} at {corners}, where ONNX Runtime by itself has {want} at {truth}'


def test_stock_line_has_the_boxes_of_the_model_by_itself(folder):
    need_photos('onnxinference')
    sizes = json.loads((DATA / 'expected.json').read_text())
    for photo in sorted((DATA / 'yolox').glob('*.jpg')):
        place = folder / photo.stem
        place.mkdir()
        lay_out(place, photo.name)
        out, messages = launch(stock_line(), place)
        assert not messages, messages
        expected = yolox.expected_boxes(photo, sizes[f'yolox/{photo.stem}.yolox.raw']['frame'],
                                        place / 'yolox_nano.onnx', place)
        compare(boxes_in(out), expected)


def test_that_comparison_sees_red_and_blue_swapped(folder):
    need_photos('onnxinference')
    lay_out(folder)
    swapped, count = RENAME.subn('', stock_line())
    assert count == 1, stock_line()
    out, _ = launch(swapped, folder)
    expected = yolox.expected_boxes(folder / 'photo.jpg', (640, 426), folder / 'yolox_nano.onnx',
                                    folder)
    try:
        compare(boxes_in(out), expected)
    except AssertionError:
        return
    raise AssertionError('boxes of the swapped picture pass for those of the model')


def test_photo_line_prints_what_its_page_shows(folder):
    need_photos()
    lay_out(folder)
    shown, = (block for block in blocks_of_pages('') if block.startswith('frame,timestamp,'))
    *rows, rest = shown.splitlines()
    assert rest == '...' and len(rows) > 2, shown
    out, _ = launch(photo_line(), folder)
    assert out.splitlines()[0] == rows[0], out
    compare(boxes_in(out)[:len(rows) - 1], boxes_in('\n'.join(rows)))


def test_photo_line_turns_a_photo_as_it_was_held(folder):
    need_photos()
    lay_out(folder)
    straight = boxes_in(launch(photo_line(), folder)[0])
    (folder / 'held').mkdir()
    run('gst-launch-1.0', '-q', 'filesrc', 'location=photo.jpg', '!', 'jpegdec', '!', 'videoflip',
        'video-direction=90l', '!', 'jpegenc', 'quality=95', '!', 'taginject',
        'tags=image-orientation=rotate-90', '!', 'jifmux', '!', 'filesink',
        'location=held/photo.jpg', cwd=folder)
    (folder / 'photo.jpg').unlink()
    (folder / 'held/photo.jpg').rename(folder / 'photo.jpg')
    held = boxes_in(launch(photo_line(), folder)[0])
    compare(held[:1], straight[:1], score_off=0.01, apart=2)


def test_photo_line_says_what_is_wrong(folder):
    need_photos()
    lay_out(folder)
    _, messages = launch(photo_line().replace('photo.jpg', 'photos.jpg'), folder, status=255)
    assert 'No such file "photos.jpg"' in messages, messages


def test_photo_line_draws_a_picture(folder):
    need_photos()
    need('boxoverlay')
    lay_out(folder)
    tail, = re.findall(r'`\.\.\. ! boxdecode (! videoconvert ! boxoverlay .*?)`',
                       (DOCS / 'pipelines.md').read_text(), re.S)
    launch(re.sub(r'! boxsink .*', tail.replace('\n', ' '), photo_line()), folder)
    assert (folder / 'boxes.jpg').read_bytes().startswith(b'\xff\xd8')


def test_line_of_an_annotated_video(folder):
    need('openh264enc')
    need('boxoverlay')
    lay_out(folder)
    line, = (block for block in blocks_of_pages('sh') if 'mp4mux' in block)
    run('bash', '-c', line, cwd=folder)
    assert (folder / 'boxes.mp4').read_bytes()[4:8] == b'ftyp'
    run('gst-launch-1.0', '-q', 'filesrc', 'location=boxes.mp4', '!', 'qtdemux', '!', 'h264parse',
        '!', 'multifilesink', 'location=frame%d', cwd=folder)
    assert len(list(folder.glob('frame*'))) == 250


def test_gpu_line(folder):
    lay_out(folder)
    line, = (block for block in blocks_of_pages('sh') if is_gpu_line(block))
    done = subprocess.run(['bash', '-c', line], cwd=folder, capture_output=True, text=True,
                          timeout=100, check=False)
    if done.returncode and 'cuda' not in os.environ.get('KEEPBOX_REQUIRE', ''):
        assert 'CUDA' in done.stderr, done.stderr
        raise Skip('no CUDA device, or a build without CUDA')
    assert done.returncode == 0, done.stderr
    assert '"detection"' in (folder / 'boxes.jsonl').read_text(), done.stdout


def test_every_other_line(folder):
    lay_out(folder)
    others = [block for page in pages() if page != SWITCHING for block in blocks_of(page, 'sh')
              if not (is_photo_line(block) or is_gpu_line(block) or is_tried_elsewhere(block))]
    assert others
    for line in others:
        out, messages = launch(line, folder)
        assert '"detection"' in out and not messages, f'{line}{out[-500:]}{messages}'


def test_lines_print_warnings(folder):
    """-q would hide them, and boxes on stdout need it."""
    del folder
    quiet = [block for block in blocks_of_pages('sh')
             if re.search(r'gst-launch-1.0 (-\w )*-q', block)]
    assert not quiet, quiet


def test_line_of_two_models_has_the_boxes_of_both(folder):
    need('tensorinfer')
    lay_out(folder)
    line, = (block for block in blocks_of_pages('sh') if 'model-name=oriented' in block)
    out, messages = launch(line, folder)
    frames = [json.loads(text) for text in out.splitlines()]
    assert not messages, messages
    assert len(frames) == 250
    for frame in frames:
        found = {model: [box for box in frame['objects']
                         if box['detection']['model']['name'] == model]
                 for model in ('upright', 'oriented')}
        assert min(map(len, found.values())) >= 8, frame
        assert not any('rotation' in box for box in found['upright'])
        assert any('rotation' in box for box in found['oriented'])


def test_family_step_by_step(folder):
    """Runs the blocks of that section one after the other, in one folder."""
    need_tool()
    page = DOCS / 'families.md'
    steps = [block for block in blocks_of(page, 'sh') if 'rows.' in block]
    detector, = (block for block in blocks_of(page, 'ini') if 'name=rows' in block)
    assert len(steps) == 6, steps
    for step in steps:
        out, messages = run('bash', '-c', step, cwd=folder)
        warns = 'WARNING' in out and 'yolov10' in out
        assert warns == ('on-mismatch=warn' in step), out + messages
        if 'keepbox detector yolov10' in step:
            assert 'coding=corners' in (folder / 'rows.detector').read_text()
            (folder / 'rows.detector').write_text(detector)
    boxes = [(box['roi_type'], box['x'], box['y'], box['w'], box['h'])
             for box in json.loads((folder / 'boxes.jsonl').read_text())['objects']]
    assert boxes == [('person', 10, 20, 30, 40), ('car', 200, 20, 30, 40)], boxes


def test_detector_files_are_families(folder):
    need_tool()
    (folder / 'rows.labels').write_text('car\ndog\nperson\n')
    for block in blocks_of_pages('ini'):
        (folder / 'family.detector').write_text(block)
        run('keepbox', 'detector', 'family.detector', cwd=folder)


def test_crop_and_flip_do_what_the_limits_say(folder):
    lay_out(folder)
    version = run('gst-launch-1.0', '--gst-version')[0].split()[-1]
    moves = tuple(int(part) for part in version.split('.')[:2]) >= (1, 28)
    for element in 'videocrop left=40', 'videoflip video-direction=horiz':
        out, _ = run('bash', '-c', 'gst-launch-1.0 -q videotestsrc num-buffers=2'
                     ' ! video/x-raw,format=RGB,width=320,height=320'
                     ' ! tensorreplay location=pipelines/media/shapes-tensors.f16.raw'
                     f' dims=1,10,2100 type=float16 ! boxdecode ! {element} ! boxsink format=csv',
                     cwd=folder)
        assert (len(out.splitlines()) > 1) == moves, f'{element} of {version}: {out}'


if __name__ == '__main__':
    main(globals())
