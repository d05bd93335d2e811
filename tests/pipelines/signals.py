#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stops the scripts of pipelines/ and the service's line with signals while they run: their files
are completed, and no process remains."""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

from tap import PIPELINES, SOURCE, main, need_inference, run

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


def stop(command, outputs, folder, send=signal.SIGTERM, to_all=False):
    """Signals a command, or its process group, once all of its files have boxes."""
    parts = [path.with_name(f'{path.name}.part') for path in outputs]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=heed_signals) as process:
        try:
            wait_for('boxes', lambda: all(path.exists() and path.stat().st_size for path in parts))
            (os.killpg if to_all else os.kill)(process.pid, send)
            _, messages = process.communicate(timeout=60)
            left = processes(str(folder))
        finally:
            for pid in processes(str(folder)):
                os.kill(pid, signal.SIGKILL)
    assert process.returncode == 0, f'{process.returncode}: {messages[-2000:]}'
    assert not left, f'still running: {left}'
    for path, part in zip(outputs, parts):
        finished = path.exists() and not part.exists()
        assert finished, f'{path.name} is not finished: {messages[-2000:]}'
        frames = [json.loads(line) for line in path.read_text().splitlines()]
        assert 0 < len(frames) < FRAMES, len(frames)


def test_file_ends_by_sigterm(folder):
    need_inference()
    out = folder / 'boxes.jsonl'
    stop([PIPELINES / 'file', long_clip(folder), out], [out], folder)


def test_file_ends_by_a_signal_to_all(folder):
    need_inference()
    out = folder / 'boxes.jsonl'
    for send in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        stop([PIPELINES / 'file', long_clip(folder), out], [out], folder, send, to_all=True)
        out.unlink()


def test_streams_end_by_sigterm(folder):
    need_inference()
    clip = long_clip(folder)
    stop([PIPELINES / 'streams', folder / 'boxes', clip, clip, clip],
         [folder / f'boxes/{number}.jsonl' for number in range(3)], folder)


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
