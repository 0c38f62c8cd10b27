"""Control messages: short messages from one rank to another, outside of collective operations.

They report failures, check whether a rank is still alive, and say goodbye.
"""

import json

FAILURE, STATUS_REQUEST, STATUS, GOODBYE = 1, 2, 3, 4  # kinds of messages


class ControlMessages:
    """Sends and receives control messages; only the communication thread uses it.

    Parameters
    ----------
    library : module
        mpi4py.MPI.
    comm : Comm
        For control messages only.
    """

    def __init__(self, library, comm):
        self._library, self._comm = library, comm
        self._sent = []  # [(MPI request, its buffer)] of messages not sent yet

    def send(self, ranks, kind, content=None):
        """Send a value, as JSON, to each of the ranks; ranks that have ended are skipped."""
        data = bytearray(json.dumps(content).encode())
        for rank in ranks:
            try:
                self._sent.append((self._comm.Isend(data, rank, kind), data))
            except self._library.Exception:
                continue

    def receive(self):
        """Receive the waiting messages: yield (rank, kind, content) of each.

        Raises
        ------
        mpi4py.MPI.Exception
            When a rank has died.
        """
        status = self._library.Status()
        while self._comm.Iprobe(self._library.ANY_SOURCE, self._library.ANY_TAG, status):
            data = bytearray(status.Get_count())
            source, kind = status.Get_source(), status.Get_tag()
            self._comm.Recv(data, source, kind)
            yield source, kind, json.loads(bytes(data))
        if self._sent:
            self._sent = [each for each in self._sent if not self._is_sent(each[0])]

    def _is_sent(self, request):
        try:
            return request.Test()
        except self._library.Exception:
            return True

    @property
    def n_unsent(self):
        """The number of messages that are not sent yet."""
        return len(self._sent)
