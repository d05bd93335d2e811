# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package's HTTP server: a few routes, streams that many may follow, and a thread for each
connection.

It answers GET and HEAD only, and nothing that a request says changes anything but what is sent.
Names in a browser's requests are checked: a page of another site could otherwise have its own name
lead to this address, and read what is here (DNS rebinding).
"""
from __future__ import annotations

import contextlib
import dataclasses
import http.server
import ipaddress
import re
import select
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ._errors import Error

CONNECTIONS = 100  # at a time; more are refused
PATIENCE = 5.      # seconds for a request to come, and for a chunk to be taken
BUFFER = 128 << 10  # bytes that the system keeps for a viewer that reads slowly
HEADERS = {'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff',
           'Cross-Origin-Resource-Policy': 'same-origin', 'Referrer-Policy': 'no-referrer',
           'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'"}


@dataclasses.dataclass
class Response:
    """What a route answers.

    body: all of it, or chunks of a stream, which are sent as they come. An empty chunk sends
        nothing; the server looks then whether the other side is still there, so that a stream
        yields one every second or so. The iterator is closed when it is not.
    kind: the Content-Type.
    headers: those beside HEADERS, or instead of them.
    """
    body: bytes | Iterator[bytes]
    kind: str = 'text/plain; charset=utf-8'
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


Route = Callable[[], Response]


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a server listens. host: a name or an IP address without brackets; port 0 is any that is
    free."""
    host: str
    port: int

    def __str__(self) -> str:
        return f'[{self.host}]:{self.port}' if ':' in self.host else f'{self.host}:{self.port}'


def address_of(text: str, default: Address) -> Address:
    """Reads ADDRESS:PORT, ADDRESS or PORT. An IPv6 address with a port is in brackets.

    Raises:
        ValueError: it is none of these.
    """
    found = re.fullmatch(r'(?:\[([^]]+)\]|([^][:/\s]*))(?::(\d{1,5}))?', text)
    with contextlib.suppress(ValueError):
        return Address(str(ipaddress.IPv6Address(text)), default.port)
    if text.isdecimal():
        found = re.fullmatch(r'()()(\d{1,5})', text)
    if not found or not text or int(found[3] or 0) > 65535:
        raise ValueError(f'it must be ADDRESS:PORT such as 0.0.0.0:8080 or [::]:8080, not {text}')
    return Address(found[1] or found[2] or default.host,
                   default.port if found[3] is None else int(found[3]))


