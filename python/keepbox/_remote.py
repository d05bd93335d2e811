# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a model in a worker process, which has GStreamer: the program's side."""
from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import os
import signal
import socket
import struct
import subprocess
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _process, _runtime
from ._boxes import READ, ROW, Boxes, Layout, Mask, Values
from ._counts import Counts, unpacked
from ._errors import Error, warn
from ._frame import Frame
from ._given import Given, Pixels, checked_item
from ._options import plain
from ._streams import Stream
from ._wire import Channel, Closed, Peer

# Channels that are kept for further calls.
KEPT = 4
# Seconds in which the worker ends.
ENDING = 5
NUMBER = struct.Struct('<Q')


class Connection:
    """A worker process and the channels to it. Each call has a channel for itself, so that none
    waits for another."""

    def __init__(self, folder: Any) -> None:
        self._peer = Peer()
        # Finalizers may run at any place, so that nothing that they use has a lock.
        self._idle: list[Channel] = []
        self._freed: collections.deque[int] = collections.deque()
        self._folder = ''
        self._control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self.process = subprocess.Popen(
                [folder / 'python', _runtime.START, 'keepbox._worker', str(end.fileno())],
                pass_fds=[end.fileno()], process_group=0, stdin=subprocess.DEVNULL,
                env=_runtime.environment())
        atexit.register(self.close)
        self.call('hello')

    def channel(self) -> Channel:
        """Returns a channel that no other call uses."""
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        here, there = socket.socketpair()
        with there:
            try:
                socket.send_fds(self._control, [b'.'], [there.fileno()])
            except OSError as error:
                here.close()
                raise self.lost() from error
        return Channel(here)

    def give_back(self, channel: Channel) -> None:
        """Keeps a channel whose call has ended."""
        if len(self._idle) < KEPT:
            self._idle.append(channel)
        else:
            channel.close()

    def free(self, number: int) -> None:
        """Frees an object of the worker, at once and at the latest before the next call."""
        self._freed.append(number)
        with contextlib.suppress(OSError):  # the worker is gone
            self._control.send(NUMBER.pack(number), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def free_frame(self, number: int) -> None:
        """Frees a frame of the worker before the next call."""
        self._freed.append(number)

    def send(self, channel: Channel, message: Mapping[str, Any]) -> None:
        """Sends a message with what the worker has to know beside it."""
        more: dict[str, Any] = {}
        if self._freed:
            more['freed'] = [self._freed.popleft() for _ in range(len(self._freed))]
        with contextlib.suppress(OSError):  # a folder that was removed
            if (folder := os.getcwd()) != self._folder:
                more['folder'] = self._folder = folder
        try:
            self._peer.send(channel, {**message, **more})
        except Closed as error:
            raise self.lost() from error

    def read(self, channel: Channel) -> tuple[int, dict[str, Any]]:
        """Waits for a message, and returns its number and the message, which stays."""
        try:
            return self._peer.read(channel)
        except Closed as error:
            raise self.lost() from error

    def call(self, name: str, number: int = 0, *arguments: object) -> Any:
        """Calls a function of the worker, and returns what it returns or raises what it raises."""
        return Call(self, name, number, *arguments).result()

    def lost(self) -> Error:
        """Returns why the worker does not answer."""
        try:
            status = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return Error('the process that runs GStreamer does not answer: make another Detector')
        reason = (f'was ended by {signal.Signals(-status).name}' if status < 0
                  else f'has ended with status {status}')
        _forget(self)
        return Error(f'the process that runs GStreamer {reason}: make another Detector')

    def close(self) -> None:
        """Lets the worker end, and waits for that."""
        self.leave()
        try:
            self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def leave(self) -> None:
        """Closes this process's ends of the control socket and of channels that no call uses."""
        self._control.close()
        while self._idle:
            self._idle.pop().leave()


class Call:
    """A call of a function of the worker. If an exception interrupts result(), it may be called
    again.

    items: of a stream that reads items of the program while it is called.
    """

    def __init__(self, connection: Connection, name: str, number: int, *arguments: object,
                 items: ItemsGiven | None = None) -> None:
        _process.check()
        self._connection, self._items = connection, items
        self._channel = connection.channel()
        self.has_ended = False
        self._answer: tuple[int, dict[str, Any]] | None = None
        self._item: dict[str, Any] | None = None
        connection.send(self._channel, {'call': name, 'of': number, 'with': arguments})

    def result(self) -> Any:
        """Waits for the end of the call; returns the same when it is called again."""
        answer = self._last_answer()
        if not self.has_ended:
            self.has_ended = True
            self._connection.give_back(self._channel)
        if 'error' in answer:
            raise self._error(answer['error'])
        return answer['result']

    def _last_answer(self) -> dict[str, Any]:
        while True:
            if self._answer is None:
                try:
                    self._answer = self._connection.read(self._channel)
                except Error:
                    self.has_ended = True
                    raise
            number, answer = self._answer
            if self.has_ended:
                return answer
            self._channel.drop(number)
            if 'item' in answer:
                self._send_item()
            elif 'warning' in answer:
                self._answer = None
                warn(answer['warning'])
            else:
                return answer

    def _send_item(self) -> None:
        assert self._items is not None
        if self._item is None:
            self._item = self._items.read()
        self._connection.send(self._channel, self._item)
        self._answer = self._item = None

    def _error(self, about: Mapping[str, Any]) -> BaseException:
        if about['kind'] == 'item' and self._items is not None and self._items.error:
            return self._items.error
        if about['kind'] == 'Error':
            return Error(*about['with'])
        return KINDS.get(about['kind'], Error)(*about['with'])


KINDS: dict[str, type[Exception]] = {kind.__name__: kind for kind in (
    AttributeError, FileNotFoundError, ImportError, OSError, TypeError, ValueError)}

_connection: Connection | None = None
_starting = threading.Lock()


def connection() -> Connection:
    """Returns the connection of this process, which is made when it is first needed."""
    global _connection
    _process.check()
    with _starting:
        if _connection is None:
            folder = _runtime.folder()
            assert folder is not None
            _process.use()
            _connection = Connection(folder)
        return _connection


def _forget(lost: Connection) -> None:
    """Lets the next Detector start another worker."""
    global _connection
    if _connection is lost:
        _connection = None


def _after_fork() -> None:
    global _connection, _starting
    if _connection is not None:
        atexit.unregister(_connection.close)
        _connection.leave()
    _connection, _starting = None, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class ItemsGiven:
    """Arrays and names of files that the worker asks for, one after the other."""

    def __init__(self, values: Any) -> None:
        self._each: Iterator[Any] = iter(values)
        self._arrays: dict[int, Pixels] = {}
        self._count = 0
        self.error: BaseException | None = None

    def read(self) -> dict[str, Any]:
        """Returns the next item as a message."""
        try:
            item = next(self._each)
        except StopIteration:
            return {'end': True}
        except BaseException as error:  # is raised in the program, once it has reached the worker
            self.error = error
            return {'raised': True}
        try:
            checked = checked_item(item)
        except (TypeError, ValueError) as error:
            return {'wrong': [type(error).__name__, str(error)]}
        if isinstance(checked, str):
            return {'path': checked}
        self._count += 1
        self._arrays[self._count] = item if isinstance(item, np.ndarray) else checked
        return {'pixels': checked, 'number': self._count}

    def taken(self, number: int) -> Pixels:
        """Returns the array with a number. Those before it are not needed any more."""
        for old in [each for each in self._arrays if each < number]:
            del self._arrays[old]
        return self._arrays.pop(number)


class Engine:
    """Runs a model in the worker. Detector explains what its methods do."""

    def __init__(self, colors: str, tracker: str, properties: Mapping[str, object]) -> None:
        self._connection = connection()
        self._number = self._connection.call('new', 0, colors, tracker, plain(properties))
        self._end = weakref.finalize(self, self._connection.free, self._number)

    def set(self, properties: Mapping[str, object]) -> None:
        """Sets properties; none if one is wrong."""
        self._connection.call('set', self._number, plain(properties))

    def value(self, name: str) -> Any:
        """Returns what Detector's property of that name has."""
        return self._connection.call('value', self._number, name)

    def names(self) -> list[str]:
        """Returns the names in Python of the properties that may be set."""
        return list(self._connection.call('names', self._number))

    def open(self, given: Given, live: bool | None, timeout: float | None) -> Stream:
        """Starts to read a source."""
        items = ItemsGiven(given.value) if given.kind in ('arrays', 'items') else None
        value = None if items else given.value
        call = Call(self._connection, 'open', self._number, given.kind, value, given.ahead, live,
                    timeout, items=items)
        return RemoteStream(self._connection, call.result(), items)

    def close(self) -> None:
        """Ends all streams and releases the model."""
        with contextlib.suppress(Error):  # it has ended with its process
            self._connection.call('close', self._number)


class RemoteStream(Stream):
    """Frames that the worker reads."""

    def __init__(self, connected: Connection, number: int, items: ItemsGiven | None) -> None:
        self._connection, self._number, self._items = connected, number, items
        self._layout = Layout()
        self._call: Call | None = None
        weakref.finalize(self, connected.free, number)
        self._closed = False

    def _next(self) -> Frame | None:
        if self._closed:
            return None
        if self._call is None:
            self._call = Call(self._connection, 'next', self._number, items=self._items)
        call = self._call
        try:
            about = call.result()
        except Exception:
            if call.has_ended:
                self._call = None
            raise
        frame = None if about is None else self._frame_of(about)
        self._call = None
        return frame

    def _frame_of(self, about: Mapping[str, Any]) -> Frame:
        given = about['given']
        for name, value in about['layout'].items():
            if name != 'embedding' or value is not None:
                setattr(self._layout, name, value)
        content = Content(self._connection, about, self._layout)
        image = self._items.taken(given) if self._items and given else None
        return Frame(content, about['index'], time=about['time'], path=about['path'], image=image)

    def __del__(self) -> None:
        pass  # the worker closes what is freed

    def close(self) -> None:
        """Ends the stream; its frames stay usable."""
        if self._closed or not _process.is_usable():
            return
        self._closed = True
        with contextlib.suppress(Error):  # it has ended with its process
            self._connection.call('close', self._number)

    @property
    def duration(self) -> float | None:
        """Length of the video in seconds."""
        return Call(self._connection, 'duration', self._number,  # type: ignore[no-any-return]
                    items=self._items).result()

    def stats(self) -> dict[str, dict[str, Any]]:
        """Returns what tensorinfer and boxdecode count."""
        return Call(self._connection, 'stats', self._number,  # type: ignore[no-any-return]
                    items=self._items).result()


def _mask(value: Any) -> Mask | None:
    if value is None:
        return None
    pixels, rect = value
    return Mask(pixels, (rect[0], rect[1], rect[2], rect[3]))


# How lists of what boxes have come out of a message, by the names of READ.
UNPACK: dict[str, Any] = {
    'attributes': lambda value: {name: (text, level) for name, (text, level) in value.items()},
    'mask': _mask}


class _Fetched:
    """What the boxes of a frame have, each kind fetched from the worker when it is first needed."""

    def __init__(self, content: Content, known: Mapping[str, list[Any]]) -> None:
        self._content, self._known = content, dict(known)

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._known:
            values = self._content.call('values', name)
            unpack = UNPACK.get(name, lambda value: value)
            self._known[name] = [unpack(each) for each in values]
        return self._known[name]


def _reader(name: str) -> Any:
    return lambda place: place[0][name][place[1]]


READERS = {name: _reader(name) for name in READ}


class Content:
    """A frame that the worker has."""

    def __init__(self, connected: Connection, about: Mapping[str, Any], layout: Layout) -> None:
        self._connection, self._about, self._layout = connected, about, layout
        height, width = about['shape']
        self.shape: tuple[int, int] = height, width
        weakref.finalize(self, connected.free_frame, about['number']).atexit = False

    def call(self, name: str, *arguments: object) -> Any:
        """Calls a function about this frame."""
        return self._connection.call(name, self._about['number'], *arguments)

    @property
    def stamp(self) -> int:
        """The timestamp of its buffer."""
        return int(self._about['stamp'])

    def boxes(self) -> Boxes:
        """Returns its boxes."""
        about = self._about
        rows = about['rows'].view(ROW).reshape(-1)
        fetched = _Fetched(self, {'label': about['labels'], 'model': about['models']})
        values = Values(list(zip(itertools.repeat(fetched), range(len(rows)))), READERS)
        out = Boxes.__new__(Boxes)
        out._set(rows, values, self.shape, self._layout, about['parents'])
        return out

    def skipped(self) -> bool:
        """True if a model did not look at it."""
        return bool(self._about['skipped'])

    def attributes(self) -> dict[str, tuple[str, float]]:
        """Returns the results about the whole of it."""
        return {name: (text, level) for name, (text, level) in self._about['attributes'].items()}

    def counts(self) -> Counts:
        """Returns the counts of its lines and zones."""
        return unpacked(self._about['counts'])

    def image(self) -> Pixels:
        """Fetches its pixels."""
        return self.call('image')  # type: ignore[no-any-return]

    def drawn(self, properties: Mapping[str, object]) -> Pixels:
        """Fetches its pixels with its boxes."""
        return self.call('drawn', plain(properties))  # type: ignore[no-any-return]
