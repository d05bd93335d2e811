# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs models for a program in another process: the worker's side. Its argument is the number of a
socket from which it gets channels; it ends with that."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from . import _errors
from ._boxes import Mask
from ._counts import packed
from ._given import Given
from ._options import plain
from ._wire import Channel, Closed, Peer


NUMBER = struct.Struct('<Q')
# Seconds in which pipelines end.
ENDING = 3


class ItemError(Exception):
    """The program's iterable has raised an exception."""


class Worker:
    """The objects of a program, by number."""

    def __init__(self) -> None:
        self._peer = Peer()
        self._objects: dict[int, Any] = {}
        self._count = 0
        self._lock, self._freeing = threading.Lock(), threading.Lock()
        self._serving = threading.local()  # the channel of each thread
        _errors.tell = self._tell

    def _tell(self, text: str) -> None:
        """Sends a warning to the program whose call this thread serves."""
        self._peer.send(self._serving.channel, {'warning': text})

    def keep(self, value: Any) -> int:
        """Keeps an object until the program frees it, and returns its number."""
        with self._lock:
            self._count += 1
            self._objects[self._count] = value
            return self._count

    def free(self, number: int) -> None:
        """Lets an object go, which ends its pipelines."""
        with self._freeing:
            self._objects.pop(number, None)

    def close(self) -> None:
        """Lets all objects go."""
        for number in list(self._objects):
            self.free(number)

    def serve(self, channel: Channel) -> None:
        """Serves the calls on a channel until it is closed."""
        self._serving.channel = channel
        with contextlib.suppress(Closed):
            while True:
                self._answer(channel, self._peer.receive(channel))
        channel.close()

    def _answer(self, channel: Channel, message: dict[str, Any]) -> None:
        if 'call' not in message:  # an item that was sent twice
            return
        if folder := message.get('folder'):
            with contextlib.suppress(OSError):
                os.chdir(folder)
        for number in message.get('freed', ()):
            self.free(number)
        try:
            function = getattr(self, f'do_{message["call"]}')
            target = self._objects.get(message['of'])
            answer = {'result': function(target, *message['with'])}
        except Closed:
            raise
        except Exception as error:
            answer = {'error': about_error(error)}
        self._peer.send(channel, answer)

    def do_hello(self, _target: None) -> None:
        """Loads GStreamer."""
        from . import _gi
        del _gi

    def do_new(self, _target: None, colors: str, tracker: str,
               properties: Mapping[str, object]) -> int:
        """Makes an engine."""
        from ._engine import Engine
        return self.keep(Engine(colors, tracker, properties))

    def do_set(self, engine: Any, properties: Mapping[str, object]) -> None:
        """Sets an engine's properties."""
        engine.set(properties)

    def do_value(self, engine: Any, name: str) -> Any:
        """Returns the value of an engine's property."""
        return engine.value(name)

    def do_names(self, engine: Any) -> list[str]:
        """Returns the names of an engine's properties."""
        return engine.names()  # type: ignore[no-any-return]

    def do_open(self, engine: Any, kind: str, value: Any, ahead: int, live: bool | None,
                timeout: float | None) -> int:
        """Opens a source."""
        if kind in ('arrays', 'items'):
            value = self._items(engine.colors, kind == 'arrays')
        kind = 'items' if kind == 'arrays' else kind
        return self.keep(engine.open(Given(kind, value, ahead), live, timeout))

    def _items(self, colors: str, only_arrays: bool) -> Iterator[Any]:
        """Yields what the program's iterable has, on the channel of the thread that asks for it."""
        from ._sources import picture_of
        while True:
            channel = self._serving.channel
            self._peer.send(channel, {'item': True})
            item = self._peer.receive(channel)
            if 'end' in item:
                return
            if 'raised' in item:
                raise ItemError
            if 'wrong' in item:
                kind, text = item['wrong']
                error = (TypeError if kind == 'TypeError' else ValueError)(text)
                if only_arrays:
                    raise error
                yield error
            elif 'path' in item:
                yield item['path']
            else:
                picture = picture_of(item['pixels'], colors)
                picture.image = item['number']  # the program has the array
                yield picture

    def do_next(self, stream: Any) -> dict[str, Any] | None:
        """Returns the next frame of a stream."""
        frame = next(stream, None)
        if frame is None:
            return None
        boxes, values, given = frame.boxes, frame.boxes._values, frame._given
        layout = boxes._layout
        return {'number': self.keep(frame), 'index': frame.index, 'time': frame.time,
                'path': frame.path, 'stamp': frame._stamp or 0, 'shape': frame.shape,
                'given': given if isinstance(given, int) else None,
                'rows': boxes._rows.view('u1'), 'parents': boxes._parents,
                'labels': values['label'], 'models': values['model'],
                'skipped': frame.skipped, 'attributes': frame.attributes,
                'counts': packed(frame.counts),
                'layout': {name: getattr(layout, name)
                           for name in ('tracked', 'keypoints', 'masks', 'embedding')}}

    def do_values(self, frame: Any, name: str) -> list[Any]:
        """Returns what each box of a frame has."""
        return [[each.pixels, each.rect] if isinstance(each, Mask) else each
                for each in frame.boxes._values[name]]

    def do_image(self, frame: Any) -> Any:
        """Returns the pixels of a frame."""
        return frame._read().image()

    def do_drawn(self, frame: Any, properties: Mapping[str, object]) -> Any:
        """Returns the pixels of a frame with its boxes."""
        return frame._read().drawn(properties)

    def do_duration(self, stream: Any) -> float | None:
        """Returns the length of a stream."""
        return stream.duration  # type: ignore[no-any-return]

    def do_stats(self, stream: Any) -> Any:
        """Returns the statistics of a stream."""
        return plain(stream.stats())

    def do_methods(self, _target: None) -> list[str]:
        """Returns the methods of boxtrack."""
        from .cli import options
        return options.methods()

    def do_settings(self, _target: None, arguments: Mapping[str, Any], live: bool,
                    draws: bool) -> dict[str, Any]:
        """Returns the properties that options of the program are, or what is wrong with them."""
        from .cli import Usage, options
        try:
            return dataclasses.asdict(options.settings_of(argparse.Namespace(**arguments), live,
                                                          draws))
        except Usage as error:
            return {'usage': str(error)}

    def do_has_gpu(self, _target: None) -> bool:
        """True if there is a GPU that decodes."""
        from .cli import gpu
        return gpu.is_possible()

    def do_thumbnail(self, _target: None, path: str, time: float | None) -> dict[str, Any]:
        """Returns the picture of a frame as a report shows it."""
        from ._report import picture_of
        return picture_of(path, time)

    def do_close(self, target: Any) -> None:
        """Closes an engine or a stream."""
        if target is not None:
            target.close()


