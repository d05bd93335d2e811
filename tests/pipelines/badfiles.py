#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs keepbox detect and scripts of pipelines/ with files that have no video or end early, and
with cameras that end."""
import subprocess

from tap import CLIP, MODEL, PIPELINES, PROGRAM, detect, main, need, need_inference, run

STARTS = 5
CAMERA = 'videotestsrc is-live=true'
KINDS = {'text.mp4': 'text file', 'sound.webm': 'neither a video nor a picture', 'cut.mp4': ''}


def files(folder):
    """Writes a text, sound alone, and the begin of an MP4 without the index at its end."""
    for element in 'mp4mux', 'openh264enc', 'vorbisenc':
        need(element)
    (folder / 'text.mp4').write_text('rubbish\n' * 100)
    for line in ('audiotestsrc num-buffers=40 ! audioconvert ! vorbisenc ! webmmux'
                 f' ! filesink location={folder}/sound.webm',
                 'videotestsrc num-buffers=50 ! video/x-raw,format=I420,width=320,height=240'
                 f' ! openh264enc ! h264parse ! mp4mux ! filesink location={folder}/cut.mp4'):
        run('bash', '-c', f'gst-launch-1.0 -q {line}')
    cut = folder / 'cut.mp4'
    cut.write_bytes(cut.read_bytes()[:20000])


def checked(*words):
    """Returns the status and the messages of check.py, which must not hang."""
    done = subprocess.run([PIPELINES / 'check.py', *words], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stderr


def test_files_without_a_video(folder):
    files(folder)
    for name, words in KINDS.items():
        for start in range(STARTS):
            status, messages = checked('open', folder / name)
            assert status == 1 and f'{folder}/{name}: ' in messages, (name, start, messages)
            assert words in messages and messages.count('\n') == 1, messages
    assert checked('open', CLIP) == (0, '')
    assert checked('open', CLIP, folder / 'text.mp4')[0] == 1


def ended(*words):
    """Returns the status and the messages of a command, which must not hang."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stderr


def test_scripts_end_at_them(folder):
    need_inference()
    files(folder)
    for name, words in KINDS.items():
        path = folder / name
        status, messages = ended(PIPELINES / 'wall', folder / 'wall.png', CLIP, path)
        assert status == 1 and f'{path}: ' in messages and words in messages, messages
        assert 'gst-launch' not in messages, messages


def test_the_program_ends_at_them(folder):
    need_inference()
    files(folder)
    for name, words in KINDS.items():
        path = folder / name
        for number in range(STARTS):
            status, messages = ended(PROGRAM, 'detect', path, '--model', MODEL)
            assert status == 1 and messages.startswith(f'keepbox detect: {path}: '), \
                (number, status, messages)
            assert words in messages and messages.count('\n') == 1, messages
    # the others go on, one after the other and at a time
    for streams in 1, 2:
        status, messages = ended(PROGRAM, 'detect', path, CLIP, '--model', MODEL, '--boxes',
                                 folder / 'out/', '--every', 10, '--streams', streams)
        assert status == 1 and messages.count('\n') == 1, messages
        assert len((folder / 'out/shapes.jsonl').read_text().splitlines()) == 250


def test_lines_with_decodebin3_end_at_them(folder):
    files(folder)
    for name in 'text.mp4', 'sound.webm':
        for _ in range(STARTS):
            done = subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={folder / name}',
                                   '!', 'decodebin3', '!', 'videoconvert', '!', 'fakesink'],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 1 and 'ERROR' in done.stderr, (name, done.stderr)


def test_videos_that_end_early(folder):
    need_inference()
    half = folder / 'half.webm'
    half.write_bytes(CLIP.read_bytes()[:CLIP.stat().st_size // 2])
    _, messages = detect(half, '--boxes', folder / 'half.jsonl')
    rows = len((folder / 'half.jsonl').read_text().splitlines())
    told = f'{half}: it ends after {rows / 25:.2f} s, although it declares 10.00 s'
    assert 100 < rows < 150 and told in messages, (rows, messages)
    _, messages = detect(CLIP, half, '--every', 10)
    assert messages.count('although it declares') == 1, messages
    assert checked('end', CLIP) == (0, '')


def test_a_camera_that_ends(folder):
    """One whose driver or server ends the stream, as a file does."""
    del folder
    need_inference()
    status, messages = ended(PROGRAM, 'detect', f'{CAMERA} ! identity eos-after=4', '--model',
                             MODEL)
    assert status == 1 and 'has ended by itself: check the camera' in messages, messages
    out, _ = detect(f'{CAMERA} num-buffers=3', '--show=fakesink')
    assert '\n3 frames' in out, out


if __name__ == '__main__':
    main(globals())
