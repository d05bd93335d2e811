#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the program keepbox like a user: detect, line, doctor, and the commands of other programs.
badfiles.py, pictures.py and signals.py have more of detect."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys

import numpy as np

from tap import (CLIP, DATA, MODEL, PIPELINES, PROGRAM, SOURCE, Skip, blocks_of, detect, first_line,
                 main, need, need_inference, run)

STREET = PIPELINES / 'media/street.webm'
STREET_MODEL = PIPELINES / 'models/world-street.onnx'
OTHER_PROGRAMS = 'detectors', 'detector', 'keys', 'gst-launch-1.0', 'gst-inspect-1.0'
ODD = 'a "b\' ! c=d\\e %d $f'


def keepbox(*words, **options):
    return run(PROGRAM, *words, **options)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def short_clip(folder, frames=30, name='short.webm'):
    """Writes the begin of the clip."""
    for element in 'vp8enc', 'webmmux':
        need(element)
    path = folder / name
    run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin3', '!', 'identity',
        f'eos-after={frames + 1}', '!', 'videoconvert', '!', 'vp8enc', 'deadline=1',
        'target-bitrate=8000000', '!', 'webmmux', '!', 'filesink', f'location={path}')
    return path


def test_the_table_counts_the_boxes(folder):
    need_inference()
    clip, out = short_clip(folder), folder / 'boxes.jsonl'
    table, messages = detect(clip, '--confidence', .5, '--track', '--boxes', out)
    assert not messages, messages
    head, *rows, last = table.splitlines()
    assert head.split() == ['class', 'boxes', 'frames', 'objects', 'best', 'score'], head
    found = {}
    for number, frame in enumerate(lines_of(out)):
        for box in frame.get('objects', []):
            found.setdefault(box['detection']['label'], []).append((number, box))
    assert len(rows) == len(found) == 6, rows
    for row in rows:
        name, boxes, frames, objects, best = row.split()
        mine = found[name]
        assert int(boxes) == len(mine) and int(frames) == len({at for at, _ in mine}), row
        assert int(objects) == len({box['id'] for _, box in mine if 'id' in box}) > 0, row
        assert abs(float(best) - max(box['detection']['confidence'] for _, box in mine)) < .006
    assert re.fullmatch(r'30 frames in \d+\.\d s \(\d+\.\d per second\)', last), last
    # every third frame was looked at
    table, _ = detect(clip, '--every', 3)
    assert '\n30 frames, 10 of them looked at in ' in table and 'objects' not in table, table
    assert detect(clip, '--confidence', 1)[0].startswith('no boxes\n30 frames in ')


def test_boxes_are_those_of_the_line(folder):
    """Byte for byte, those of the line that `keepbox line` prints, and of README's line."""
    need_inference()
    clip = folder / 'street.webm'
    run('gst-launch-1.0', '-q', 'filesrc', f'location={STREET}', '!', 'matroskademux', '!',
        'identity', 'eos-after=20', '!', 'webmmux', '!', 'filesink', f'location={clip}')
    one, other, readme = (folder / name for name in ('boxes.jsonl', 'line.jsonl', 'readme.jsonl'))
    words = [clip, '--model', STREET_MODEL, '--confidence', .55, '--iou', .5, '--track', '--boxes',
             one]
    keepbox('detect', *words)
    line, _ = keepbox('line', *words)
    run('bash', '-c', line.replace(str(one), str(other)))
    assert len(lines_of(one)) > 15 and one.read_bytes() == other.read_bytes()
    first = first_line()
    assert 'boxdecode score-threshold=0.55 iou-threshold=0.5 track-score-threshold=0.1' in first
    run('bash', '-c', first.replace('pipelines/media/street.webm', str(clip)).replace(
        'pipelines/models', f'{PIPELINES}/models').replace('boxes.jsonl', str(readme)))
    assert one.read_bytes() == readme.read_bytes()


