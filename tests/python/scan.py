#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests keepbox.scan() and keepbox scan: inputs, tables, exactly once, and what goes wrong."""
import io
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

from common import CLIP, MODEL, boxsink, fails, launch, png, within
from scancommon import (CONFIDENCE, Killer, corpus, need_arrow, rows_of, scan, tables_of)
from tap import PIPELINES, main, run

import keepbox
from keepbox._scan import inputs, tables
from keepbox._scan.run import State

PROGRAM = sys.executable, '-m', 'keepbox.cli', 'scan'
MODEL_OPTIONS = '--model', MODEL, '--confidence', CONFIDENCE


def program(*words, status=0, **options):
    """Runs keepbox scan with the model; returns stdout and stderr."""
    return run(*PROGRAM, *words, *MODEL_OPTIONS, status=status, **options)


def test_twelve_inputs_and_a_killed_worker(folder):
    """The files of two workers, of which one is killed at its seventh input, are those of one."""
    need_arrow()
    source = corpus(folder / 'in')
    one = scan(source, folder / 'one', workers=1)
    assert len(one.rows) == 12 and one.done == 12, one.rows
    by_name = {row['input']: row for row in one.rows}
    assert by_name['text.mp4']['status'] == 'error' and by_name['text.mp4']['error']
    assert by_name['cut.webm']['status'] == 'partial', by_name['cut.webm']
    assert 'declares' in by_name['cut.webm']['error']
    assert sorted(row['status'] for row in one.rows) == ['error'] + ['ok'] * 10 + ['partial']
    assert by_name['pictures']['frames'] == 4 and by_name['pictures']['boxes'] > 0
    expected = tables_of(one.folder)
    assert len(expected) == 11
    seventh = sorted(expected)[6]
    with Killer(folder / 'two', seventh) as killer:
        two = scan(source, folder / 'two', workers=2)
    assert killer.killed, 'a worker was killed'
    assert tables_of(two.folder) == expected
    attempts = {row['key']: row['attempts'] for row in two.rows}
    assert attempts.pop(seventh) == 2 and set(attempts.values()) == {1}, attempts
    assert not tables.parts_of(two.folder), os.listdir(two.folder)
    same = [[{**row, 'seconds': 0, 'attempts': 0} for row in each.rows] for each in (one, two)]
    assert same[0] == same[1]
    begun = time.monotonic()
    again = scan(source, folder / 'two', workers=2)
    assert again.done == 0 and again.rows == two.rows
    assert time.monotonic() - begun < 3, time.monotonic() - begun
    out, _ = program('--check', folder / 'two', source)
    assert '12 inputs, 1 of them failed, 0 problems' in out, out


def test_streams_and_neighbours_change_nothing(folder):
    need_arrow()
    source = corpus(folder / 'in')
    one = scan(source, folder / 'one', workers=1, tracker='boxtrack')
    many = scan(source, folder / 'many', workers=1, streams=4, tracker='boxtrack')
    assert tables_of(one.folder) == tables_of(many.folder)
    table = one.to_arrow().to_pydict()
    assert any(number is not None for number in table['id']), 'tracked'
    alone = scan(source / 'pictures', folder / 'alone', workers=1)
    found = [each for each, name in zip(table['score'], table['input']) if name == 'pictures']
    assert alone.to_arrow().to_pydict()['score'] == found, 'pictures are not tracked'


