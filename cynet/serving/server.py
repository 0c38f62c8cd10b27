"""The server of an Application: waitress, with a shutdown that loses no accepted request."""

from __future__ import annotations

import select
import socket
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import ArgumentError, CynetError, shorten
from .bodies import write_json

try:
    import resource
except ImportError:  # Windows
    resource = None

if TYPE_CHECKING:
    from .web import Application

_IDLE_SECONDS = 0.5  # seconds after the stop in which requests under way may still arrive
_POLL_SECONDS = 0.02  # seconds between two checks of open connections
_MAX_REASON_TEXT = 300  # characters of waitress's reason for a refusal
_SPARE_FILES = 64  # open files in addition to connections


class Server:
    """An HTTP server: listens, and answers requests by an Application.

    One thread reads requests and writes answers, others compute them.

    Parameters
    ----------
    app : Application
    host : str
        Address to listen on.
    port : int
        0 for any free one.
    threads : int
        Requests that are handled at the same time.
    connections : int
        Connections that are held.
    idle : int
        Seconds after which a silent connection is closed.

    Attributes
    ----------
    addresses : list of str
        Where it listens: ``["http://127.0.0.1:8080"]``.

    Raises
    ------
    CynetError
        It cannot listen there, or hold so many connections; waitress is not installed.
    """

    def __init__(
        self, app: Application, host: str, port: int, threads: int, connections: int, idle: int
    ) -> None:
        self._app, self._is_stopping = app, False
        self._lock = threading.RLock()  # re-entrant: a signal handler calls `stop`
        waitress = optional("waitress.server", "python -m cynet.tools.serve")
        self._asyncore, self._listening = waitress.wasyncore, []
        _raise_file_limit(connections + _SPARE_FILES)
        self._map: dict[int, Any] = {}
        try:
            self._server = waitress.create_server(
                app,
                map=self._map,
                host=host,
                port=port,
                threads=threads,
                connection_limit=connections + 2,  # + 2: one socket listens, and one wakes the loop
                channel_timeout=idle,
                cleanup_interval=max(1, min(idle // 2, 30)),
                # plus the frames of chunked bodies
                max_request_body_size=app.max_body + app.max_body // 8 + 4096,
                # chunks; `app` refuses a body that is exactly one byte too long
                ident=None,
                clear_untrusted_proxy_headers=True,
            )
        except ValueError:
            self._close_sockets()
            raise ArgumentError(f"there is no address {host!r} to listen on") from None
        except OSError as error:
            self._close_sockets()
            why = error.strerror or error
            raise CynetError(f"cannot listen on {host}:{port}: {why}") from None
        kind = waitress.BaseWSGIServer
        self._listening = [each for each in self._map.values() if isinstance(each, kind)]
        for each in self._listening:
            each.channel_class = self._make_connection_class(each.channel_class)
            each.pull_trigger = partial(self._wake_loop, each.pull_trigger)
        found = [(each.effective_host, each.effective_port) for each in self._listening]
        self.addresses = [f"http://[{h}]:{p}" if ":" in h else f"http://{h}:{p}" for h, p in found]

    def stop(self) -> None:
        """Make `run` return; called by another thread, or by a signal handler."""
        self._is_stopping = True
        for each in self._listening:
            each.pull_trigger()

    def run(self, grace: float) -> int:
        """Serve until `stop`; then take no more connections, answer the requests of the present
        ones, and close them.

        Parameters
        ----------
        grace : float
            Seconds from the stop until connections are closed, whatever they wait for.

        Returns
        -------
        int
            The number of requests that were not answered in that time.
        """
        while not self._is_stopping:
            self._asyncore.poll2(1.0, self._map)
        began = time.monotonic()
        self._app.closing = True
        self._accept_queued_connections()
        while self._list_channels() and (spent := time.monotonic() - began) < grace:
            if spent > _IDLE_SECONDS or all(map(_is_busy, self._list_channels())):
                for each in self._list_channels():
                    if not _is_busy(each) and not _is_readable(each.socket):
                        each.handle_close()
            self._asyncore.poll2(_POLL_SECONDS, self._map)
        left = sum(map(_is_busy, self._list_channels()))
        for each in self._list_channels():
            each.handle_close()
        if not left:  # no request is left: the threads can end
            self._server.task_dispatcher.shutdown(timeout=1)
        self._close_sockets()
        return left

    def _wake_loop(self, pull_trigger):
        """Wake the loop while it is open. `stop` and threads whose answer comes late call this; a
        closed pipe's number can belong to another file by then."""
        with self._lock:
            if self._listening:
                pull_trigger()

    def _close_sockets(self):
        with self._lock:
            self._listening = []  # nothing is left to wake
            self._asyncore.close_all(self._map, ignore_all=True)

    def _list_channels(self):  # open connections
        return [each for one in self._listening for each in list(one.active_channels.values())]

    def _accept_queued_connections(self):
        """Accept the connections that the system has queued, then stop listening: later ones are
        refused."""
        for each in self._listening:
            for _ in range(each.adj.backlog + 1):  # at most the backlog: open files are limited
                if not _is_readable(each.socket):
                    break
                each.handle_accept()
            each.del_channel()
            each.socket.close()

    def _make_connection_class(self, base):
        """Return the class of connections, which announces to clients that they will be closed."""
        server = self

        class Task(base.task_class):
            def build_response_header(self):
                last = len(self.channel.requests) < 2 and not _is_readable(self.channel.socket)
                if server._is_stopping and last:
                    self.set_close_on_finish()
                return super().build_response_header()

        class ErrorTask(base.error_task_class):
            """Refusals of waitress itself, in the application's words."""

            def execute(self):
                error = self.request.error
                text = shorten(str(error.body), _MAX_REASON_TEXT)
                if error.code == 413:
                    text = f"a body of more than {server._app.max_body} bytes"
                body = write_json({"error": text})
                self.status = f"{error.code} {error.reason}"
                self.response_headers.append(("Content-Type", "application/json"))
                self.set_close_on_finish()
                self.content_length = len(body)
                self.write(body)

        class Channel(base):
            task_class, error_task_class = Task, ErrorTask

        return Channel


def _is_busy(channel):
    """Return whether a connection has sent a request, or a part of one, that is unanswered."""
    return bool(channel.requests or channel.request is not None or channel.total_outbufs_len)


def _is_readable(sock: socket.socket) -> bool:
    """Return whether a socket has data to read, or a connection to accept."""
    poll = select.poll()
    try:
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, TypeError, ValueError):  # the socket is closed (waitress: None then)
        return False


def _raise_file_limit(count):
    """Raise the limit of open files of this process."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise ArgumentError(
            f"{count - _SPARE_FILES} connections need {count} open files, this process may have"
            f" {hard} (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
