"""A real HTTP server on loopback that misbehaves on purpose, and records what it was asked."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reaction = Callable[["Exchange"], None]


class Exchange:
    """One request, and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, closing: threading.Event):
        self.path = handler.path
        self.headers = dict(handler.headers)
        length = int(handler.headers.get("content-length", 0))
        self.body: Any = json.loads(handler.rfile.read(length) or b"null")
        self.handler = handler
        self.closing = closing

    def send(self, status: int, text: str, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        data = text.encode()
        self.handler.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.send_header("content-length", str(len(data) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(data)
        self.handler.wfile.flush()


def answers(value: Any) -> Reaction:
    """Answers 200 with a JSON value, or with what a function makes of the request's body."""
    return lambda e: e.send(200, json.dumps(value(e.body) if callable(value) else value))


def text(content: str, content_type: str = "application/json") -> Reaction:
    """Answers 200 with a text that may be no JSON."""
    return lambda e: e.send(200, content, {"content-type": content_type})


def status(code: int, message: str = "", **headers: str) -> Reaction:
    """Answers an error; header names are given with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda e: e.send(code, json.dumps({"error": {"message": message}}), named)


def hangs(exchange: Exchange) -> None:
    """Never answers."""
    exchange.closing.wait(20)


def trickles(exchange: Exchange) -> None:
    """Sends a byte now and then, so that no single read ever times out."""
    exchange.send(200, "{", length=10_000)
    while not exchange.closing.wait(0.05):
        try:
            exchange.handler.wfile.write(b" ")
            exchange.handler.wfile.flush()
        except OSError:
            return


def resets(exchange: Exchange) -> None:
    """Resets the connection (RST) without an answer."""
    connection = exchange.handler.connection
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    connection.close()
    exchange.handler.close_connection = True


def breaks_off(exchange: Exchange) -> None:
    """Closes the connection in the middle of the body."""
    exchange.send(200, '{"answers": [', length=1000)
    exchange.handler.connection.shutdown(socket.SHUT_RDWR)
    exchange.handler.close_connection = True


class MisbehavingServer:
    """Reacts to the n-th request with the n-th reaction, the last of them ever after.

    ``with MisbehavingServer(status(500), answers({...})) as server: ... server.url``
    """

    def __init__(self, *reactions: Reaction):
        self.reactions: Sequence[Reaction] = reactions
        self.exchanges: list[Exchange] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                exchange = Exchange(self, outer._closing)
                with outer._lock:
                    number = len(outer.exchanges)
                    outer.exchanges.append(exchange)
                outer.reactions[min(number, len(outer.reactions) - 1)](exchange)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A connection that was broken on purpose is no news."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def bodies(self) -> list[Any]:
        """What was asked so far."""
        return [exchange.body for exchange in self.exchanges]

    def stop(self) -> None:
        """Stop listening; connections are refused from then on."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "MisbehavingServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.stop()