def test_tables_have_the_boxes_of_the_pipeline(folder):
    pa = need_arrow()
    found = scan(CLIP, folder / 'out', workers=1)
    row, = found.rows
    table = found.to_arrow()
    lines = boxsink('shapes.onnx', f'score-threshold={CONFIDENCE}')
    boxes = [(line['frame'], each) for line in lines for each in line.get('objects', [])]
    assert table.num_rows == len(boxes) == row['boxes'] and row['frames'] == 250
    columns = table.to_pydict()
    for name, index in (('x1', 'x'), ('y1', 'y')):
        assert np.array_equal(np.float32(columns[name]),
                              np.float32([each[index] for _, each in boxes]))
    assert columns['frame'] == [frame for frame, _ in boxes]
    assert columns['label'] == [each['detection']['label'] for _, each in boxes]
    assert np.allclose(columns['time'], [frame / 25 for frame, _ in boxes], atol=1e-6)
    assert set(columns['input']) == {'shapes.webm'} and set(columns['id']) == {None}
    about = tables.about_of(os.path.join(found.folder, row['key'] + '.parquet'))
    assert about['frames'] == 250 and about['size'] == [1280, 720] and about['seconds'] == 10
    assert about['names']['5'] == 'ring' and about['status'] == 'ok'
    assert str(table.schema.field('x1').type) == 'float'
    assert pa.types.is_dictionary(pa.parquet.read_table(os.path.join(
        found.folder, row['key'] + '.parquet')).schema.field('label').type)


def test_masks_and_points(folder):
    need_arrow()
    for name, column in (('shapes-seg', 'mask'), ('shapes-pose', 'points')):
        clip = folder / f'{name}.webm'
        launch(f'filesrc location={CLIP} ! matroskademux ! identity eos-after=9 ! webmmux'
               f' ! filesink location={clip}')
        found = keepbox.scan(clip, model=PIPELINES / f'models/{name}.onnx', out=folder / 'out',
                             workers=1).to_arrow().to_pydict()
        line, *_ = boxsink(f'{name}.onnx')
        first = line['objects']
        values = found[column][:len(first)]
        if column == 'mask':
            assert [each['rle'] for each in values] == [each['mask']['rle'] for each in first]
            assert values[0]['width'] == first[0]['mask']['width']
        else:
            points = [each['keypoints']['points'] for each in first]
            assert np.allclose(np.array(values, np.float32).reshape(-1),
                               np.array([[[p['x'], p['y'], p['score']] if isinstance(p, dict) else p
                                          for p in each] for each in points],
                                        np.float32).reshape(-1))


def test_run_lengths(folder):
    del folder
    assert tables.rle_of(np.zeros((2, 3), bool)) == '6'
    assert tables.rle_of(np.ones((2, 3), bool)) == '06'
    assert tables.rle_of(np.array([[0, 1], [1, 0]], bool)) == '121'
    long = np.zeros((100, 100), bool)
    long[10:90, 20:30] = True
    assert tables.rle_of(long).startswith('jn1'), tables.rle_of(long)


def test_inputs(folder):
    """What words stand for, and what keys depend on."""
    (folder / 'a/.hidden').mkdir(parents=True)
    (folder / 'a/b').mkdir()
    for name in ('a/one.mp4', 'a/b/two.MKV', 'a/notes.txt', 'a/.hidden/three.mp4'):
        (folder / name).write_text(name)
    for name in ('a/b/1.png', 'a/b/2.png', 'a/3.jpg'):
        png(folder / name)
    found = inputs.of_words([str(folder / 'a')])
    assert [(each.name, each.kind) for each in found] == [
        ('a', 'pictures'), ('one.mp4', 'video'), ('b', 'pictures'), ('b/two.MKV', 'video')]
    assert found[2].files == ('1.png', '2.png')
    keys = [each.key for each in found]
    assert [each.key for each in inputs.of_words([str(folder / 'a'), f'{folder}/a/'])] == keys
    before = os.getcwd()
    os.chdir(folder / 'a')
    try:
        check_keys(folder, keys)
    finally:
        os.chdir(before)


