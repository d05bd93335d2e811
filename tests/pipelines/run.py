#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the scripts of pipelines/ like a user. Tests with whole clips are in clips.py and
tracks.py."""
import csv
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np

from tap import CLIP, PIPELINES, Skip, detect, main, need_inference, run

DECODE_TENSOR, NMS, EMBED, *DECODE_DEVICE = sys.argv[1:]


def labels_in(path):
    frames = [json.loads(line) for line in path.read_text().splitlines()]
    return frames, {box['detection']['label'] for frame in frames
                    for box in frame.get('objects', [])}


def check_demo(folder, wanted, *options):
    out, _ = run(PIPELINES / 'demo/run', *options, folder)
    frames, labels = labels_in(folder / 'demo.jsonl')
    assert wanted <= labels and len(labels) < 9, labels
    assert len(frames) > 5 and frames[0]['resolution'] == {'width': 1280, 'height': 720}
    assert (folder / 'demo.png').read_bytes().startswith(b'\x89PNG')
    assert 'gst-launch-1.0' in out and 'boxdecode ' in out and ' us (' in out, out
    line = next(line for line in out.splitlines() if line.startswith('gst-launch-1.0'))
    before = (folder / 'demo.jsonl').read_text()
    run('bash', '-c', line)
    assert (folder / 'demo.jsonl').read_text() == before, 'the line does something else'


def test_demo(folder):
    need_inference()
    check_demo(folder, {'person', 'car', 'bus', 'van', 'bicycle'})
    frames, _ = labels_in(folder / 'demo.jsonl')
    assert len(frames) == 125, len(frames)
    for number, frame in enumerate(frames[20:]):
        assert len(frame['objects']) > 10, number
        assert all(box.get('predicted', False) == number % 2 for box in frame['objects']), number


def test_demo_from_recorded_tensors(folder):
    check_demo(folder, {'circle', 'square', 'triangle', 'star', 'cross', 'ring'}, '--replay')


def test_demo_says_what_is_wrong(folder):
    (folder / 'demo.jsonl').mkdir()
    _, noise = run(PIPELINES / 'demo/run', '--replay', folder, status=1)
    assert 'demo: ' in noise and 'demo.jsonl' in noise, noise


def pixels(picture, folder):
    """Returns red, green and blue of each."""
    run('gst-launch-1.0', '-q', 'filesrc', f'location={picture}', '!', 'pngdec', '!',
        'videoconvert', '!', 'video/x-raw,format=RGBx', '!', 'filesink',
        f'location={folder}/pixels.raw')
    return np.fromfile(folder / 'pixels.raw', np.uint8).reshape(-1, 4)[:, :3].astype(int)


def boxes_of_models(lines):
    """Returns model, class and corner of each box of the first frame, sorted."""
    return sorted((box['detection']['model']['name'], box['detection']['label'], box['x'], box['y'])
                  for box in json.loads(lines.splitlines()[0])['objects'])


def test_cascade(folder):
    need_inference()
    street = PIPELINES / 'media/street.webm'
    _, messages = run(PIPELINES / 'cascade', street, folder / 'both.png')
    assert (folder / 'both.png').read_bytes().startswith(b'\x89PNG')
    drawn, shown = (pixels(path, folder)
                    for path in (folder / 'both.png', PIPELINES / 'cascade.png'))
    apart = np.abs(drawn - shown).max(1) > 40
    assert apart.mean() < .01, f"README's picture differs in {apart.mean():.0%} of its pixels"
    # The boxes of both on the full frame, as of each model alone.
    line = messages.splitlines()[0].split(' ! boxoverlay')[0].replace(' -e ', ' -q -e ')
    first = ' ! decodebin ! identity eos-after=2'
    both, _ = run('bash', '-c', line.replace(' ! decodebin', first) + ' ! boxsink')
    alone = []
    for model, classes, name in (('world-street', 'car,van,bus,truck', 'vehicles'),
                                 ('world-street-pose', 'person', 'people')):
        out, _ = run('bash', '-c',
                     f'gst-launch-1.0 -q -e filesrc location={shlex.quote(str(street))}'
                     f'{first} ! videoconvert ! tensorinfer'
                     f' model-file={shlex.quote(str(PIPELINES))}/models/{model}.onnx'
                     f' ! boxdecode score-threshold=0.5 include-classes={classes}'
                     f' model-name={name} ! boxsink')
        alone += boxes_of_models(out)
    assert boxes_of_models(both) == sorted(alone), both
    assert {name for name, *_ in alone} == {'vehicles', 'people'}, alone


def test_objects(folder):
    need_inference()
    read, messages = run(PIPELINES / 'objects', PIPELINES / 'media/street.webm',
                         folder / 'objects.png')
    assert 'WARNING' not in messages, messages
    assert [line.split()[0] for line in sorted(read.splitlines())] == \
        ['CR055Z', 'NJ073Z', 'SC382S', 'VU545W'], read
    drawn, shown = (pixels(place / 'objects.png', folder) for place in (folder, PIPELINES))
    apart = np.abs(drawn - shown).max(1) > 40
    assert apart.mean() < .02, f"the page's picture differs in {apart.mean():.0%} of its pixels"


def test_gpu_falls_back(folder):
    need_inference()
    _, messages = run(PIPELINES / 'gpu', PIPELINES / 'media/shapes.webm', folder / 'gpu.jsonl')
    detect(CLIP, '--confidence', .5, '--provider', 'cpu', '--boxes', folder / 'file.jsonl')
    assert 'gst-launch-1.0' in messages
    found, others = (labels_in(folder / name)[0] for name in ('gpu.jsonl', 'file.jsonl'))
    assert len(found) == len(others) == 250
    # Except on the CPU, numbers differ in their last digits.
    for frame, other in zip(found[::50], others[::50]):
        boxes, expected = ([(box['detection']['label'], box['x'], box['y'])
                            for box in each['objects']] for each in (frame, other))
        assert len(boxes) == len(expected), boxes
        for (label, x, y), (wanted, at_x, at_y) in zip(sorted(boxes), sorted(expected)):
            assert label == wanted and abs(x - at_x) < 4 and abs(y - at_y) < 4, boxes


def test_detect_prints_boxes(folder):
    need_inference()
    out, _ = run(PIPELINES / 'detect.py', PIPELINES / 'models/shapes.onnx',
                 PIPELINES / 'media/shapes.webm')
    table, _ = run('bash', '-c', f'gst-launch-1.0 -q filesrc location={PIPELINES}/media/shapes.webm'
                   ' ! decodebin ! videoconvert ! video/x-raw,format=RGB'
                   f' ! tensorinfer model-file={PIPELINES}/models/shapes.onnx ! boxdecode'
                   ' ! boxsink format=csv')
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len({row['frame'] for row in rows}) == 250
    for shown, row in zip(out.splitlines(), rows, strict=True):
        x1, y1, x2, y2 = (float(row[name]) for name in ('x1', 'y1', 'x2', 'y2'))
        time, label, score, size, _, place = shown.split()
        found = [float(number) for number in (score, *size.split('x'), *place.split(','))]
        wanted = [float(row['score']), x2 - x1, y2 - y1, x1, y1]
        assert (label, round(float(time) * 25)) == (row['label'], int(row['frame'])), row
        assert all(abs(a - b) < .06 for a, b in zip(found, wanted)), f'{shown}: {row}'
    _, messages = run(PIPELINES / 'detect.py', folder / 'none.onnx',
                      PIPELINES / 'media/shapes.webm', status=1)
    assert 'none.onnx' in messages and 'model-file=' in messages, messages


def tensor_file(folder):
    """Returns one frame of the demo's recorded tensors as float32."""
    import numpy as np
    raw = np.fromfile(PIPELINES / 'media/shapes-tensors.f16.raw', np.float16, 10 * 2100)
    path = folder / 'tensor.raw'
    raw.astype(np.float32).tofile(path)
    return path


