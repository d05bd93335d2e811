#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every script of pipelines/ as a user would, and real photos through a real model."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ['KEEPBOX_SOURCE'])
DATA = pathlib.Path(os.environ['KEEPBOX_TEST_DATA'])
PIPELINES = SOURCE / 'pipelines'
DECODE_TENSOR, EMBED = sys.argv[1:]


class Skip(Exception):
    pass


def run(*command, status=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors='replace', timeout=400, **options)
    noise = [line for line in done.stderr.splitlines() if line and 'Schema error' not in line]
    assert done.returncode == status, f'{command[0]} ended with {done.returncode}: {noise[-5:]}'
    return done.stdout, '\n'.join(noise)


def need(element):
    if subprocess.run(['gst-inspect-1.0', '--exists', element]).returncode:
        raise Skip(f'no {element}')


def inference_options():
    text = subprocess.run(['gst-inspect-1.0', 'onnxinference'], capture_output=True, text=True).stdout
    return ['input-image-format=chw'] if 'input-image-format' in text else []


def labels_in(path):
    frames = [json.loads(line) for line in path.read_text().splitlines()]
    return frames, {box['detection']['label'] for frame in frames for box in frame['objects']}


def check_demo(folder, *options):
    out, _ = run(PIPELINES / 'demo/run', *options, folder)
    frames, labels = labels_in(folder / 'demo.jsonl')
    assert labels == {'circle', 'square', 'triangle', 'star', 'cross', 'ring'}, labels
    assert len(frames) > 5 and frames[0]['resolution'] == {'width': 1280, 'height': 720}
    assert (folder / 'demo.png').read_bytes().startswith(b'\x89PNG')
    assert 'gst-launch-1.0' in out and 'boxdecode took' in out, out
    line = next(line for line in out.splitlines() if line.startswith('gst-launch-1.0'))
    before = (folder / 'demo.jsonl').read_text()
    run('bash', '-c', line)
    assert (folder / 'demo.jsonl').read_text() == before, 'the line does something else'


def test_demo(folder):
    need('onnxinference')
    check_demo(folder)


def test_demo_from_recorded_tensors(folder):
    check_demo(folder, '--replay')


def test_camera(folder):
    need('onnxinference')
    _, noise = run(PIPELINES / 'camera', 'videotestsrc num-buffers=3 pattern=ball', 'fakesink')
    assert 'gst-launch-1.0 videotestsrc' in noise


def test_file(folder):
    need('onnxinference')
    run(PIPELINES / 'file', PIPELINES / 'media/shapes.webm', folder / 'boxes.jsonl')
    frames, labels = labels_in(folder / 'boxes.jsonl')
    assert len(frames) > 100 and 'star' in labels
    run(PIPELINES / 'file', status=2)


def tensor_file(folder):
    """One frame of the demo's recorded tensors, as float32."""
    import numpy as np
    raw = np.fromfile(PIPELINES / 'media/shapes-tensors.f16.raw', np.float16, 10 * 2100)
    path = folder / 'tensor.raw'
    raw.astype(np.float32).tofile(path)
    return path


def test_decode_tensor(folder):
    out, _ = run(DECODE_TENSOR, tensor_file(folder), '1,10,2100', 'yolov8')
    rows = [line for line in out.splitlines() if not line.startswith('#')]
    assert len(rows) >= 4 and len(rows[0].split()) == 7, out
    _, noise = run(DECODE_TENSOR, tensor_file(folder), '1,10,2101', 'yolov8', status=1)
    assert '84040 bytes' in noise, noise
    run(DECODE_TENSOR, status=2)


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
    out, _ = run(PIPELINES / 'boxes.py',
                 f'tensorreplay location={tensor_file(folder)} dims=1,10,2100 ! boxdecode')
    assert len(out.splitlines()) >= 4 and 'class-' in out, out
    run(PIPELINES / 'boxes.py', status=1)


def test_photos_through_yolox(folder):
    if not (DATA / 'yolox').is_dir():
        raise Skip('no photos on this machine')
    need('onnxinference')
    expected = json.loads((DATA / 'expected.json').read_text())
    for photo in sorted((DATA / 'yolox').glob('*.jpg')):
        entry = expected[f'yolox/{photo.stem}.yolox.raw']
        run('gst-launch-1.0', '-q', 'filesrc', f'location={photo}', '!', 'jpegdec', '!', 'framesave',
            '!', 'videoconvertscale', '!',
            'video/x-raw,format=BGR,width=416,height=416,pixel-aspect-ratio=1/1', '!',
            'onnxinference', f'model-file={DATA}/yolox/yolox_nano.onnx', *inference_options(), '!',
            'boxdecode', f'score-threshold={entry["score_threshold"]}',
            f'iou-threshold={entry["iou_threshold"]}', f'label-file={DATA}/yolox/coco.labels', '!',
            'framerestore', '!', 'boxsink', f'location={folder}/photo.jsonl')
        found = json.loads((folder / 'photo.jsonl').read_text())['objects']
        assert [box['detection']['label'] for box in found] == [b['label'] for b in entry['boxes']]
        for box, want in zip(found, entry['boxes']):
            got = [box['x'], box['y'], box['x'] + box['w'], box['y'] + box['h']]
            apart = max(abs(a - b) for a, b in zip(got, want['frame_xyxy']))
            assert apart <= 1, f'{photo.name} {want["label"]}: {got} is {apart:.2f} pixels off'


def main():
    tests = [value for name, value in globals().items() if name.startswith('test_')]
    print(f'1..{len(tests)}', flush=True)
    for number, test in enumerate(tests, 1):
        name = test.__name__.removeprefix('test_').replace('_', ' ')
        folder = pathlib.Path(tempfile.mkdtemp(prefix='keepbox-'))
        try:
            test(folder)
            print(f'ok {number} - {name}', flush=True)
        except Skip as reason:
            print(f'ok {number} - {name} # SKIP {reason}', flush=True)
        except Exception as error:  # a test that fails in any way has failed
            print(f'not ok {number} - {name}', flush=True)
            print('\n'.join('# ' + line for line in f'{type(error).__name__}: {error}'.splitlines()),
                  flush=True)
        finally:
            shutil.rmtree(folder)


main()