def check_keys(folder, keys):
    """Checks what keys depend on, in the folder of the inputs."""
    assert [each.key for each in inputs.of_words(['../a'])] == keys, 'not where it is called from'
    os.utime(folder / 'a/one.mp4', ns=(1, 1))
    changed = [each.key for each in inputs.of_words(['.'])]
    assert changed[1] != keys[1] and changed[2:] == keys[2:]
    by_content = [each.key for each in inputs.of_words(['.'], True)]
    os.utime(folder / 'a/one.mp4', ns=(2, 2))
    assert [each.key for each in inputs.of_words(['.'], True)] == by_content
    (folder / 'a/one.mp4').write_text('other')
    assert [each.key for each in inputs.of_words(['.'], True)][1] != by_content[1]
    assert [each.name for each in inputs.of_words(['b/*.png'])] == ['b']
    assert [each.name for each in inputs.of_words(['**/*.mp4'])] == ['one.mp4']
    gone, = inputs.of_names(['', 'gone.mp4'])
    assert gone.size == 0 and gone.name == 'gone.mp4'
    fails(FileNotFoundError, 'no file or folder named nothing',
          lambda: inputs.of_words(['nothing']))
    fails(ValueError, 'detect reads streams', lambda: inputs.of_words(['rtsp://camera/1']))
    (folder / 'empty').mkdir()
    fails(FileNotFoundError, 'neither videos nor pictures',
          lambda: inputs.of_words([str(folder / 'empty')]))