def test_lines_do_the_same(folder):
    """With all options that change boxes, and with names that a shell and GStreamer would read
    otherwise."""
    need_inference()
    odd = folder / ODD
    odd.mkdir()
    clip, model = short_clip(folder, 12).rename(odd / "it's.webm"), odd / '"m" 1.onnx'
    shutil.copy(MODEL, model)
    shutil.copy(f'{MODEL}.modelinfo', f'{model}.modelinfo')
    labels = odd / 'n .labels'
    labels.write_text('a b\n"c"\nd,\ne\nf\ng\n')
    for number, words in enumerate((
            ['--labels', labels, '--classes', '!e', '--tiles', '2x1', '--every', 2],
            ['--track', 'sort', '--every', 2, '--iou', .3, '--set', 'max-detections=4'],
            ['--detector', 'yolov8', '--provider', 'cpu', '--set', 'min-size=90x90', '--format',
             'csv', '--set', 'channel-order=bgr', '--set', 'model-name=x y'])):
        one, other = odd.parent / f'{number} "a.jsonl', odd.parent / f'{number} "b.jsonl'
        given = [clip, '--model', model, *words]
        keepbox('detect', *given, '--boxes', one)
        line, messages = keepbox('line', *given, '--boxes', other)
        assert not messages and max(map(len, line.splitlines())) < 400, messages
        run('bash', '-c', line)
        text = one.read_text()
        assert text == other.read_text() and text.count('\n') >= 12, words
    out, table = detect(clip, '--boxes', '-', model=model)
    line, _ = keepbox('line', clip, '--model', model, '--boxes', '-')
    assert ' -q -e ' in line and run('bash', '-c', line)[0] == out and 'frames in' in table


def test_other_lines(folder):
    del folder
    need_inference()
    words = '--model', 'pipelines/models/shapes.onnx'
    shown = {('0',): 'v4l2src device=/dev/video0 ! videoconvert ! videoflip video-direction=auto'
             ' ! queue leaky=downstream max-size-buffers=1 ! tensorinfer',
             ('rtsp://a/b?c=1',): "uridecodebin uri='rtsp://a/b?c=1' ! videoconvert",
             ('https://a/b.mp4',): 'uridecodebin uri=https://a/b.mp4 ! videoconvert',
             ('videotestsrc pattern=ball ! identity',): 'videotestsrc pattern=ball ! identity !',
             ('videotestsrc', '--show'): 'videoconvert ! boxoverlay ! videoconvert ! autovideosink',
             ('videotestsrc', '--show=glimagesink sync=false'): '! glimagesink sync=false',
             ('videotestsrc', '--show', '--boxes', 'b.csv'):
             '! tee name=frames frames. ! queue ! boxsink format=csv location=b.csv frames. ! queue'
             ' ! videoconvert'}
    for sources, text in shown.items():
        line, _ = keepbox('line', *sources, *words, cwd=SOURCE)
        line = line.replace(' \\\n  ', ' ')
        assert text in line and line.startswith('gst-launch-1.0 -e '), (sources, line)
    line, _ = keepbox('line', 'pipelines/media/wall-1.webm', 'pipelines/media/wall-2.webm', *words,
                      '--boxes', 'out/', cwd=SOURCE)
    assert line.count('gst-launch-1.0 ') == 2 and 'location=out/wall-2.jsonl' in line, line


def test_names_for_the_parser_of_gstreamer(folder):
    """What lines.py writes, gst-launch-1.0 and Gst.parse_launch() read as it was."""
    sys.path.insert(0, str(SOURCE / 'python'))
    from keepbox._gi import Gst
    from keepbox.cli.lines import Chain, Element, Line
    Gst.init(None)
    for name in ODD, 'a b', ' a', '"', '"a"', '\\', 'a\\ b', "'", 'a" "b', "'a b'", 'é ü', '!', \
            'a\tb', '"a b" c', 'x=y', '(a)', '\\"', '"\\', 'a " b \\" c':
        source = Element('filesrc', {'location': str(folder / name)}, name='in')
        line = Line([Chain([source, Element('fakesink')])])
        made = Gst.parse_launch(line.text()).get_by_name('in').get_property('location')
        assert made == str(folder / name), (name, line.text(), made)
        (folder / name).write_text('there')
        run('bash', '-c', line.command())


