"""Ranks that are threads of one process: cynet's communication over an MPI that is made up here.

An operation is over once all ranks have begun it, and what it gives is computed in the order of
ranks by NumPy. Deaths, hosts and launchers are for programs under mpiexec (ranks.py).
"""

import contextlib
import importlib
import os
import threading
import time
from collections import defaultdict, deque
from types import SimpleNamespace

import numpy as np

from cynet import nd
from cynet.distributed import communication, shutdown
from cynet.distributed.world import World

# Where `world` is called by its name in the module.
USERS = [
    "cynet.distributed.groups",
    "cynet.kvstore.dist",
    "cynet.contrib.horovod.processes",
    "cynet.contrib.horovod.sets",
]
IN_PLACE = object()


class MpiError(Exception):
    """What the library raises."""


class Shared:
    """What all ranks of one communicator have."""

    def __init__(self, size):
        self.size, self.lock = size, threading.Lock()
        self.calls = defaultdict(dict)  # number of the call -> {rank: (what, array)}
        self.mail = [deque() for _ in range(size)]
        self.copies = []
        self.parts = {}  # (number of the call, color) -> Shared

    def copy(self, i):
        with self.lock:
            while len(self.copies) <= i:
                self.copies.append(Shared(self.size))
            return self.copies[i]


class Begun:
    """An operation that this rank has begun."""

    def __init__(self, call, size, write):
        self._call, self._size, self._write = call, size, write
        self._is_over = False

    def Test(self):
        if not self._is_over and len(self._call) == self._size:
            given = [self._call[rank] for rank in range(self._size)]
            if len({what for what, _ in given}) > 1:
                raise MpiError(f"ranks began {[what for what, _ in given]} at once")
            self._write([array for _, array in given])
            self._is_over = True
        return self._is_over


class Comm:
    """A communicator, as one of its ranks has it."""

    def __init__(self, rank, shared, log):
        self.rank, self.size, self._shared, self._log = rank, shared.size, shared, log
        self._begun = self._copies = 0

    def Dup(self):
        self._copies += 1
        return Comm(self.rank, self._shared.copy(self._copies - 1), self._log)

    def Split(self, color, key):
        number = self._begun
        begun = self._begin_requests("split", (color, key), lambda rows: None)
        while not begun.Test():
            time.sleep(0.001)
        if color is None:
            return None
        rows = [self._shared.calls[number][rank][1] for rank in range(self.size)]
        order = sorted((k, rank) for rank, (c, k) in enumerate(rows) if c == color)
        with self._shared.lock:
            part = self._shared.parts.setdefault((number, color), Shared(len(order)))
        return Comm(order.index((key, self.rank)), part, self._log)

    def Ibarrier(self):
        return self._begin_requests("barrier", None, lambda rows: None)

    def Set_errhandler(self, handler):
        assert handler == "errors return"

    def Free(self):
        self._log.append("free")

    def Get_failed(self):
        raise NotImplementedError

    def _begin_requests(self, what, array, write):
        call = self._shared.calls[self._begun]
        self._begun += 1
        with self._shared.lock:
            call[self.rank] = what, array
        return Begun(call, self.size, write)

    def Iallreduce(self, source, target, how="sum"):
        given = np.array(target if source is IN_PLACE else source)
        add = np.maximum if how == "max" else np.add
        what = f"{how} of {given.size} {given.dtype}"

        def write(arrays):
            total = arrays[0]
            for each in arrays[1:]:
                total = add(total, each)
            target[...] = total

        return self._begin_requests(what, given, write)

    def Ibcast(self, target, root):
        what = f"broadcast of {len(target)} {target.dtype} from {root}"

        def write(arrays):
            target[...] = arrays[root]

        return self._begin_requests(what, np.array(target), write)

    def Iallgather(self, mine, found):
        mine = np.frombuffer(mine, np.uint8).copy()
        target = np.frombuffer(found, np.uint8)
        assert len(target) == self.size * len(mine)

        def write(arrays):
            target[...] = np.concatenate(arrays)

        return self._begin_requests(f"gather of {len(mine)}", mine, write)

    def Iallgatherv(self, mine, target):
        out, (sizes, starts) = target
        if mine is IN_PLACE:
            mine = out[starts[self.rank] : starts[self.rank] + sizes[self.rank]]

        def write(arrays):
            for size, begin, array in zip(sizes, starts, arrays, strict=True):
                assert len(array) == size
                out[begin : begin + size] = array

        return self._begin_requests(f"gather of {[*sizes]} at {[*starts]}", mine.copy(), write)

    # --- notices ----------------------------------------------------------------------------------
    def Isend(self, data, rank, kind):
        assert rank != self.rank
        self._shared.mail[rank].append((self.rank, kind, bytes(data)))
        return SimpleNamespace(Test=lambda: True)

    def Iprobe(self, source, kind, status):
        assert (source, kind) == ("any", "any")
        mail = self._shared.mail[self.rank]
        if mail:
            status.found = mail[0]
        return bool(mail)

    def Recv(self, data, source, kind):
        found = self._shared.mail[self.rank].popleft()
        assert found[:2] == (source, kind)
        data[:] = found[2]


