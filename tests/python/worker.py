#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests what only a worker process has: its end, its memory, and calls that are interrupted."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from common import CLIP, MODEL, detector, fails, need_inference, warned, within
from tap import main

import keepbox
from keepbox import _remote, _runtime
from keepbox._wire import KEPT, LARGE, Channel, Peer


def worker():
    return _remote.connection().process


def memory_of(process):
    """Returns a process's memory in MiB, without what is shared."""
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    return int(status.split('RssAnon:')[1].split()[0]) / 1024


def files_of(process):
    return len(os.listdir(f'/proc/{process.pid}/fd'))


def test_a_worker_that_is_killed_is_an_error_with_its_reason(folder):
    del folder
    detect = detector()
    stream = detect(CLIP)
    next(stream)
    worker().kill()
    error = within(20, lambda: fails(keepbox.Error, 'was ended by SIGKILL', lambda: list(stream)))
    assert 'make another Detector' in str(error), error
    for call in lambda: detect.detect(CLIP), lambda: detect.set(confidence=.4), stream.stats:
        within(20, lambda: fails(keepbox.Error, 'was ended by SIGKILL', call))
    stream.close()
    detect.close()
    assert len(detector().detect(CLIP).boxes) > 5, 'another detector has another worker'


def test_a_worker_that_is_killed_while_a_frame_is_waited_for(folder):
    del folder
    stream = detector()('videotestsrc is-live=true ! valve drop=true')
    threading.Timer(.5, worker().terminate).start()
    within(20, lambda: fails(keepbox.Error, 'was ended by SIGTERM', lambda: next(stream)))


def test_a_worker_ends_with_its_program(folder):
    need_inference()
    program = (f'import keepbox, os, sys\nfrom keepbox import _remote\n'
               f'detector = keepbox.Detector({str(MODEL)!r})\nnext(detector({str(CLIP)!r}))\n'
               'print(_remote.connection().process.pid, flush=True)\n')
    for end in '', 'os.kill(os.getpid(), 9)', 'os._exit(3)', 'raise SystemExit(2)':
        done = subprocess.run([sys.executable, '-c', program + end], capture_output=True,
                              text=True, timeout=60, check=False)
        place = pathlib.Path(f'/proc/{int(done.stdout)}')
        latest = time.monotonic() + 10
        while place.exists() and time.monotonic() < latest:
            time.sleep(.05)
        assert not place.exists(), (end, done)
        assert 'Traceback' not in done.stderr, done.stderr
    del folder


def test_an_interrupted_stream_goes_on(folder):
    """As after Ctrl-C. A frame is lost only if the signal comes when it has been returned."""
    del folder
    stream = detector(tracker='identity sleep-time=40000')(CLIP)
    next(stream)

    def interrupt(number, frame):
        raise KeyboardInterrupt
    before, seen, interrupted = signal.signal(signal.SIGALRM, interrupt), [0], 0
    try:
        signal.setitimer(signal.ITIMER_REAL, .11, .11)
        while seen[-1] < 60:
            try:
                seen.append(next(stream).index)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == sorted(set(seen)) and len(seen) >= 59 and interrupted > 5, (seen, interrupted)


def test_a_warning_that_is_an_error_loses_no_frame(folder):
    del folder
    import warnings
    stream, seen = detector(confidence=2)(CLIP), []
    with warnings.catch_warnings():
        warnings.simplefilter('error', keepbox.ElementWarning)
        while True:
            try:
                seen.append(next(stream).index)
            except keepbox.ElementWarning:
                continue
            except StopIteration:
                break
    assert seen == list(range(250)), len(seen)


def test_nothing_stays_in_the_worker(folder):
    """Neither frames that the program has forgotten nor their memory."""
    del folder
    detect = detector()

    def use(times):
        for _ in range(times):
            for frame in detect(CLIP):
                if frame.index % 50 == 0:
                    frame.image.sum()
                    frame.draw()
            detect.detect(np.zeros((480, 640, 3), np.uint8))
        return memory_of(worker()), files_of(worker())
    memory, files = use(3)
    memory_now, files_now = use(5)
    assert memory_now < memory + 60, (memory, memory_now)
    assert files_now <= files + 3, (files, files_now)


def test_frames_may_be_kept(folder):
    del folder
    frames = [frame for frame, _ in zip(detector()(CLIP), range(40))]
    images = [frame.image for frame in frames]
    sums = [int(image.sum()) for image in images]
    others = [frame.image for frame in detector()(CLIP) if frame.index % 20 == 0]
    del others
    assert [int(image.sum()) for image in images] == sums, 'each array has memory of its own'
    assert len({image.ctypes.data for image in images}) == 40
    images[0][...] = 7
    assert (images[0] == 7).all() and images[0].flags.writeable


