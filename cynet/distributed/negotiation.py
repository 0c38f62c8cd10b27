"""Negotiation rounds: the ranks agree on their next operations.

Every rank numbers its requests in the order of its calls. In a round each rank sends which of the
next `ROUND_SIZE` requests it is ready for and what these are; the maxima over all ranks show which
requests all ranks are ready for, and whether they are the same.

Requests that threads of the engine make come in any order. They have no numbers, and each says of
itself what no other one does: a round compares one of them, the one of the largest mark. Where
ranks offer different ones, the next round is about those below.
"""

import numpy as np

ROUND_SIZE = 64  # requests that one round compares
_NO_REQUEST_ID = -(1 << 62)  # sent in place of a request
_END_OF_FLAGS = 2 + 3 * ROUND_SIZE  # end of the flags for requests with ids below _FIRST_FREE_ID


class NegotiationRound:  # what the ranks agreed on
    """The result of one round, the same on all ranks.

    left (bool): Some rank has called `leave`.
    all_left (bool): All ranks have.
    common (list of int): Ids of the requests that all ranks are ready for.
    differs (int or None): The first id with which ranks have submitted different requests.
    free (int or None): The mark of a request without an id that all ranks are ready for.
    """

    def __init__(self, base, found):
        self.left, self.all_left = bool(found[0] == 1), bool(found[1] == -1)
        waits, marks, opposites = found[2:_END_OF_FLAGS].reshape(3, ROUND_SIZE)
        ready = np.flatnonzero(waits == 0)
        self.common = [base + int(i) for i in ready]
        differing = ready[marks[ready] != -opposites[ready]]
        self.differs = base + int(differing[0]) if len(differing) else None
        self._largest, opposite = (int(each) for each in found[_END_OF_FLAGS:])
        self.free = self._largest if self._largest == -opposite != _NO_REQUEST_ID else None

    @property
    def next_upper_bound(self):
        """The upper bound of the marks of the next round, or None."""
        return None if self.free is not None or self._largest == _NO_REQUEST_ID else self._largest


class Negotiation:  # of ranks on the next requests
    """The negotiation rounds of one communicator, one after another.

    library (module): mpi4py.MPI.
    comm (Comm): Used for rounds only.
    """

    def __init__(self, library, comm):
        self._largest, self._comm = library.MAX, comm
        self._mine = np.empty(_END_OF_FLAGS + 2, np.int64)
        self._all = np.empty_like(self._mine)
        self._request = None
        self._base, self._below = 0, None

    @property
    def is_open(self):
        """True if this rank waits for the others to join a round."""
        return self._request is not None

    def begin(self, base, ready, marks, leaving):
        """Join the next round.

        Parameters
        ----------
        base : int
            The lowest number that is not done.
        ready : iterable of Request
            Of numbers below ``base + ROUND_SIZE``.
        marks : iterable of int
            Of requests without numbers.
        leaving : bool
            This rank has called `leave`.
        """
        mine = self._mine
        mine[0], mine[1] = leaving, -leaving
        mine[2 : 2 + ROUND_SIZE] = 1
        mine[2 + ROUND_SIZE : _END_OF_FLAGS] = _NO_REQUEST_ID
        for each in ready:
            at = 2 + each.number - base
            mine[at] = 0
            mine[at + ROUND_SIZE] = each.mark
            mine[at + 2 * ROUND_SIZE] = -each.mark
        below = self._below
        offered = max((m for m in marks if below is None or m < below), default=_NO_REQUEST_ID)
        mine[_END_OF_FLAGS], mine[_END_OF_FLAGS + 1] = offered, -offered
        self._base = base
        self._request = self._comm.Iallreduce(mine, self._all, self._largest)

    def poll(self):
        """The result of the round that this rank has joined, or None before the round is over."""
        if self._request is None or not self._request.Test():
            return None
        self._request = None
        found = NegotiationRound(self._base, self._all)
        self._below = found.next_upper_bound
        return found
