#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills a service in the middle of its work and starts it again: the broker gets every message."""
import contextlib
import socket
import subprocess
import threading
import time

from tap import PIPELINES, main, need, run

CONNECT, PUBLISH, SUBSCRIBE, PING = 1, 3, 8, 12
FIRST, LEAST = 20, 60  # messages that are confirmed, and frames of which the rest is not


class Broker:
    """As much of an MQTT broker as a publisher needs: it keeps messages, and confirms those that
    `confirms` is true of."""

    def __init__(self, port, confirms):
        self.confirms, self.messages = confirms, []
        self.server = socket.create_server(('127.0.0.1', port))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                with contextlib.suppress(OSError, EOFError), client:
                    while True:
                        self.answer(client, *self.packet(client))

    def packet(self, client):
        """Returns the first byte and the rest of a packet, without its length."""
        first, length, shift = self.take(client, 1)[0], 0, 0
        while True:
            byte = self.take(client, 1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return first, self.take(client, length)

    @staticmethod
    def take(client, size):
        data = b''
        while len(data) < size:
            part = client.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def answer(self, client, first, data):
        if first >> 4 == CONNECT:
            client.sendall(b'\x20\x02\x00\x00')
        elif first >> 4 == PING:
            client.sendall(b'\xd0\x00')
        elif first >> 4 == PUBLISH:
            size = int.from_bytes(data[:2])
            topic, number = data[2:2 + size].decode(), data[2 + size:4 + size]
            if (first >> 1) & 3 == 0:
                return
            if topic.endswith('/boxes'):
                if not self.confirms(len(self.messages)):
                    return
                self.messages.append(data[4 + size:].decode())
            client.sendall(b'\x40\x02' + number)

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def service(folder, port, frames, name):
    """The words of the line; its frames are numbered anew with each start."""
    return (f'gst-launch-1.0 -q videotestsrc is-live=true num-buffers={frames} pattern=ball !'
            ' video/x-raw,width=320,height=320,framerate=60/1 !'
            f' tensorreplay location={PIPELINES}/media/shapes-tensors.f16.raw dims=1,10,2100'
            ' type=float16 loop=true ! boxdecode'
            f' ! boxpublish address=127.0.0.1:{port} source={name}'
            f' what=boxes queue-location={folder}/queue max-reconnect-interval=1 stop-timeout=60 !'
            f' boxsink source={name} location={folder}/{name}.jsonl').split()


def lines(path):
    """Returns the whole lines of a file that may end in the middle of one."""
    return path.read_text().split('\n')[:-1] if path.exists() else []


def test_nothing_is_lost_by_a_kill(folder):
    need('boxpublish')
    (folder / 'queue').mkdir()
    broker = Broker(0, lambda count: count < FIRST)
    part = folder / 'one.jsonl.part'
    with subprocess.Popen(service(folder, broker.port, 100000, 'one')) as process:
        try:
            end = time.monotonic() + 60
            while len(lines(part)) < LEAST or len(broker.messages) < FIRST:
                assert time.monotonic() < end and process.poll() is None, len(lines(part))
                time.sleep(0.02)
        finally:
            process.kill()
    broker.close()
    written, before = lines(part), broker.messages
    assert before == written[:FIRST], 'the first ones are out of order'
    again = Broker(broker.port, lambda count: True)
    run(*service(folder, broker.port, 10, 'two'))
    again.close()
    after = again.messages
    left = [message for message in after if '"source":"one"' in message]
    # what the broker confirmed last may come again, and a frame may not have reached boxsink
    begin = written.index(left[0])
    assert begin <= FIRST, f'{left[0]} is not the one after {before[-1]}'
    assert left[:len(written) - begin] == written[begin:], f'{len(left)} of {len(written)} came'
    assert [message for message in after if '"source":"two"' in message] == \
        lines(folder / 'two.jsonl'), after[-3:]


if __name__ == '__main__':
    main(globals())