def test_a_drawn_video(folder):
    need_inference()
    for element in ('openh264enc', 'openh264dec', 'mp4mux', 'boxoverlay'):
        need(element)
    run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin3', '!', 'identity',
        'eos-after=11', '!', 'videoconvert', '!', 'openh264enc', 'bitrate=6000000', '!',
        'h264parse', '!', 'mp4mux', '!', 'filesink', f'location={folder}/bare.mp4')
    detect(folder / 'bare.mp4', '--confidence', .5, '-o', folder / 'boxes.mp4')
    bare, drawn = (pictures_of(folder / f'{name}.mp4') for name in ('bare', 'boxes'))
    assert len(bare) == len(drawn) == 10, (len(bare), len(drawn))
    changed = (np.abs(drawn[0] - bare[0]).max(axis=1) > 60).mean()
    assert 0.005 < changed < 0.3, changed
    for name in 'a.webm', 'a.mkv', 'a.mov':
        detect(folder / 'bare.mp4', '-o', folder / name)
        assert len(lines_of_frames(folder / name)) == 10, name


def test_drawing_has_properties(folder):
    need_inference()
    need('boxoverlay')
    clip, photo = short_clip(folder, 3), folder / 'photo.png'
    run('gst-launch-1.0', '-q', 'filesrc', f'location={clip}', '!', 'decodebin3', '!', 'identity',
        'eos-after=2', '!', 'videoconvert', '!', 'pngenc', '!', 'filesink', f'location={photo}')
    line, _ = keepbox('line', clip, '--model', MODEL, '-o', folder / 'a.webm', '--set',
                      'draw-boxes=false', '--set', 'thickness=3')
    assert '! boxoverlay draw-boxes=false thickness=3 ! videoconvert' in line.replace(
        ' \\\n  ', ' '), line
    sizes = []
    for words in [], ['--set', 'draw-boxes=false', '--set', 'draw-labels=false', '--set',
                      'draw-scores=false']:
        detect(photo, '-o', folder / 'drawn.png', *words)
        sizes.append(pixels_of(folder / 'drawn.png'))
    plain = pixels_of(photo)
    assert np.array_equal(sizes[1], plain) and not np.array_equal(sizes[0], plain)
    assert 'boxdecode have no such property' in detect(photo, '--set', 'thickness=3', status=2)[1]


def pixels_of(picture):
    """Returns the bytes of red, green and blue."""
    run('gst-launch-1.0', '-q', 'filesrc', f'location={picture}', '!', 'pngdec', '!',
        'videoconvert', '!', 'video/x-raw,format=RGBx', '!', 'filesink', f'location={picture}.raw')
    return np.fromfile(f'{picture}.raw', np.uint8).reshape(-1, 4)[:, :3]


def test_lines_for_a_gpu(folder):
    """Where NVIDIA's decoders are, as on no machine without its GPU; README has the line."""
    for element in 'openh264enc', 'mp4mux', 'qtdemux', 'matroskademux', 'taginject':
        need(element)
    sys.path.insert(0, str(SOURCE / 'python'))
    from keepbox.cli import gpu
    from keepbox.cli.lines import line_of
    from keepbox.cli.options import Settings
    from keepbox.cli.outputs import Outputs
    from keepbox.cli.sources import Moving
    start = ['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=3', '!', 'video/x-raw,width=320']
    for name, words in (('a.mp4', '! openh264enc ! h264parse ! mp4mux'),
                        ('turned.mp4', '! openh264enc ! h264parse ! taginject'
                         ' tags=image-orientation=rotate-90 ! mp4mux'),
                        ('b.mkv', '! openh264enc ! h264parse ! matroskamux'),
                        ('c.webm', '! vp9enc deadline=1 ! webmmux'),
                        ('d.webm', '! vp8enc deadline=1 ! webmmux')):
        run(*start, *words.split(), '!', 'filesink', f'location={folder / name}')
    (folder / 'text.mp4').write_text('rubbish' * 100)
    installed, gpu.is_installed = gpu.is_installed, lambda name: True
    try:
        found = {path.name: gpu.decoders_of(str(path)) for path in folder.iterdir()}
    finally:
        gpu.is_installed = installed
    assert found == {'a.mp4': ['qtdemux', 'h264parse', 'nvh264dec'], 'turned.mp4': None,
                     'b.mkv': None, 'c.webm': ['matroskademux', 'vp9parse', 'nvvp9dec'],
                     'd.webm': None, 'text.mp4': None}, found
    settings = Settings({'model-file': 'yolov8n.onnx'}, {}, None)
    shown = line_of(Moving('file', 'street.mp4'), settings, Outputs(drawn='boxes.mp4'),
                    found['a.mp4']).command().replace(' \\\n  ', ' ')
    begin = (SOURCE / 'docs/gpu.md').read_text().split('```')[1].replace(' \\\n  ', ' ')
    begin = begin[begin.index('filesrc'):begin.index(' ! nvh264enc')]
    assert f'{begin} ! cudadownload ! videoconvert ! openh264enc' in shown, (begin, shown)


