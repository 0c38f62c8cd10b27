"""Rounds: how ranks agree on what to do next.

Every rank numbers its requests in the order of its calls. In a round each of them says which of the
next `WINDOW` requests it is ready for and what these are; the largest of each number over all ranks
tells everybody which of them all are ready for, and whether they are the same.
"""

import numpy as np

WINDOW = 64
_NEVER = -(1 << 62)


class Round:
    """What one round has found, the same on all ranks.

    Attributes
    ----------
    left : bool
        Some rank has come to its end.
    all_left : bool
        All have.
    common : list of int
        Numbers of the requests that all are ready for.
    differs : int or None
        The first number under which ranks ask for different things.
    """

    def __init__(self, base, found):
        self.left, self.all_left = bool(found[0] == 1), bool(found[1] == -1)
        waits, marks, opposites = found[2:].reshape(3, WINDOW)
        ready = np.flatnonzero(waits == 0)
        self.common = [base + int(i) for i in ready]
        differing = ready[marks[ready] != -opposites[ready]]
        self.differs = base + int(differing[0]) if len(differing) else None


class Rounds:
    """The rounds of one communicator, one after another.

    Parameters
    ----------
    library : module
        mpi4py.MPI.
    comm : Comm
        For rounds alone.
    """

    def __init__(self, library, comm):
        self._largest, self._comm = library.MAX, comm
        self._mine = np.empty(2 + 3 * WINDOW, np.int64)
        self._all = np.empty_like(self._mine)
        self._request = None
        self._base = 0

    @property
    def is_open(self):
        """Whether this rank waits for the others to join a round."""
        return self._request is not None

    def begin(self, base, ready, leaving):
        """Join the next round.

        Parameters
        ----------
        base : int
            The lowest number that is not done.
        ready : iterable of Request
            Of numbers below ``base + WINDOW``.
        leaving : bool
            This rank has come to its end.
        """
        mine = self._mine
        mine[0], mine[1] = leaving, -leaving
        mine[2 : 2 + WINDOW] = 1
        mine[2 + WINDOW :] = _NEVER
        for each in ready:
            at = 2 + each.number - base
            mine[at] = 0
            mine[at + WINDOW] = each.mark
            mine[at + 2 * WINDOW] = -each.mark
        self._base = base
        self._request = self._comm.Iallreduce(mine, self._all, self._largest)

    def poll(self):
        """A Round if the one that this rank has joined is over, else None."""
        if self._request is None or not self._request.Test():
            return None
        self._request = None
        return Round(self._base, self._all)