def test_arrays_of_a_program_may_change_afterwards(folder):
    del folder
    detect = detector()
    image = detect.detect(CLIP).image
    wanted = list(detect.detect(image).boxes.names)
    frame = detect.detect(image)
    image[...] = 0
    assert list(frame.boxes.names) == wanted and frame.image is image
    assert not len(detect.detect(image).boxes)


def test_calls_of_threads_do_not_wait_for_each_other(folder):
    """A stream whose camera is silent leaves the detector usable."""
    del folder
    detect = detector()
    silent = detect('videotestsrc is-live=true ! valve drop=true')
    waiting = threading.Thread(target=lambda: next(silent, None), daemon=True)
    waiting.start()
    time.sleep(.3)
    assert len(within(20, lambda: detect.detect(CLIP).boxes)) > 5
    assert within(20, silent.stats)['boxdecode']['frames'] == 0
    within(20, silent.close)
    waiting.join(20)
    assert not waiting.is_alive()


def test_generators_run_in_the_program(folder):
    del folder
    detect, here = detector(), threading.get_ident()

    def camera():
        for _ in range(3):
            assert threading.get_ident() == here
            yield np.zeros((48, 64, 3), np.uint8)
        raise LookupError('of the program')
    stream = detect(camera())
    assert [next(stream).index for _ in range(3)] == [0, 1, 2]
    fails(LookupError, 'of the program', lambda: next(stream))


def test_the_folder_is_the_program_s(folder):
    need_inference()
    detect, before = detector(), os.getcwd()
    (folder / 'here').mkdir()
    (folder / 'here/clip.webm').write_bytes(CLIP.read_bytes())
    try:
        os.chdir(folder / 'here')
        assert detect.detect('clip.webm').path == 'clip.webm'
    finally:
        os.chdir(before)
    fails(FileNotFoundError, 'clip.webm', lambda: detect('clip.webm'))


def test_a_runtime_that_is_none(folder):
    for value in [str(folder)] + ['wheel'] * (not _runtime.is_brought()):
        done = subprocess.run(
            [sys.executable, '-c', 'import keepbox\ntry:\n    keepbox.Detector\n'
             'except ImportError as error:\n    print(error)'], capture_output=True, text=True,
            env={**os.environ, 'KEEPBOX_RUNTIME': value}, timeout=60, check=True)
        assert 'there is no runtime' in done.stdout and _runtime.VARIABLE in done.stdout, done


def pair():
    import socket
    return map(Channel, socket.socketpair())


def test_messages(folder):
    """Of values of JSON with arrays of all sizes and kinds."""
    del folder
    here, there = pair()
    sender, receiver = Peer(), Peer()
    random = np.random.default_rng(1)
    for count in (0, 1, LARGE // 8, LARGE, 3 * LARGE):
        for kind in 'u1', 'f4', 'i8', '?':
            values = random.integers(0, 2, (count, 2)).astype(kind)
            message = {'a': [1, None, True, 'ä"', {'deep': values[::-1, ::-1]}], 'b': values.T}
            sent = threading.Thread(target=sender.send, args=(here, message))
            sent.start()
            found = receiver.receive(there)
            sent.join()
            assert found['a'][:4] == [1, None, True, 'ä"']
            for each, wanted in (found['a'][4]['deep'], values[::-1, ::-1]), (found['b'], values.T):
                assert each.dtype == values.dtype and np.array_equal(each, wanted)
                assert each.flags.writeable
    here.close()
    fails(_remote.Closed, '', lambda: receiver.receive(there))


def test_memory_is_used_again(folder):
    del folder
    here, there = pair()
    sender, receiver = Peer(), Peer()
    before = len(os.listdir('/proc/self/fd'))
    values = np.zeros(LARGE + 1, np.uint8)
    for count in range(200):
        values[0] = count
        sender.send(here, {'a': values})
        found = receiver.receive(there)['a']
        assert found[0] == count
        receiver.send(there, {})
        sender.receive(here)
    assert len(sender._memories._lent) <= 2 and len(os.listdir('/proc/self/fd')) <= before + 4
    kept = []
    for count in range(20):
        sender.send(here, {'a': values})
        kept.append(receiver.receive(there)['a'])
    assert len({each.ctypes.data for each in kept}) == 20
    kept.clear()
    del found
    receiver.send(there, {})
    sender.receive(here)
    assert len(sender._memories._lent) == KEPT
    sender.send(here, {})
    receiver.receive(there)
    assert len(receiver._memories._borrowed) == KEPT


if __name__ == '__main__':
    main(globals())