def about_error(error: Exception) -> dict[str, Any]:
    """Returns an exception as the program's side takes it."""
    if isinstance(error, ItemError):
        return {'kind': 'item', 'with': []}
    if isinstance(error, _errors.Error):
        return {'kind': 'Error',
                'with': [error.message, error.element, error.details, error.source]}
    for kind in type(error).__mro__:
        if kind.__name__ in ('AttributeError', 'FileNotFoundError', 'ImportError', 'OSError',
                             'TypeError', 'ValueError'):
            return {'kind': kind.__name__, 'with': [str(error)]}
    return {'kind': 'Error', 'with': [f'{type(error).__name__}: {error}']}


def main(number: int) -> None:
    """Serves until the program closes its socket or ends."""
    worker = Worker()
    try:
        serve(worker, number)
    finally:
        end = threading.Timer(ENDING, os._exit, [1])  # an element may not stop
        end.daemon = True
        end.start()
        worker.close()


def serve(worker: Worker, number: int) -> None:
    """Gives a thread to each channel."""
    with socket.socket(fileno=number) as control:
        while True:
            freed, files, _, _ = socket.recv_fds(control, NUMBER.size, 1)
            if not freed:
                return
            if not files:
                worker.free(*NUMBER.unpack(freed))
                continue
            channel = Channel(socket.socket(fileno=files[0]))
            threading.Thread(target=worker.serve, args=(channel,), daemon=True).start()


if __name__ == '__main__':
    main(int(sys.argv[1]))