def test_decode_tensor(folder):
    out, _ = run(DECODE_TENSOR, tensor_file(folder), '1,10,2100', 'detector=yolov8')
    rows = [line for line in out.splitlines() if not line.startswith('#')]
    assert len(rows) >= 4 and len(rows[0].split()) == 7, out
    _, noise = run(DECODE_TENSOR, tensor_file(folder), '1x10x2101', 'detector=yolov8', status=1)
    assert '84000 bytes, not those of 1x10x2101' in noise, noise
    run(DECODE_TENSOR, status=2)


def test_nms(folder):
    del folder
    lines = '0 0 10 10 0.8 0\n1 0 11 10 0.9 0\n1 0 11 10 0.7 1\n50 50 60 60 0.6 0\n'
    done = subprocess.run([NMS], input=lines, capture_output=True, text=True, check=True)
    assert [line.split()[4] for line in done.stdout.splitlines()] == ['0.9', '0.7', '0.6'], done
    done = subprocess.run([NMS, 'iou-threshold=0.9 max-detections=1'], input=lines, text=True,
                          capture_output=True, check=True)
    assert done.stdout == '1 0 11 10 0.9 0\n', done
    done = subprocess.run([NMS, 'iou=0.9'], input=lines, text=True, capture_output=True,
                          check=False)
    assert done.returncode == 1 and 'iou-threshold' in done.stderr, done
    assert subprocess.run([NMS], input='0 0 x', text=True, capture_output=True,
                          check=False).returncode == 2


