# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages between two processes of one machine: values of JSON with arrays of NumPy, the large
ones in shared memory."""
from __future__ import annotations

import array
import collections
import json
import math
import mmap
import os
import socket
import struct
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Arrays of more bytes pass in shared memory.
LARGE = 1 << 16
# Pieces of shared memory that are kept for further arrays.
KEPT = 4
HEAD = struct.Struct('<II')  # bytes of JSON, and of arrays behind them
SPACE = socket.CMSG_SPACE(4 * 8)  # for files of a message
READ = 1 << 18
ARRAY, SHARED = '~array', '~shared'
RETURNED, DROPPED = '~returned', '~dropped'  # beside the value of a message


class Closed(ConnectionError):
    """The other process has closed its end, or is gone."""


class Channel:
    """One end of a connected pair of sockets, used by one thread at a time. A message stays until
    it is dropped, so that nothing is lost when a signal raises an exception anywhere."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        # What was received, how many parts of it were taken, their bytes and files, and how many
        # messages were dropped: replaced as a whole, because an exception may come between any two
        # statements.
        self._state: tuple[list[Any], int, bytes, tuple[int, ...], int] = ([], 0, b'', (), 0)
        self._closed = weakref.finalize(self, end.close)

    def send(self, text: bytes, arrays: Sequence[Any] = (), files: Sequence[int] = ()) -> None:
        """Sends a message; raises Closed if nobody receives it."""
        parts = [HEAD.pack(len(text), sum(map(len, arrays))), text, *arrays]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', files))] if files else []
        try:
            sent = self._socket.sendmsg(parts, rights, socket.MSG_NOSIGNAL)
            if sent < sum(map(len, parts)):
                self._socket.sendall(memoryview(b''.join(parts))[sent:])
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self) -> tuple[int, bytes, bytes, list[int]]:
        """Waits for a message, and returns its number, its JSON, its arrays and its files; the same
        one until it is dropped.

        Raises:
            Closed: there will be none.
        """
        while True:
            _, _, got, files, number = self._state
            middle, end = self._ends(got)
            if end:
                return number, got[HEAD.size:middle], got[middle:end], list(files)
            self._take_part()

    def drop(self, number: int) -> None:
        """Removes the message of that number, if that was not done."""
        parts, taken, got, _, current = self._state
        if number == current:
            if taken == len(parts):
                parts, taken = [], 0
            self._state = parts, taken, got[self._ends(got)[1]:], (), number + 1

    @staticmethod
    def _ends(got: bytes) -> tuple[int, int]:
        """Returns where the first message's JSON ends, and its arrays; 0 if it is not whole."""
        if len(got) < HEAD.size:
            return 0, 0
        length, rest = HEAD.unpack_from(got)
        end = HEAD.size + length + rest
        return (HEAD.size + length, end) if len(got) >= end else (0, 0)

    def _take_part(self) -> None:
        parts, taken, got, files, number = self._state
        if taken == len(parts):
            # one call, so that no signal is handled between the receipt and the list
            try:
                parts.extend(map(self._socket.recvmsg, (READ,), (SPACE,),
                                 (socket.MSG_CMSG_CLOEXEC,)))
            except OSError as error:
                raise Closed(str(error)) from error
        part, rights, _, _ = parts[taken]
        if not part:
            raise Closed('the connection has ended')
        more = [number for _, _, data in rights
                for number in array.array('i', data[:len(data) - len(data) % 4])]
        self._state = parts, taken + 1, got + part, (*files, *more), number

    def close(self) -> None:
        """Closes this end; a thread that waits at the other one gets Closed."""
        if self._closed.alive:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed at the other end
            self._closed()

    def leave(self) -> None:
        """Closes this process's copy of the end, of which a fork has made two."""
        self._closed()


class _Piece:
    """Shared memory, of which an array is made once. `free` is called when no array uses it."""

    def __init__(self, memory: mmap.mmap, shape: tuple[int, ...], kind: str) -> None:
        self._memory = memory
        whole = np.frombuffer(memory, np.dtype(kind), math.prod(shape))
        self.__array_interface__ = {**whole.__array_interface__, 'shape': shape}