def test_shards_of_two_processes_at_once(folder):
    need_arrow()
    source = corpus(folder / 'in')
    expected = tables_of(scan(source, folder / 'one', workers=1).folder)
    words = [*PROGRAM, source, *MODEL_OPTIONS, '--out', folder / 'out', '--workers', 1, '--shard']
    both = [subprocess.Popen([str(word) for word in [*words, f'{number}/2']],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for number in (1, 2)]
    assert sorted(each.wait(300) for each in both) == [0, 1], 'the text file is in one of them'
    place, = (folder / 'out').iterdir()
    assert tables_of(place) == expected
    assert {path.name for path in place.glob('manifest*')} == {'manifest-1-of-2.jsonl',
                                                               'manifest-2-of-2.jsonl'}
    assert len(rows_of(place)) == 12
    out, _ = program('--check', folder / 'out', source)
    assert '12 inputs' in out and '0 problems' in out
    assert scan(source, folder / 'out', workers=1).done == 0, 'one of all is done, too'


def test_a_second_scan_of_the_same_folder_is_refused(folder):
    need_arrow()
    found = scan(CLIP, folder / 'out', workers=1)
    from keepbox._scan.manifest import Manifest
    with Manifest(found.folder, None):
        fails(keepbox.Error, 'another scan writes', lambda: scan(CLIP, folder / 'out', workers=1))
        assert not tables.parts_of(found.folder)


def test_a_change_of_settings_or_model_is_another_folder(folder):
    need_arrow()
    copy = folder / 'renamed.onnx'
    shutil.copy(MODEL, copy)
    shutil.copy(f'{MODEL}.modelinfo', f'{copy}.modelinfo')
    first = scan(CLIP, folder / 'out', workers=1)
    assert scan(CLIP, folder / 'out', workers=1, threads=2).done == 0, 'only faster'
    other = keepbox.scan(CLIP, model=MODEL, out=folder / 'out', workers=1, confidence=.9)
    assert other.done == 1 and other.folder != first.folder
    copied = keepbox.scan(CLIP, model=copy, out=folder / 'out', workers=1, confidence=CONFIDENCE)
    assert copied.folder.split('-')[-1] == first.folder.split('-')[-1], 'by what it contains'
    with open(copy, 'ab') as file:
        file.write(b'\xa2\x06\x01x')  # a field that nobody knows
    third = keepbox.scan(CLIP, model=copy, out=folder / 'out', workers=1, confidence=CONFIDENCE)
    assert third.done == 1 and third.folder not in (first.folder, other.folder, copied.folder)
    assert json.loads((pathlib.Path(first.folder) / 'settings.json').read_text())['values'][
        'score-threshold'] == str(CONFIDENCE)


def test_errors_are_tried_again_only_on_request(folder):
    need_arrow()
    (folder / 'in').mkdir()
    text = folder / 'in/text.mp4'
    text.write_text('rubbish\n')
    out, err = program(folder / 'in', '--out', folder / 'out', status=1)
    assert '1 failed' in out and 'text.mp4:' in err and err.count('\n') == 0, (out, err)
    out, err = program(folder / 'in', '--out', folder / 'out')
    assert 'no input looked at, 1 done before' in out and not err
    before = text.stat()
    shutil.copy(CLIP, text)
    os.truncate(text, before.st_size)
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    _, err = program(folder / 'in', '--out', folder / 'out', '--retry', status=1)
    assert 'text.mp4' in err
    place, = (folder / 'out').iterdir()
    assert len((place / 'manifest.jsonl').read_text().splitlines()) == 2
    assert len(rows_of(place)) == 1


def test_max_errors(folder):
    need_arrow()
    (folder / 'in').mkdir()
    for number in range(3):
        (folder / f'in/{number}.mp4').write_text(f'rubbish {number}')
    _, err = program(folder / 'in', '--out', folder / 'out', '--workers', 1, '--max-errors', 1,
                     status=1)
    assert '2 inputs failed, and --max-errors allows 1' in err, err
    program(folder / 'in', '--out', folder / 'out', '--workers', 1, '--max-errors', 1, status=1)
    out, _ = program(folder / 'in', '--out', folder / 'out', '--workers', 1)
    assert '3 done before' in out, out


def test_a_list(folder):
    need_arrow()
    names = folder / 'names.txt'
    names.write_text(f'{CLIP}\n\n{folder}/gone.mp4\n')
    out, err = program('--list', names, '--out', folder / 'out', status=1)
    assert '2 inputs looked at (1 ok, 1 failed)' in out, (out, err)
    assert 'it is no longer there' in err, err
    with open(names) as file:
        out, _ = program('--list', '-', '--out', folder / 'out', stdin=file)
    assert '2 done before' in out


def test_wrong_command_lines(folder):
    for words, text in (
            (['--out', 'x'], 'no input was given'), ([CLIP], 'add --out DIR'),
            ([CLIP, '--out', CLIP], 'is a file: name a folder'),
            ([folder / 'gone', '--out', 'x'], 'there is no file or folder named'),
            ([CLIP, '--out', 'x', '--shard', '0/4'], 'from 1/N to N/N'),
            ([CLIP, '--out', 'x', '--shard', '5/4'], 'from 1/N to N/N'),
            ([CLIP, '--out', 'x', '--max-errors', '-1'], 'max-errors'),
            ([CLIP, '--out', 'x', '--worker', '2'], 'did you mean --workers?'),
            (['--list', folder / 'none', '--out', 'x'], 'cannot be read')):
        _, err = program(*words, status=2, cwd=folder)
        assert text in err and err.count('\n') == 0, (words, err)
    assert not list(folder.iterdir()), 'nothing is made'
    need_arrow()
    _, err = run(*PROGRAM, CLIP, '--model', CLIP, '--out', folder / 'out', status=1)
    assert 'shapes.webm' in err and err.count('\n') == 0, err
    _, err = program('--check', folder, status=1)
    assert 'has no results of keepbox scan' in err


def test_without_pyarrow(folder):
    program_text = ("import sys; sys.modules['pyarrow'] = None; from keepbox.cli import main;"
                    f" sys.exit(main(['scan', {str(CLIP)!r}, '--model', {str(MODEL)!r}, '--out',"
                    f" {str(folder / 'out')!r}]))")
    _, err = run(sys.executable, '-c', program_text, status=1)
    assert 'pip install keepbox[scan]' in err and err.count('\n') == 0, err
    assert not (folder / 'out').exists()


def ended_by(folder, number):
    """Starts a scan of several files, ends it in the middle, and returns its status, stderr and
    folder."""
    process = subprocess.Popen(
        [str(word) for word in [*PROGRAM, folder / 'in', *MODEL_OPTIONS, '--out', folder / 'out',
                                '--workers', 1]],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and not list(folder.glob('out/*/*.parquet')):
        time.sleep(.01)
    place, = (folder / 'out').iterdir()
    while time.monotonic() < end and not tables.parts_of(str(place)):
        time.sleep(.002)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err, place


def test_signals(folder):
    """SIGINT leaves nothing half, SIGKILL neither once the worker has seen it."""
    need_arrow()
    source = corpus(folder / 'in')
    expected = tables_of(scan(source, folder / 'one', workers=1).folder)
    status, err, place = ended_by(folder, signal.SIGINT)
    assert status == 130 and 'inputs missing: the same command goes on' in err, (status, err)
    assert not tables.parts_of(str(place)), os.listdir(place)
    there = tables_of(place)
    assert 0 < len(there) < 11 and all(expected[key] == there[key] for key in there)
    assert set(there) <= set(rows_of(place))
    shutil.rmtree(folder / 'out')
    status, _, place = ended_by(folder, signal.SIGKILL)
    assert status == -signal.SIGKILL
    within(20, lambda: _until(lambda: not tables.parts_of(str(place))))
    left = len(tables_of(place))
    (place / 'manifest.jsonl').open('a').write('{"key": "half')
    (place / f'{max(expected)}.parquet.part-else-7').write_text('half')
    done = scan(source, folder / 'out', workers=1)
    assert tables_of(place) == expected and 0 < done.done <= 12 - left
    assert not tables.parts_of(str(place)), 'of a killed scan'
    assert len(rows_of(place)) == 12


def _until(condition):
    while not condition():
        time.sleep(.05)


def test_a_worker_that_dies_each_time(folder):
    """An input that kills its process is an error, and others have their results."""
    need_arrow()
    source = corpus(folder / 'in')
    expected = tables_of(scan(source, folder / 'one', workers=1).folder)
    victim = sorted(expected)[3]
    with Killer(folder / 'out', victim, times=3) as killer:
        found = scan(source, folder / 'out', workers=1, streams=3)
    assert killer.killed == 3
    rows = {row['key']: row for row in found.rows}
    assert rows[victim]['status'] == 'error' and rows[victim]['attempts'] == 3
    assert 'ended with signal SIGKILL, 3 times' in rows[victim]['error']
    del expected[victim]
    assert tables_of(found.folder) == expected
    assert all(row['attempts'] <= 2 for key, row in rows.items() if key != victim), rows


def test_files_that_change_or_go(folder):
    need_arrow()
    from keepbox._scan.looking import Looker
    looker = Looker({'model': MODEL, 'confidence': CONFIDENCE})
    (folder / 'out').mkdir()
    clip = folder / 'clip.webm'
    for change, text in ((lambda: clip.open('ab').write(b'more'), 'it changed while it was read'),
                         (clip.unlink, 'it is no longer there')):
        shutil.copy(CLIP, clip)
        source, = inputs.of_words([str(clip)])
        row = looker.look(source, str(folder / 'out'), 'x',
                          lambda frames, _: frames == 100 and change() and None)
        assert row['status'] == 'error' and text in row['error'] and row['boxes'] == 0, row
        assert not list((folder / 'out').iterdir()), 'nothing half'
    pictures = folder / 'pictures'
    pictures.mkdir()
    png(pictures / 'a.png')
    (pictures / 'b.png').write_text('no picture')
    png(pictures / 'c.png')
    source, = inputs.of_words([str(pictures)])
    row = looker.look(source, str(folder / 'out'), 'x')
    assert row['status'] == 'partial' and row['frames'] == 2, row
    assert row['error'].startswith('b.png cannot be read'), row
    looker.close()


def test_a_folder_that_vanishes(folder):
    need_arrow()
    source = corpus(folder / 'in')
    process = subprocess.Popen(
        [str(word) for word in [*PROGRAM, source, *MODEL_OPTIONS, '--out', folder / 'out',
                                '--workers', 1]],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and not list(folder.glob('out/*/*.parquet')):
        time.sleep(.01)
    os.rename(folder / 'out', folder / 'gone')
    shutil.rmtree(folder / 'gone')
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.count('\n') <= 3, err
    assert 'cannot be written' in err.splitlines()[-1], err
    assert 'Traceback' not in err and not (folder / 'out').exists()


def test_a_full_disk(folder):
    need_arrow()
    (folder / 'in').mkdir()
    shutil.copy(CLIP, folder / 'in/clip.webm')

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    _, err = program(folder / 'in', '--out', folder / 'out', '--workers', 1, status=1,
                     preexec_fn=limit)
    assert 'cannot be written: File too large' in err and err.count('\n') == 0, err
    place, = (folder / 'out').iterdir()
    assert {path.name for path in place.iterdir()} == {'settings.json', 'manifest.jsonl'}
    assert not (place / 'manifest.jsonl').read_text()
    program(folder / 'in', '--out', folder / 'out', '--workers', 1)


def test_check_finds_what_is_wrong(folder):
    need_arrow()
    source = corpus(folder / 'in')
    place = pathlib.Path(scan(source, folder / 'out', workers=1).folder)
    files = sorted(place.glob('*.parquet'))
    files[0].unlink()
    files[1].write_bytes(b'PAR1 rubbish')
    shutil.copy(files[2], files[3])
    (place / 'ffff.parquet.part-a-1').write_text('')
    shutil.copy(files[4], place / '0123.parquet')
    png(source / 'new.png')
    out, _ = program('--check', folder / 'out', source, status=1)
    for text in (f'{files[0]} is missing', f'{files[1]} is no complete file',
                 f'{files[3]} is not what the manifest tells', 'ffff.parquet.part-a-1 is of a scan',
                 '0123.parquet is not in the manifest', 'not looked at, or it changed',
                 '12 inputs, 1 of them failed, 6 problems'):
        assert text in out, (text, out)


def test_attackers(folder):
    """Names and files that are meant to harm."""
    need_arrow()
    (folder / 'in').mkdir()
    names = ['a "b" \'c\'.webm', '-o.webm', 'line\nbreak.webm', '*.webm', 'ü%s.webm']
    for name in names:
        shutil.copy(corpus(folder / 'corpus') / '0.webm', folder / 'in' / name)
    os.mkfifo(folder / 'in/pipe.mp4')
    (folder / 'in/loop.mp4').symlink_to('loop.mp4')
    (folder / 'in/deep').symlink_to(folder / 'in')
    (folder / 'in/empty.mp4').write_bytes(b'')
    found = within(100, lambda: scan(folder / 'in', folder / 'out', workers=1))
    status = {row['input']: row['status'] for row in found.rows}
    assert all(status.pop(name) == 'ok' for name in names), status
    assert set(status.values()) == {'error'} and len(status) == 3, status
    assert len(rows_of(found.folder)) == 8
    place = pathlib.Path(found.folder)
    (place / 'manifest-9-of-9.jsonl').write_text('[1]\n')
    error = fails(keepbox.Error, 'none of a manifest',
                  lambda: scan(folder / 'in', folder / 'out', workers=1))
    assert 'manifest-9-of-9.jsonl' in str(error)


def test_progress(folder):
    """A row on a terminal, a line in a minute elsewhere."""
    del folder
    from keepbox.cli import scan as command
    state = State(files=40, earlier=8, done=12, errors=1, size=1000, left=250, frames=3000,
                  seconds=120.)
    text = command.progress_of(state, 60)
    assert text == ('20 of 40 inputs, 50.0 frames/s, 2.0 h of video per hour, 0:20 left,'
                    ' 1 failed'), text
    out = io.StringIO()
    show = command.Show(out)
    show.show(state)
    assert not out.getvalue(), 'not before a minute'
    show._next -= command.LINE
    show.show(state)
    show.show(state)
    assert out.getvalue().count('\n') == 1 and out.getvalue().startswith('keepbox scan: 20 of 40')


if __name__ == '__main__':
    main(globals())