def test_decode_on_a_gpu(folder):
    del folder
    if not DECODE_DEVICE:
        raise Skip('a build without CUDA')
    done = subprocess.run(DECODE_DEVICE, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode == 77 and 'cuda' not in os.environ.get('KEEPBOX_REQUIRE', ''):
        raise Skip('no CUDA device')
    assert done.stdout == '1 box, class 2, 0.90: 810 225 1110 375\n', done


def test_embed(folder):
    out, _ = run(EMBED)
    assert len(out.splitlines()) == 20 and 'class-1 0.90, 80 x 60 at 20, 40' in out, out
    run(EMBED, '--other', status=2)


def test_embed_on_a_gpu(folder):
    done = subprocess.run([EMBED, '--cuda'], capture_output=True, text=True, timeout=100)
    if done.returncode == 77 and 'cuda' not in os.environ.get('KEEPBOX_REQUIRE', ''):
        raise Skip('no CUDA device, or a build without CUDA')
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 20, done.stderr


def test_python_reader(folder):
    if subprocess.run([sys.executable, '-c', 'import gi; gi.require_version("Keepbox", "1.0")'],
                      capture_output=True, check=False).returncode:
        raise Skip('no gi.repository.Keepbox')
    line = (f'tensorreplay location={tensor_file(folder)} dims=1,10,2100'
            ' ! boxdecode model-name=shapes')
    out, _ = run(PIPELINES / 'boxes.py', line)
    table, _ = run('gst-launch-1.0', '-q', *f'{line} ! boxsink format=csv'.split())
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) >= 4 and any(float(row['x1']) % 1 for row in rows), table
    for shown, row in zip(out.splitlines(), rows, strict=True):
        x1, y1, x2, y2 = (float(row[name]) for name in ('x1', 'y1', 'x2', 'y2'))
        assert shown == (f'   0.000 s  shapes {row["class_id"]} {row["label"]} '
                         f'{float(row["score"]):.3f}  {x2 - x1:.2f} x {y2 - y1:.2f} '
                         f'at {x1:.2f}, {y1:.2f}'), row
    run(PIPELINES / 'boxes.py', status=1)
    _, messages = run(PIPELINES / 'boxes.py', f'filesrc location={folder / "none"}', status=1)
    assert 'Resource not found' in messages, messages


if __name__ == '__main__':
    main(globals())