class Memories:
    """The pieces of memory that two processes share, at one of them: those it lends to the other,
    and those it has borrowed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = 0
        self._lent: dict[int, mmap.mmap] = {}
        self._free: list[int] = []
        self._borrowed: dict[int, mmap.mmap] = {}
        # What the other side has to know. Finalizers append to it, so that it needs no lock.
        self._returned: collections.deque[int] = collections.deque()
        self._dropped: collections.deque[int] = collections.deque()

    def lend(self, values: NDArray[Any]) -> tuple[dict[str, Any], list[int]]:
        """Copies an array into shared memory.

        Returns:
            what the message has of it, and a file that goes with the message, if the other side
            does not have that memory yet.
        """
        with self._lock:
            number = next((each for each in self._free
                           if values.nbytes <= len(self._lent[each]) <= 2 * values.nbytes), None)
            files = []
            if number is None:
                number, file = self._new(values.nbytes)
                files.append(file)
            else:
                self._free.remove(number)
            memory = self._lent[number]
        np.copyto(np.frombuffer(memory, values.dtype, values.size).reshape(values.shape), values)
        return {SHARED: [number, len(memory), values.dtype.str, values.shape]}, files

    def _new(self, size: int) -> tuple[int, int]:
        self._numbers += 1
        file = os.memfd_create('keepbox', os.MFD_CLOEXEC)
        os.ftruncate(file, size)
        self._lent[self._numbers] = mmap.mmap(file, size)
        return self._numbers, file

    def borrow(self, about: Sequence[Any], files: list[int]) -> NDArray[Any]:
        """Returns an array in memory that the other side lends. It is this side's as long as an
        array refers to it."""
        number, size, kind, shape = about
        with self._lock:
            if number not in self._borrowed:
                file = files.pop(0)
                self._borrowed[number] = mmap.mmap(file, size)
                os.close(file)
            memory = self._borrowed[number]
        piece = _Piece(memory, tuple(shape), kind)
        weakref.finalize(piece, self._returned.append, number).atexit = False
        return np.asarray(piece)

    def news(self) -> dict[str, list[int]]:
        """Returns what the next message has to tell the other side."""
        return {name: [waiting.popleft() for _ in range(len(waiting))]
                for name, waiting in ((RETURNED, self._returned), (DROPPED, self._dropped))
                if waiting}

    def take(self, message: Mapping[str, Any]) -> None:
        """Takes the news of a message of the other side."""
        if RETURNED not in message and DROPPED not in message:
            return
        with self._lock:
            self._free += message.get(RETURNED, [])
            while len(self._free) > KEPT:
                number = self._free.pop(0)
                del self._lent[number]
                self._dropped.append(number)
            for number in message.get(DROPPED, []):
                self._borrowed.pop(number, None)


class Peer:
    """What two processes share beside their channels: turns values into messages and back."""

    def __init__(self) -> None:
        self._memories = Memories()

    def send(self, channel: Channel, value: Mapping[str, Any]) -> None:
        """Sends a message; raises Closed."""
        arrays: list[bytes] = []
        files: list[int] = []

        def pack(array: Any) -> dict[str, Any]:
            if not isinstance(array, np.ndarray):
                raise TypeError(f'{type(array).__name__} cannot be sent to another process')
            if array.nbytes > LARGE:
                about, file = self._memories.lend(array)
                files.extend(file)
                return about
            start = sum(map(len, arrays))
            arrays.append(array.tobytes())
            return {ARRAY: [start, array.dtype.str, array.shape]}
        try:
            text = json.dumps({**value, **self._memories.news()}, default=pack,
                              separators=(',', ':'))
            channel.send(text.encode(), arrays, files)
        finally:
            for each in files:
                os.close(each)

    def receive(self, channel: Channel) -> dict[str, Any]:
        """Waits for a message, and drops it; raises Closed."""
        number, value = self.read(channel)
        channel.drop(number)
        return value

    def read(self, channel: Channel) -> tuple[int, dict[str, Any]]:
        """Waits for a message, and returns its number and the message; raises Closed."""
        number, text, arrays, files = channel.receive()

        def unpack(value: dict[str, Any]) -> Any:
            if ARRAY in value:
                start, kind, shape = value[ARRAY]
                flat = np.frombuffer(arrays, np.dtype(kind), math.prod(shape), start)
                return flat.reshape(shape).copy()
            if SHARED in value:
                return self._memories.borrow(value[SHARED], files)
            return value
        value: dict[str, Any] = json.loads(text, object_hook=unpack)
        self._memories.take(value)
        return number, value