class Status:
    def Get_source(self):
        return self.found[0]

    def Get_tag(self):
        return self.found[1]

    def Get_count(self):
        return len(self.found[2])


def library(rank, shared, log):
    """mpi4py.MPI, as a rank has it."""
    return SimpleNamespace(
        MAX="max",
        UNDEFINED=None,
        IN_PLACE=IN_PLACE,
        ANY_SOURCE="any",
        ANY_TAG="any",
        Exception=MpiError,
        ERRORS_RETURN="errors return",
        THREAD_SERIALIZED=2,
        THREAD_MULTIPLE=3,
        Status=Status,
        rc=SimpleNamespace(),
        COMM_WORLD=Comm(rank, shared, log),
        Is_initialized=lambda: False,
        Init_thread=lambda level: log.append(level),
        Finalize=lambda: log.append("finalize"),
    )


class Talk(communication.Communication):
    """The communication thread of one rank."""

    def __init__(self, rank, shared, host, stall):
        super().__init__(stall)
        self.host, self.log = host, []
        self.library = library(rank, shared, self.log)


def mine():
    return threading.current_thread()


class Own(threading.local):
    """Of Horovod's calls: each rank has its store."""

    def __init__(self):
        self.rows = {"store": None, "sets": {}}

    def __getitem__(self, key):
        return self.rows[key]

    def __setitem__(self, key, value):
        self.rows[key] = value


def run(monkeypatch, size, do, hosts=None, stall=20.0, end=True):
    """What ``do(world)`` returns on each rank, by rank; the first error is raised.

    Parameters
    ----------
    hosts : list of str, optional
        The machine of each rank; by default all are on one.
    stall : float
        See `Communication`.
    end : bool
        Whether ranks come to their end together; else the errors are returned in place of results,
        since what has failed has no such end.
    """
    own = threading.local()
    for name in USERS:
        monkeypatch.setattr(f"{name}.world", lambda: own.world)
    monkeypatch.setattr("cynet.contrib.horovod.sets._state", Own())
    monkeypatch.setattr(communication, "optional", lambda name, purpose: mine().library)
    host = SimpleNamespace(gethostname=lambda: getattr(mine(), "host", "main"))
    monkeypatch.setattr(communication, "socket", host)
    monkeypatch.setattr(shutdown, "wait_until_read", lambda: None)
    for name in ("buckets", "changed_parts"):
        module = importlib.import_module(f"cynet.kvstore.{name}")
        monkeypatch.setattr(
            module, "optional", lambda name, purpose: SimpleNamespace(IN_PLACE=IN_PLACE)
        )
    shared = Shared(size)
    talks = [Talk(i, shared, (hosts or ["here"] * size)[i], stall) for i in range(size)]
    for each in talks:
        each.start()
    for each in talks:
        assert each.opened.wait(30)
        if each.failure is not None:
            raise each.failure
    worlds = [World(each) for each in talks]
    found, errors = [None] * size, [None] * size

    def rank(i):
        own.world = worlds[i]
        try:
            found[i] = do(worlds[i])
        except BaseException as error:
            errors[i] = error
            worlds[i].fail(f"{type(error).__name__}: {error}")
        worlds[i]._finish_at_exit()

    threads = [threading.Thread(target=rank, args=(i,), daemon=True) for i in range(size)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive(), "a rank hangs"
    for each in talks:
        each.join(30)
        for number in [n for part in each._communicators() for n in (part._in, part._out)]:
            with contextlib.suppress(OSError):
                os.close(number)
    if not end:
        with contextlib.suppress(Exception):
            nd.waitall()  # what nobody has waited for
        return [found[i] if errors[i] is None else errors[i] for i in range(size)]
    first = [each for each in errors if each is not None]
    told = [each for each in first if "failed: " not in str(each)]
    if first:
        raise (told or first)[0]
    for each in talks:
        frees = ["free"] * (3 + 2 * len(each.parts))
        assert each.log == [2, *frees, "finalize"]
    return found