class _Connection(http.server.BaseHTTPRequestHandler):
    """A request and its answer; none follows on the same connection."""

    server: _Listener
    timeout = PATIENCE
    server_version, sys_version = 'keepbox', ''

    def setup(self) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        super().setup()

    def do_GET(self) -> None:
        """Answers."""
        response = self._response()
        try:
            self._send(response)
        except OSError:
            pass  # the other side has gone, or does not take what it asked for
        finally:
            if not isinstance(response.body, bytes) and hasattr(response.body, 'close'):
                response.body.close()

    do_HEAD = do_GET

    def _response(self) -> Response:
        host = self.headers.get('Host', '')
        if not self.server.answers_to(host):
            return Response(f'This server answers to its address and to localhost, not to {host!r}:'
                            ' open it by one of these.\n'.encode(), status=421)
        route = self.server.routes.get(self.path.partition('?')[0])
        if route is None:
            return Response(b'There is no such page: / is the first one.\n', status=404)
        return route()

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        headers = {**HEADERS, 'Content-Type': response.kind, 'Connection': 'close',
                   **response.headers}
        if isinstance(response.body, bytes):
            headers['Content-Length'] = str(len(response.body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == 'HEAD':
            return
        if isinstance(response.body, bytes):
            self.wfile.write(response.body)
            return
        for chunk in response.body:
            if chunk:
                self.request.sendall(chunk)
            elif self._is_gone():
                return

    def _is_gone(self) -> bool:
        """True if the other side has closed the connection."""
        readable, _, _ = select.select([self.request], [], [], 0)
        return bool(readable) and not self.request.recv(1 << 12)

    def send_error(self, code: int, message: str | None = None,
                   explain: str | None = None) -> None:
        """Answers a request that is not understood."""
        del explain
        with contextlib.suppress(OSError):
            self.command = getattr(self, 'command', None) or 'GET'
            self.request_version = 'HTTP/1.0'  # a request of 0.9 would get a body alone
            allow = {'Allow': 'GET, HEAD'} if code == 501 else {}
            self._send(Response(f'{message or "this request is not understood"}\n'.encode(),
                                status=405 if code == 501 else code, headers=allow))

    def log_message(self, format: str, *args: Any) -> None:
        """Writes nothing."""


class _Listener(socketserver.ThreadingTCPServer):
    """Takes connections."""

    daemon_threads, block_on_close = True, False
    allow_reuse_address = True
    request_queue_size = 32

    def __init__(self, family: int, address: tuple[Any, ...], routes: Mapping[str, Route],
                 names: Iterable[str]) -> None:
        self.address_family, self.routes, self._names = family, routes, set(names)
        self._lock, self._open = threading.Lock(), set[socket.socket]()
        super().__init__(address, _Connection)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            # :: takes IPv4, too
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def answers_to(self, host: str) -> bool:
        """True for a Host that is an address or a name of this machine."""
        name = re.sub(r':\d*$', '', host).rstrip('.').lower()
        if name.startswith('['):
            name = name[1:-1]
        with contextlib.suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return name in self._names

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread, unless there are too many."""
        with self._lock:
            accepted = len(self._open) < CONNECTIONS
            if accepted:
                self._open.add(request)
        if accepted:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ends a connection that fails; others go on."""

    def open_count(self) -> int:
        """Returns the number of connections."""
        with self._lock:
            return len(self._open)

    def disconnect(self) -> None:
        """Ends all connections."""
        with self._lock:
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


class Server:
    """Serves from `start()` to `close()`.

    routes: what answers, by path. They are called by several threads.

    Raises:
        Error: it cannot listen there.
    """

    def __init__(self, address: Address, routes: Mapping[str, Route]) -> None:
        own = socket.gethostname().lower()
        names = {'localhost', own, own.partition('.')[0], f'{own.partition(".")[0]}.local',
                 address.host.lower()}
        try:
            family, _, _, _, place = socket.getaddrinfo(address.host, address.port,
                                                        type=socket.SOCK_STREAM,
                                                        flags=socket.AI_PASSIVE)[0]
            self._listener = _Listener(family, place, routes, names)
        except OSError as error:
            raise Error(_why(address, error)) from error
        self.address = Address(address.host, self._listener.server_address[1])
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(.1,),
                                        name='keepbox-server', daemon=True)

    @property
    def url(self) -> str:
        """What a browser on this machine opens; on others, if it listens on all addresses."""
        host = self.address.host
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host).is_unspecified:
                host = socket.gethostname()
        return f'http://{Address(host, self.address.port)}/'

    @property
    def is_local(self) -> bool:
        """True if only this machine reaches it."""
        host = str(self._listener.server_address[0]).partition('%')[0]
        return ipaddress.ip_address(host).is_loopback

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def close(self, seconds: float = 0) -> None:
        """Takes no more connections, and ends those that there are: at once, or when they have sent
        all, within that time."""
        if self._thread.is_alive():
            self._listener.shutdown()
        self._listener.server_close()
        end = time.monotonic() + seconds
        while self._listener.open_count() and time.monotonic() < end:
            time.sleep(.01)
        self._listener.disconnect()


def _why(address: Address, error: OSError) -> str:
    """Returns what is wrong with an address, and what to do."""
    if isinstance(error, socket.gaierror):
        return f'{address.host} is no address of this machine: use one such as 127.0.0.1 or 0.0.0.0'
    reasons = {98: f'port {address.port} of {address.host} is in use: choose another one, such as'
                   f' {Address(address.host, address.port + 1 if address.port < 65535 else 8080)}',
               99: f'{address.host} is no address of this machine: use one such as 127.0.0.1 or'
                   ' 0.0.0.0',
               13: f'port {address.port} may not be used by this user: choose one above 1023'}
    return reasons.get(error.errno or 0, f'{address}: {error.strerror}: choose another address')