def lines_of_frames(path):
    """Returns a row for each frame of a video that can be decoded."""
    out, _ = run('gst-launch-1.0', '-v', 'filesrc', f'location={path}', '!', 'decodebin3', '!',
                 'identity', 'silent=false', '!', 'fakesink')
    return [line for line in out.splitlines() if 'last-message = chain' in line]


def pictures_of(video):
    """Returns red, green and blue of each pixel, a matrix per frame."""
    folder = video.parent / video.stem
    folder.mkdir()
    run('gst-launch-1.0', '-q', 'filesrc', f'location={video}', '!', 'qtdemux', '!', 'h264parse',
        '!', 'openh264dec', '!', 'videoconvert', '!', 'video/x-raw,format=RGBx', '!',
        'multifilesink', f'location={folder}/%d.raw')
    return [np.fromfile(folder / f'{i}.raw', np.uint8).reshape(-1, 4)[:, :3].astype(int)
            for i in range(len(list(folder.iterdir())))]


def test_a_video_with_sound_ends(folder):
    need_inference()
    for element in ('vorbisenc', 'vp8enc', 'webmmux'):
        need(element)
    run('gst-launch-1.0', '-q', 'webmmux', 'name=mux', '!', 'filesink', f'location={folder}/a.webm',
        'audiotestsrc', 'num-buffers=40', '!', 'audioconvert', '!', 'vorbisenc', '!', 'queue', '!',
        'mux.', 'filesrc', f'location={CLIP}', '!', 'decodebin3', '!', 'identity', 'eos-after=21',
        '!', 'videoconvert', '!', 'vp8enc', 'deadline=1', '!', 'queue', '!', 'mux.')
    _, messages = detect(folder / 'a.webm', '--boxes', folder / 'boxes.jsonl')
    assert lines_of(folder / 'boxes.jsonl') and not messages, messages


def test_a_photo_is_turned_as_its_camera_was_held(folder):
    need_inference()
    need('jpegparse')
    still, held = folder / 'still.jpg', folder / 'held.jpg'
    for photo, turn, tag in (still, 'identity', 'rotate-0'), (held, '90l', 'rotate-90'):
        run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin3', '!',
            'videoconvert', '!', 'videoflip', f'video-direction={turn}', '!', 'identity',
            'eos-after=2', '!', 'jpegenc', 'quality=95', 'snapshot=true', '!', 'taginject',
            f'tags=image-orientation={tag}', '!', 'jifmux', '!', 'filesink', f'location={photo}')
    # as a picture, and as a video of one frame
    shutil.copy(held, folder / 'held.mjpeg')
    found = []
    for photo in still, held, folder / 'held.mjpeg':
        detect(photo, '--confidence', .5, '--boxes', folder / 'boxes.jsonl')
        frame, = lines_of(folder / 'boxes.jsonl')
        found.append(sorted((box['detection']['label'], box['x'], box['y'])
                            for box in frame['objects']))
    assert all(len(each) == 8 for each in found), found
    for (label, x, y), *others in zip(*found):
        for wanted, at_x, at_y in others:
            assert label == wanted and abs(x - at_x) < 8 and abs(y - at_y) < 8, found


