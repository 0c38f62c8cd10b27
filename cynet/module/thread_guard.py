"""ThreadGuard: stores which thread ran a module last, so that no thread reads another thread's
outputs."""

import threading

from ..base.errors import StateError


class ThreadGuard:  # a module's lock, and the thread that owns its outputs
    """The lock of a module, and the thread that owns its outputs.

    A module has one set of outputs. A thread that has run `forward` and finds that another one has
    done so since is told so, instead of getting the other's outputs.

    lock (threading.RLock): Held while a batch is computed and while outputs are copied.
    last (int or None): The thread of the last forward.
    shared (bool): Whether several threads have run the module; each gets copies of outputs then.
    """

    __slots__ = ("_own", "last", "lock", "shared")

    def __init__(self):
        self.lock = threading.RLock()
        self.last = None
        self.shared = False
        self._own = threading.local()

    def __reduce__(self):
        return ThreadGuard, ()  # no thread has run a copied module yet

    def claim_outputs(self, detach):
        """Make this thread the owner of the outputs before forward; the caller holds the lock.

        Parameters
        ----------
        detach : callable
            Called when a second thread comes, while the first may still read the outputs: they
            must not be written any more.
        """
        if self.last is not None and not self.shared:
            detach()
            self.shared = True
        self.last = threading.get_ident()
        self._own.ran = True

    def outputs_for_thread(self, arrays):
        """Return the outputs for this thread: copies if several threads run the module."""
        if not self.shared:
            return arrays
        return [
            [each.copy() for each in array] if isinstance(array, list) else array.copy()
            for array in arrays
        ]

    def check_owner_thread(self, what):
        """Raise unless this thread ran the last forward; the caller holds the lock."""
        if self.shared and self.last != threading.get_ident() and getattr(self._own, "ran", False):
            raise StateError(
                f"{what}: another thread has called forward since this one did, so the outputs are"
                " its. Threads may share a module for predict, score and iter_predict; around"
                " forward and what follows it they need one lock of yours, or a module each (bind"
                " with shared_module shares the parameters)"
            )
