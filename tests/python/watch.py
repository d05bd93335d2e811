#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests `keepbox watch` by what its server sends: the page, pictures and boxes, to many viewers and
to some that stall."""
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from common import MODEL, detector, fails, need_inference, resources
from tap import CLIP, SOURCE, Skip, main

from keepbox._errors import Error
from keepbox._server import PATIENCE, Address, Server, Response, address_of

PROGRAM = [sys.executable, SOURCE / 'python/bin/keepbox', 'watch']


def words_of(*words):
    return [*map(str, PROGRAM), *map(str, words or [CLIP]), '--model', str(MODEL), '--listen',
            '127.0.0.1:0']


class Watched:
    """A running program."""

    def __init__(self, *words):
        need_inference()
        self.process = subprocess.Popen(words_of(*words), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.port = int(re.search(r':(\d+)/$', self.url)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self, seconds=10):
        """Returns the exit status, stderr, and the time that it took."""
        began = time.monotonic()
        _, text = self.process.communicate(timeout=seconds)
        return self.process.returncode, text, time.monotonic() - began


def request(port, path='/', host=None, method='GET', address='127.0.0.1'):
    """Sends a request, and returns the connection."""
    connection = socket.create_connection((address, port), 60)
    host = f'127.0.0.1:{port}' if host is None else host
    connection.sendall(f'{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
    return connection


def answer(*words, **named):
    """Returns status, headers and body of an answer that has an end."""
    with request(*words, **named) as connection:
        text = b''.join(iter(lambda: connection.recv(1 << 16), b''))
    head, _, body = text.partition(b'\r\n\r\n')
    first, *rest = head.decode().split('\r\n')
    return int(first.split()[1]), dict(line.split(': ', 1) for line in rest), body


def events_of(port, source=0):
    """Yields name and data of events."""
    with request(port, f'/{source}/events') as connection, connection.makefile('rb') as lines:
        name = ''
        for line in lines:
            if line.startswith(b'event: '):
                name = line[7:].strip().decode()
            elif line.startswith(b'data: '):
                yield name, json.loads(line[6:])


def pictures_of(port, source=0):
    """Yields number and bytes of pictures."""
    with request(port, f'/{source}/pictures') as connection, connection.makefile('rb') as data:
        for line in data:
            if not line.startswith(b'--'):
                continue
            lines = iter(data.readline, b'\r\n')
            head = dict(each.decode().strip().split(': ') for each in lines)
            yield int(head['X-Frame']), data.read(int(head['Content-Length']))


def frames_of(port, count):
    """Returns frames from events."""
    found = []
    for name, data in events_of(port):
        if name == 'frame':
            found.append(data)
            if len(found) == count:
                return found
    raise AssertionError(f'{len(found)} frames came instead of {count}')


@contextlib.contextmanager
def serving(routes, host='127.0.0.1'):
    server = Server(Address(host, 0), routes)
    server.start()
    try:
        yield server
    finally:
        server.close()


def test_addresses(_):
    default = Address('127.0.0.1', 8080)
    for text, host, port in (('0.0.0.0:80', '0.0.0.0', 80), ('[::1]:81', '::1', 81),
                             ('::1', '::1', 8080), ('8081', '127.0.0.1', 8081),
                             (':8082', '127.0.0.1', 8082), ('box.local', 'box.local', 8080),
                             ('10.0.0.1', '10.0.0.1', 8080), ('[::]', '::', 8080)):
        assert address_of(text, default) == Address(host, port), text
    for text in '', 'a:b:c', 'x:99999', '1:2:3', 'http://x:80', 'x:', '[::1', 'a b':
        fails(ValueError, '0.0.0.0:8080', lambda text=text: address_of(text, default))


def test_addresses_that_cannot_be(_):
    with serving({}) as server:
        busy = server.address.port
        fails(Error, f'port {busy} of 127.0.0.1 is in use: choose another one',
              lambda: Server(Address('127.0.0.1', busy), {}))
    fails(Error, 'no address of this machine', lambda: Server(Address('192.0.2.1', 0), {}))
    fails(Error, 'no address of this machine', lambda: Server(Address('x.invalid', 0), {}))


def test_hosts(_):
    own = socket.gethostname()
    with serving({'/': lambda: Response(b'page')}) as server:
        port = server.address.port
        for host in (f'127.0.0.1:{port}', f'localhost:{port}', f'[::1]:{port}', own, 'LocalHost',
                     '192.168.1.2', f'{own.partition(".")[0]}.local:80'):
            assert answer(port, host=host)[0] == 200, host
        for host in ('evil.example', f'evil.example:{port}', '127.0.0.1.evil.example', '',
                     'localhost.evil.example', '[::1].evil.example', 'localhost@evil.example'):
            status, _, body = answer(port, host=host)
            assert status == 421 and b'page' not in body, (host, body)


def test_requests(_):
    with serving({'/': lambda: Response(b'page'), '/fails': lambda: 1 / 0}) as server:
        port = server.address.port
        assert answer(port, '/?a=b')[2] == b'page'
        assert answer(port, method='HEAD')[2] == b''
        for path in '/x', '/../../etc/passwd', '/%2e%2e/', '/_server.py', '/static/':
            assert answer(port, path)[0] == 404, path
        for method in 'POST', 'PUT', 'DELETE', 'OPTIONS':
            status, headers, _ = answer(port, method=method)
            assert status == 405 and headers['Allow'] == 'GET, HEAD', method
        assert not request(port, '/fails').recv(100)
        status, headers, _ = answer(port)
        assert status == 200 and headers['Cache-Control'] == 'no-store'
        assert headers['X-Content-Type-Options'] == 'nosniff'
        with socket.create_connection(('127.0.0.1', port)) as wrong:
            wrong.sendall(b'\x16\x03\x01 hello\r\n\r\n')
            assert b'400' in wrong.recv(1000)


def test_ipv6(_):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(('::1', 0))
    except OSError as error:
        raise Skip('no IPv6') from error
    with serving({'/': lambda: Response(b'page')}, '::1') as server:
        assert server.url == f'http://[::1]:{server.address.port}/' and server.is_local
        assert answer(server.address.port, address='::1')[2] == b'page'
    with serving({'/': lambda: Response(b'page')}, '::') as server:
        assert not server.is_local
        for address in '::1', '127.0.0.1':
            assert answer(server.address.port, address=address)[2] == b'page'


def test_too_many_connections(_):
    """Those beyond the limit are refused, and there is room again when others have gone."""
    from keepbox._server import CONNECTIONS
    with serving({'/': lambda: Response(b'page')}) as server:
        port = server.address.port
        held = [socket.create_connection(('127.0.0.1', port)) for _ in range(CONNECTIONS)]
        time.sleep(.5)
        with contextlib.suppress(ConnectionError):
            assert not request(port).recv(100)
        for each in held:
            each.close()
        time.sleep(.5)
        assert answer(port)[2] == b'page'


def test_a_request_that_does_not_come(_):
    with serving({}) as server:
        idle = socket.create_connection(('127.0.0.1', server.address.port))
        idle.sendall(b'GET / HT')
        idle.settimeout(PATIENCE + 5)
        assert idle.recv(100) == b''
        idle.close()


def test_page(_):
    with Watched(CLIP, '--loop') as watched:
        status, headers, body = answer(watched.port)
        assert status == 200 and b'shapes.webm' in body and b'http://' not in body, headers
        assert str(CLIP.parent).encode() not in body, 'folders are nobody\'s business'
        policy = headers['Content-Security-Policy']
        assert "default-src 'none'" in policy and 'unsafe' not in policy, policy


def test_pictures_have_the_boxes_of_their_frame(folder):
    with Watched(CLIP, '--loop') as watched:
        frames = {}

        def listen():
            with contextlib.suppress(ConnectionError):
                for name, data in events_of(watched.port):
                    if name == 'frame':
                        frames[data['number']] = data
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        pictures = []
        for number, jpeg in pictures_of(watched.port):
            pictures.append((number, jpeg))
            if len(pictures) == 12:
                break
        time.sleep(.5)
    own = detector(confidence=.5)
    compared = 0
    for number, jpeg in pictures[2::3]:
        path = folder / f'{number}.jpg'
        path.write_bytes(jpeg)
        found = next(iter(own(path))).boxes

        def distance(frame, found=found):
            """Returns how far boxes of the picture are from those of the frame: the median."""
            boxes = [(box[6], box[:4]) for box in frames[frame]['boxes']]
            each = sorted(min((abs(box - other).max() for other_name, other in boxes
                               if other_name == name), default=99)
                          for box, name in zip(found.ltwh, found.names))
            return each[len(each) // 2]
        steps = [distance(number + step) for step in (-1, 0, 1)]
        assert steps[1] == min(steps) < 6, (number, steps)
        compared += 1
    assert compared >= 3, compared


def test_a_file_begins_with_a_viewer_and_ends(_):
    with Watched(CLIP) as watched:
        time.sleep(3)
        numbers, states, rows = [], [], 0
        began = time.monotonic()
        for name, data in events_of(watched.port):
            if name == 'frame' or name == 'known':
                numbers.append(data.get('frame', data)['number'])
            if name == 'frame':
                continue
            if name == 'second':
                rows += 1
            else:
                states.append(data['state'])
        took = time.monotonic() - began
        status, text, _ = watched.end()
        assert numbers[0] == 1 and numbers == list(range(1, len(numbers) + 1)), numbers
        assert states == ['connecting', 'live', 'ended'] and rows, (states, rows)
        assert took > 2.5, f'{took} s, as if it had no pace'
        assert status == 0 and 'shapes.webm: it has ended' in text, (status, text)


def test_loop(_):
    with Watched(CLIP, '--loop') as watched:
        last, began, times = 0, time.monotonic(), []
        for name, data in events_of(watched.port):
            if name == 'frame':
                assert data['number'] == last + 1 or not last, (last, data['number'])
                last = data['number']
                times.append(time.monotonic())
            if time.monotonic() - began > 14:
                break
        assert max(b - a for a, b in zip(times, times[1:])) < 3, 'a pause'
        assert times[-1] - began > 12, 'it has ended'


def test_what_the_model_did_not_look_at(_):
    with Watched(CLIP, '--loop', '--set', 'interval=3') as watched:
        frames = frames_of(watched.port, 30)
        skipped = [frame for frame in frames if frame['skipped']]
        assert len(skipped) >= 18 and not any(frame['boxes'] for frame in skipped), len(skipped)
        assert all(frame['boxes'] for frame in frames if not frame['skipped'])
        _, known = next(events_of(watched.port))
        assert known['rows'] and all(row['boxes'] for row in known['rows'] if row['looked']), known
    with Watched(CLIP, '--loop', '--every', '3') as watched:
        frames = frames_of(watched.port, 30)
        held = [frame for frame in frames if any(box[8] for box in frame['boxes'])]
        assert len(held) >= 15, len(held)


def test_ids(_):
    with Watched(CLIP, '--loop', '--track') as watched:
        boxes = [box for frame in frames_of(watched.port, 20) for box in frame['boxes']]
        assert any(isinstance(box[7], str) for box in boxes), boxes


def test_many_viewers_of_one_encoder(_):
    """All get the same bytes of a picture."""
    with Watched(CLIP, '--loop') as watched:
        seen = [{} for _ in range(8)]

        def look(found):
            for number, jpeg in pictures_of(watched.port):
                found[number] = jpeg
                if len(found) > 10:
                    return
        threads = [threading.Thread(target=look, args=[found], daemon=True) for found in seen]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert all(len(found) > 10 for found in seen), [len(found) for found in seen]
        first = seen[0]
        for found in seen[1:]:
            both = first.keys() & found.keys()
            assert len(both) > 4 and all(first[number] == found[number] for number in both), both


def test_the_encoder_rests_without_viewers(_):
    need_inference()
    from keepbox.cli.watch import GATE, Camera, read, routes_of, settings_for
    arguments, found = read([str(CLIP), '--model', str(MODEL), '--loop'])
    camera = Camera(found[0], settings_for(arguments)[0], arguments, print)
    try:
        with serving(routes_of([camera], {})) as server:
            camera.start()
            while camera.tally.frames < 5:
                camera.step(50)
            closed = lambda: camera.element(GATE).get_property('drop')  # noqa: E731
            assert closed() and not camera.feed._pictures
            viewers = [pictures_of(server.address.port) for _ in range(2)]
            for each in viewers:
                next(each)
            assert not closed()
            viewers[0].close()
            next(viewers[1])
            assert not closed()
            viewers[1].close()
            end = time.monotonic() + 5
            while not closed() and time.monotonic() < end:
                camera.step(50)
            assert closed(), 'it encodes for nobody'
    finally:
        camera.close()


def rate(port, seconds):
    """Returns the pictures and the frames that come in some seconds."""
    counts = [0, 0]

    def count(index, stream):
        end = time.monotonic() + seconds
        for each in stream:
            counts[index] += index == 0 or each[0] == 'frame'
            if time.monotonic() > end:
                return
    threads = [threading.Thread(target=count, args=[0, pictures_of(port)]),
               threading.Thread(target=count, args=[1, events_of(port)])]
    for each in threads:
        each.start()
    for each in threads:
        each.join(seconds + 30)
    return counts


def test_a_viewer_that_stalls(_):
    """It is dropped, and others get all that they got before."""
    with Watched(CLIP, '--loop') as watched:
        before = rate(watched.port, 4)
        stalled = []
        for path in ['/0/pictures', '/0/events'] * 4:
            stalled.append(socket.socket())
            stalled[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled[-1].connect(('127.0.0.1', watched.port))
            stalled[-1].sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        now = rate(watched.port, 4)
        assert all(b > a * .5 for a, b in zip(before, now)), (before, now)
        viewers = 9
        end = time.monotonic() + 60
        for name, data in events_of(watched.port):
            viewers = data['viewers'] if name == 'second' else viewers
            if viewers <= 1 or time.monotonic() > end:
                break
        assert viewers <= 1, f'{viewers} viewers are left'
        for each in stalled:
            each.close()


def test_a_viewer_who_is_late_skips(_):
    """Events are kept for all viewers together, so that a slow one costs no memory."""
    from keepbox.cli.feed import KEPT, Feed, Frame
    feed = Feed(lambda *_: None)
    slow, quick = feed.events(), feed.events()
    next(slow), next(quick)
    feed.say('live')
    for number in range(1, 3 * KEPT):
        feed.add(Frame(number, 0, 0, False, (4, 3), []))
        assert f'"number":{number},'.encode() in next(quick)
    text = next(slow)
    numbers = [int(each) for each in re.findall(rb'"number":(\d+)', text)]
    assert numbers == list(range(3 * KEPT - len(numbers), 3 * KEPT)), numbers
    assert len(numbers) <= KEPT and b'"state":"live"' in text, text


def test_interrupt_ends_it_at_once(_):
    with Watched(CLIP, '--loop') as watched:
        frames_of(watched.port, 3)
        stalled = request(watched.port, '/0/pictures')
        listener = events_of(watched.port)
        next(listener)
        watched.process.send_signal(signal.SIGINT)
        status, text, took = watched.end()
        assert status == 130 and took < 2.5 and not text, (status, took, text)
        *_, (name, data) = listener
        assert (name, data['state']) == ('state', 'ended') and 'stopped' in data['reason'], data
        stalled.close()


def test_several_sources(_):
    with Watched(CLIP, 'videotestsrc is-live=true', '--loop') as watched:
        assert answer(watched.port, '/2/events')[0] == 404
        for source in 0, 1:
            assert next(pictures_of(watched.port, source))[1].startswith(b'\xff\xd8')


def test_failures(folder):
    (folder / 'no.webm').write_bytes(b'no video')
    done = subprocess.run(words_of(folder / 'no.webm'), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count('\n') == 1, done.stderr
    assert 'no.webm: ' in done.stderr, done.stderr
    with serving({}) as server:
        busy = f'127.0.0.1:{server.address.port}'
        done = subprocess.run([*words_of()[:-1], busy], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and done.stderr.count('\n') == 1, done.stderr
        assert 'is in use: choose another one' in done.stderr, done.stderr
    for words, sentence in (([folder / 'x.png'], 'cannot be watched'), ([], 'no source was given'),
                            ([CLIP, '--listen', 'x:y:z'], 'must be ADDRESS:PORT')):
        (folder / 'x.png').touch()
        done = subprocess.run([*map(str, PROGRAM), *map(str, words), '--model', str(MODEL)],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and sentence in done.stderr, (words, done.stderr)


def test_secrets(_):
    """Names for viewers have neither passwords nor tokens."""
    from keepbox.cli.sources import sources_of
    from keepbox.cli.watch import shown, without_query
    for word, name in (('rtsp://me:secret@camera:554/1?key=secret', 'rtsp://camera:554/1'),
                       ('https://camera/1?auth=secret#secret', 'https://camera/1'),
                       ('rtspsrc location=rtsp://me:secret@camera ! decodebin', 'rtspsrc'),
                       (str(CLIP), 'shapes.webm'), ('3', 'video3')):
        found, = sources_of([word])
        assert shown(found) == name, shown(found)
    text = without_query('Could not open rtsp://camera/1?key=secret: no route')
    assert 'secret' not in text and 'no route' in text, text


def test_nothing_is_left_of_viewers(_):
    before = None
    with serving({'/': lambda: Response(b'x' * 100000)}) as server:
        for turn in range(200):
            connection = request(server.address.port)
            if turn % 2:
                connection.recv(10)
            connection.close()
            if turn == 20:
                time.sleep(1)
                before = resources()
        time.sleep(1)
        assert all(now <= then for now, then in zip(resources(), before)), (before, resources())


def chosen():
    """Returns the tests whose names have a word of the command line, or all."""
    words = sys.argv[1:]
    return {name: test for name, test in globals().items()
            if not words or any(word in name for word in words)}


main(chosen())