def test_held_boxes(folder):
    need_inference()
    clip = short_clip(folder)
    detect(clip, '--boxes', folder / 'each.jsonl')
    detect(clip, '--boxes', folder / 'third.jsonl', '--every', 3)

    def places(path):
        return [[(box['detection']['label'], box['x'], box['y']) for box in frame['objects']]
                for frame in lines_of(path)]
    truth, held = places(folder / 'each.jsonl'), places(folder / 'third.jsonl')
    assert held == [truth[number // 3 * 3] for number in range(30)] and held != truth
    for number, line in enumerate((folder / 'third.jsonl').read_text().splitlines()):
        assert ('"held":true' in line) == (number % 3 != 0), f'{number}: {line}'


def test_several_videos(folder):
    need_inference()
    (folder / 'in').mkdir()
    clip = short_clip(folder / 'in')
    for number in 1, 2:
        shutil.copy(clip, folder / f'in/{number}.webm')
    detect(clip, '--boxes', folder / 'alone.jsonl')
    for streams in 1, 3:
        out = folder / f'out{streams}'
        table, messages = detect(folder / 'in', '--boxes', f'{out}/', '--streams', streams)
        assert '\n90 frames in ' in table and not messages, (table, messages)
        assert sorted(path.name for path in out.iterdir()) == ['1.jsonl', '2.jsonl', 'short.jsonl']
        for path in out.iterdir():
            assert path.read_bytes() == (folder / 'alone.jsonl').read_bytes(), path
    # ids begin again with each video
    table, _ = detect(folder / 'in/1.webm', folder / 'in/2.webm', '--track', '--classes', 'star')
    once, _ = detect(folder / 'in/1.webm', '--track', '--classes', 'star')
    assert int(table.splitlines()[1].split()[3]) == 2 * int(once.splitlines()[1].split()[3]) > 0
    out, _ = detect(f'{folder}/in/[12].webm', '--boxes', '-', '--every', 10)
    assert out.count('\n') == 60, out


def test_a_model_is_loaded_once(folder):
    """One video after the other."""
    need_inference()
    clip = short_clip(folder, 5)
    _, log = detect(clip, clip, clip, '--boxes', f'{folder}/out/',
                    env={**os.environ, 'GST_DEBUG': 'tensorinfer:5', 'GST_DEBUG_NO_COLOR': '1'})
    sessions = re.findall(r'session\.cpp:\d+:set_threads', log)
    assert len(sessions) == 1 and len(list((folder / 'out').iterdir())) == 3, log


def test_what_is_wrong_is_said_first(folder):
    need('tensorinfer')
    clip = folder / 'a.webm'
    shutil.copy(CLIP, clip)
    model = ['--model', MODEL]
    cases = (([], 'no source was given'),
             ([clip], 'no model was given: add --model'),
             ([clip, '--model', folder / 'no.onnx'], 'no.onnx does not exist'),
             ([clip, '--model', folder], 'is a folder: name a file'),
             ([clip, *model, '--modle', 'x'], '--modle is not an option: did you mean --model?'),
             ([clip, '--model'], '--model: it needs a value'),
             ([clip, *model, '--labels', folder / 'no'], 'no does not exist'),
             ([folder / 'none.mp4', *model], 'there is no file named'),
             ([folder / '*.mp4', *model], 'there is no file named'),
             ([clip, clip, *model, '--boxes', folder / 'b.csv'], 'name a folder'),
             ([clip, clip, *model, '-o', folder / 'b.webm'], 'name a folder'),
             ([clip, *model, '-o', clip], f'-o {clip} is an input: name another file'),
             ([clip, *model, '--boxes', folder / 'b.jpg'], 'no format is known by this suffix'),
             ([clip, *model, '-o', folder / 'b.jpg'], 'a video is written as .mp4'),
             ([clip, *model, '--boxes', folder / 'b', '--format', 'mott'], 'did you mean mot?'),
             ([clip, *model, '--format', 'mot'], 'add --boxes FILE'),
             ([clip, *model, '--boxes', clip / 'b'], 'is no folder'),
             ([clip, *model, '--confidence', '2'], 'a number from 0 to 1, not 2'),
             ([clip, *model, '--iou', 'x'], 'a number from 0 to 1, not x'),
             ([clip, *model, '--every', '0'], 'a number from 1, not 0'),
             ([clip, *model, '--streams', '0'], 'a number from 1, not 0'),
             ([clip, *model, '--size', 'big'], 'a number of pixels such as 640'),
             ([clip, *model, '--tiles', '3y2'], 'columns x rows such as 3x2'),
             ([clip, *model, '--track=byte'], 'method must be one of bytetrack'),
             (['--track', 'bytetrak', clip, *model], 'did you mean --track bytetrack?'),
             ([clip, *model, '--set', 'max-detection=5'], 'did you mean max-detections?'),
             ([clip, *model, '--set', 'max-detections=many'], 'must be a number, not many'),
             ([clip, *model, '--set', 'max-detections'], 'write --set NAME=VALUE'),
             ([clip, *model, '--set', 'hold=maybe'], 'must be true or false'),
             (['0', clip, *model], 'read them at a time by --streams 2'))
    before = sorted(folder.iterdir())
    for words, text in cases:
        for command in 'detect', 'line':
            out, said = keepbox(command, *words, status=2)
            assert text in said and not out and said.count('\n') == 0, (words, said)
            assert said.startswith(f'keepbox {command}: ') and said.endswith('--help)'), said
    assert sorted(folder.iterdir()) == before
    for words, text in ((['detct'], 'did you mean keepbox detect?'),
                        (['--verson'], 'not a command'),
                        (['predict'], 'did you mean keepbox detect?')):
        assert text in keepbox(*words, status=2)[1], words
    assert keepbox(status=2)[1].startswith('usage: keepbox COMMAND')


def test_what_fails_is_one_sentence(folder):
    need_inference()
    clip = short_clip(folder, 5)
    (folder / 'text.onnx').write_text('no model')
    (folder / 'taken').mkdir()
    for words, text in ((['--boxes', '/dev/full'], '/dev/full'),
                        (['--boxes', '/proc/none/b.jsonl'], '/proc/none'),
                        (['--classes', 'nosuch'], 'nosuch')):
        said = detect(clip, *words, status=1, timeout=60)[1]
        assert text in said and said.count('\n') == 0 and 'keepbox-' not in said, (words, said)
    said = detect(clip, clip, model=folder / 'text.onnx', status=1)[1]
    assert said.count('\n') == 0 and 'text.onnx' in said, said
    # one that only the element finds
    said = detect('videotestsrc num-buffers=3 ! identity error-after=2', status=1)[1]
    assert 'Failed after iterations as requested' in said and said.count('\n') == 0, said
    said = detect('videotestsrc ! nosuchelement', status=1)[1]
    assert 'no element "nosuchelement"' in said, said
    # the reader of stdout goes
    run('bash', '-c', f'{PROGRAM} detect {CLIP} --model {MODEL} --boxes - | head -n 1; true',
        timeout=60)


def test_progress_is_for_terminals(folder):
    need_inference()
    clip = short_clip(folder, 60)
    assert detect(clip)[1] == ''
    master, slave = pty.openpty()
    with subprocess.Popen([PROGRAM, 'detect', clip, '--model', MODEL], stdout=subprocess.PIPE,
                          stderr=slave, text=True) as process:
        os.close(slave)
        seen = b''
        try:
            while part := os.read(master, 4096):
                seen += part
        except OSError:  # its end
            pass
        table = process.stdout.read()
    os.close(master)
    rows = seen.decode().split('\r')
    assert any(re.search(r'\d+ frames, \d+\.\d frames/s, 0:0\d left', row) for row in rows), rows
    assert rows[-1] == '\x1b[K' and '60 frames in' in table and '\x1b' not in table, rows[-1]


def test_doctor(folder):
    need_inference()
    out, _ = keepbox('doctor')
    assert re.search(r'^GStreamer +1\.\d+', out, re.M) and 'decode H.264' in out, out
    assert re.search(r'^ONNX Runtime +1\.\d+\S* \(/.*onnxruntime', out, re.M), out
    assert re.search(r'^providers .*\bCPU\b', out, re.M), out
    assert out.splitlines()[-1].startswith('Models run on the '), out
    known = json.loads(keepbox('doctor', '--json')[0])
    assert known['works'] is True and known['models run on'] in ('cpu', 'cuda'), known
    assert 'boxdecode' in known['elements'] and known['ONNX Runtime']['library'].startswith('/')
    assert known['decoders']['VP9'] and known['GStreamer'], known
    out, messages = keepbox('doctor', '--model', MODEL)
    assert re.search(r'^family +yolov8$', out, re.M) and not messages, (out, messages)
    known = json.loads(keepbox('doctor', '--model', MODEL, '--json')[0])
    assert known['model']['family'] == 'yolov8' and known['model']['milliseconds'] > 0, known
    (folder / 'text.onnx').write_text('no model')
    out, _ = keepbox('doctor', '--model', folder / 'text.onnx', status=1)
    assert out.endswith('The model does not run.\n') and 'text.onnx' in out, out
    assert json.loads(keepbox('doctor', '--model', folder / 'text.onnx', '--json',
                              status=1)[0])['works'] is False


def test_doctor_of_what_is_missing(folder):
    need_inference()
    out, messages = keepbox('doctor', status=1,
                            env={**os.environ, 'KEEPBOX_ONNXRUNTIME': '/nosuch/libonnxruntime.so'})
    assert 'No model can run here.' in out and '/nosuch/libonnxruntime.so' in out, out
    assert 'set KEEPBOX_ONNXRUNTIME' in out and not messages, out
    # without PyGObject
    (folder / 'gi.py').write_text('raise ImportError("No module named gi")')
    bare = {**os.environ, 'PYTHONPATH': f'{folder}:{SOURCE}/python'}
    out, messages = keepbox('doctor', status=1, env=bare)
    assert 'No model can run here.' in out and 'apt install python3-gi' in out, out
    assert json.loads(keepbox('doctor', '--json', status=1, env=bare)[0])['works'] is False
    _, messages = detect(CLIP, status=1, env=bare)
    assert 'apt install python3-gi' in messages and 'Traceback' not in messages, messages
    assert keepbox('--version', env=bare)[0].startswith('keepbox ')


def test_families(folder):
    out, _ = keepbox('detectors')
    assert re.search('^yolox: ', out, re.M), out
    (folder / 'mine.detector').write_text(keepbox('detector', 'yolox')[0])
    assert 'is a valid family' in keepbox('detector', folder / 'mine.detector')[0]
    assert 'nms-contract' in keepbox('keys')[0]
    assert 'neither a family' in keepbox('detector', 'nosuch', status=1)[1]
    assert keepbox('detectors', 'more', status=2)[1].startswith('usage: keepbox detectors')


def test_tools_of_gstreamer(folder):
    """Also without the variables of ./dev run."""
    kept = {name: os.environ[name] for name in ('PATH', 'LD_LIBRARY_PATH') if name in os.environ}
    bare = {**kept, 'HOME': str(folder), 'GST_REGISTRY': str(folder / 'registry.bin')}
    assert 'Factory Details' in keepbox('gst-inspect-1.0', 'boxdecode', env=bare)[0]
    out, _ = keepbox('gst-launch-1.0', '-q', 'tensorreplay',
                     f'location={PIPELINES}/media/shapes-tensors.f16.raw', 'dims=1,10,2100',
                     'type=float16', '!', 'boxdecode', '!', 'boxsink', env=bare)
    assert '"detection"' in out, out
    _, messages = keepbox('gst-launch-1.0', 'nosuch', env=bare, status=1)
    assert 'nosuch' in messages, messages
    assert 'gstreamer1.0-tools' in run(sys.executable, PROGRAM, 'gst-launch-1.0', status=1,
                                       env={**bare, 'PATH': str(folder)})[1]


def test_lines_of_the_page(folder):
    """They print what the page shows, but for numbers and places of this machine."""
    need_inference()
    (folder / 'pipelines').symlink_to(PIPELINES)
    place = {**os.environ, 'PATH': f'{pathlib.Path(PROGRAM).parent}:{os.environ["PATH"]}'}
    page = (SOURCE / 'docs/program.md').read_text()
    blocks = re.findall(r'```sh\n(.*?)```(?:\n\n```\n(.*?)```)?', page, re.S)
    assert len(blocks) == 5, blocks
    for line, shown in blocks:
        if 'photo.jpg' in line:
            if not (DATA / 'yolox').is_dir():
                continue
            for name, target in {'photo.jpg': '000000000139.jpg', 'yolox_nano.onnx':
                                 'yolox_nano.onnx', 'coco.labels': 'coco.labels',
                                 'yolox_nano.onnx.modelinfo': 'yolox_nano.onnx.modelinfo'}.items():
                (folder / name).symlink_to(DATA / 'yolox' / target)
        out, _ = run('bash', '-c', line, cwd=folder, env=place)
        if 'keepbox line' in line:
            assert out == shown, out
        elif 'keepbox doctor' in line:
            subjects = [re.findall('^(.{13,17}?)  ', text, re.M) for text in (out, shown)]
            assert subjects[0] == subjects[1] and len(subjects[0]) > 20, subjects
        elif shown:
            assert [row.split()[0] for row in out.splitlines()] == \
                [row.split()[0] for row in shown.splitlines()], out
        else:
            assert 'frames' in out or '"source":"photo.jpg"' in out, out
    assert (folder / 'shapes.mp4').read_bytes()[4:8] == b'ftyp'
    assert len(list((folder / 'wall').iterdir())) == 7


def test_help_and_version(folder):
    version = re.search("version: '(.*?)'", (SOURCE / 'meson.build').read_text())[1]
    assert keepbox('--version')[0] == f'keepbox {version}\n'
    overview, _ = keepbox('--help')
    assert keepbox('-h')[0] == overview
    manual = (SOURCE / 'python/keepbox.1').read_text().replace('\\-', '-')
    for command in 'detect', 'line', 'doctor', *OTHER_PROGRAMS:
        assert f'\n  {command} ' in overview, command
    for command in re.findall(r'^  ([\w.-]+) ', overview.split('\nkeepbox COMMAND')[0], re.M):
        if command in OTHER_PROGRAMS:
            continue
        assert f'\n.B {command}\n' in manual, command
        text, _ = keepbox(command, '--help')
        assert text.startswith(f'usage: keepbox {command} ') and '\nexample:\n' in text, text
        assert 'exit status:' in text and f'  keepbox {command} ' in text, text
        for option in re.findall(r'^  (?:-\w, |-\w \w+, )?(--[a-z]+)', text, re.M):
            assert option in manual, f'{option} is not in keepbox.1'
    for module in 'keepbox', 'keepbox.cli':
        out, _ = run(sys.executable, '-m', module, '--version', cwd=SOURCE / 'python')
        assert out == f'keepbox {version}\n', out
    del folder


def test_another_model(folder):
    if not (DATA / 'yolox').is_dir():
        raise Skip('no photos on this machine')
    need_inference()
    photo, model, names = (folder / f'with a blank{end}' for end in ('.jpg', '.onnx', '.labels'))
    photo.symlink_to(DATA / 'yolox/000000000139.jpg')
    model.symlink_to(DATA / 'yolox/yolox_nano.onnx')
    pathlib.Path(f'{model}.modelinfo').symlink_to(DATA / 'yolox/yolox_nano.onnx.modelinfo')
    names.symlink_to(DATA / 'yolox/coco.labels')
    out = folder / 'with a blank.jsonl'
    found = []
    for words in ['--set', 'channel-order=rgb'], []:
        detect('--labels', names, '--size', 416, '--confidence', .4, *words, photo, '--boxes', out,
               model=model)
        found.append(lines_of(out)[0]['objects'])
    assert {'tvmonitor', 'chair'} <= {box['detection']['label'] for box in found[0]}, found[0]
    assert found[0] != found[1], '--set channel-order= changes nothing'


if __name__ == '__main__':
    main(globals())
