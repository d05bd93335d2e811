#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stops keepbox detect and the service's line with signals while they run: their files are
completed, and no process remains."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

from tap import MODEL, PIPELINES, PROGRAM, SOURCE, main, need_inference, run

FRAMES = 20000  # more than can be processed during a test


def long_clip(folder):
    """Returns a file with too many frames to reach its end."""
    path = folder / 'long.avi'
    run('gst-launch-1.0', '-q', 'videotestsrc', f'num-buffers={FRAMES}', '!',
        'video/x-raw,format=I420,width=16,height=16,framerate=30/1', '!', 'avimux', '!', 'filesink',
        f'location={path}')
    return path


def wait_for(what, done, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f'expected {what}, found none in {seconds} s'
        time.sleep(0.05)


def processes(word):
    """Returns processes that have a word in their command line."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if word in path.read_text(errors='replace'):
                found.append(int(path.parent.name))
        except OSError:  # it ended in the meantime
            pass
    return found


def heed_signals():
    """Undoes nohup: a shell cannot trap signals that are ignored at its start."""
    for each in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(each, signal.SIG_DFL)


def stop(words, outputs, folder, send=signal.SIGTERM, to_all=False, times=1):
    """Signals keepbox detect, or its process group, once all of its files have boxes; returns its
    stdout."""
    parts = [path.with_name(f'{path.name}.part') for path in outputs]
    command = [PROGRAM, 'detect', *words, '--model', MODEL]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=heed_signals) as process:
        try:
            wait_for('boxes', lambda: all(path.exists() and path.stat().st_size for path in parts))
            for _ in range(times):
                (os.killpg if to_all else os.kill)(process.pid, send)
                time.sleep(.3 * (times > 1))
            out, messages = process.communicate(timeout=60)
            left = processes(str(folder))
        finally:
            for pid in processes(str(folder)):
                os.kill(pid, signal.SIGKILL)
    assert process.returncode == 128 + send, f'{process.returncode}: {messages[-2000:]}'
    assert not left, f'still running: {left}'
    assert not messages, messages
    return out


def check_whole(outputs):
    """Checks that files are complete, with less than all frames."""
    for path in outputs:
        assert path.exists() and not path.with_name(f'{path.name}.part').exists(), path.name
        frames = [json.loads(line) for line in path.read_text().splitlines()]
        assert 0 < len(frames) < FRAMES, len(frames)


def test_a_signal_completes_the_files(folder):
    need_inference()
    clip, out, drawn = long_clip(folder), folder / 'boxes.jsonl', folder / 'boxes.webm'
    for send in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        for to_all in False, True:
            table = stop([clip, '--boxes', out, '-o', drawn], [out], folder, send, to_all)
            check_whole([out])
            assert ' frames in ' in table, table
            frames = len(out.read_text().splitlines())
            count, _ = run('bash', '-c', f'gst-launch-1.0 -q filesrc location={drawn} !'
                           ' matroskademux ! vp8dec ! fdsink | wc -c')
            assert int(count) // (16 * 16 * 3 // 2) == frames, (count, frames)
            out.unlink()


def test_signals_end_all_videos(folder):
    need_inference()
    clip = long_clip(folder)
    outputs = [folder / f'boxes/long{end}.jsonl' for end in ('', '-2', '-3')]
    stop([clip, clip, clip, '--streams', 3, '--boxes', folder / 'boxes/'], outputs, folder)
    check_whole(outputs)
    shutil.rmtree(folder / 'boxes')
    stop([clip, clip, clip, '--boxes', folder / 'boxes/'], outputs[:1], folder)
    check_whole(outputs[:1])
    assert not outputs[1].exists(), 'the next one has begun'


def test_a_second_signal_ends_at_once(folder):
    need_inference()
    out = folder / 'boxes.jsonl'
    clip, began = long_clip(folder), time.monotonic()
    # the end waits behind the frames for a slow sink
    stop([clip, '--show=identity sleep-time=9000000 ! fakesink async=false', '--boxes', out],
         [out], folder, signal.SIGINT, times=2)
    assert time.monotonic() - began < 9


def test_signals_before_the_first_frame(folder):
    """While Python starts, the model is loaded, and the file is opened."""
    need_inference()
    clip = long_clip(folder)
    for after in range(1, 14):
        command = [PROGRAM, 'detect', clip, '--model', MODEL, '--boxes', folder / 'boxes.jsonl']
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True, preexec_fn=heed_signals) as process:
            try:
                time.sleep(after * .07)
                process.send_signal(signal.SIGTERM)
                _, messages = process.communicate(timeout=60)
            finally:
                process.kill()
        # a Python that has not begun is ended by the signal itself
        assert process.returncode in (143, -signal.SIGTERM) and not messages, \
            (after, process.returncode, messages)
        assert not (folder / 'boxes.jsonl.part').exists(), after


def test_ignored_signals_stay_so(folder):
    """As under nohup, and for jobs in the background of a script."""
    need_inference()
    out = folder / 'boxes.jsonl'
    command = (f'trap "" HUP; exec {PROGRAM} detect {long_clip(folder)} --model {MODEL}'
               f' --boxes {out}')
    with subprocess.Popen(['bash', '-c', command], stdout=subprocess.PIPE,
                          preexec_fn=heed_signals) as process:
        part = out.with_name('boxes.jsonl.part')
        wait_for('boxes', lambda: part.exists() and part.stat().st_size)
        process.send_signal(signal.SIGHUP)
        size = part.stat().st_size
        wait_for('more boxes', lambda: part.stat().st_size > size)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143, process.returncode
    check_whole([out])


def test_containers_and_services_are_stopped_by_sigint(folder):
    need_inference()
    assert re.search('^STOPSIGNAL SIGINT$', (SOURCE / 'tools/Containerfile').read_text(), re.M)
    unit = (SOURCE / 'tools/debian/examples/keepbox@.service').read_text()
    assert 'KillSignal=SIGINT\nKillMode=mixed\n' in unit, unit
    # Parsed like systemd: continued lines, $$ for $, %% for %, %i for the instance, shell quotes.
    command = re.search(r'^ExecStart=((?:.*\\\n)*.*)$', unit, re.M)[1]
    command = re.sub('%[i%]', lambda found: {'%i': 'front', '%%': '%'}[found[0]], command)
    command = shlex.split(command.replace('\\\n', ' ').replace('$$', '$'))
    assert '-e' in command[-1].split(), command
    environment = {**os.environ, 'SOURCE': long_clip(folder).as_uri(),
                   'STATE_DIRECTORY': str(folder), 'MODEL': str(PIPELINES / 'models/shapes.onnx')}
    with subprocess.Popen(command, env=environment, start_new_session=True) as service:
        try:
            wait_for('boxes', lambda: any(part.stat().st_size > 0
                                          for part in folder.glob('front-*.jsonl.part')))
            service.send_signal(signal.SIGINT)
            assert service.wait(60) == 0, service.returncode
        finally:
            service.kill()
    out, = folder.glob('front-*')
    assert re.fullmatch(r'front-\d{8}T\d{6}\.jsonl', out.name), out
    frames = [json.loads(line) for line in out.read_text().splitlines()]
    assert 0 < len(frames) < FRAMES, len(frames)


if __name__ == '__main__':
    main(globals())
