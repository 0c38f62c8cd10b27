"""Communication between ranks in ``fit`` and ``score``."""

import json
import os
import tempfile
from contextlib import contextmanager

import numpy as np

from .. import kvstore as kvs
from ..base.dtype import name_of
from ..base.files import read_file


class SingleProcess:  # stands for Ranks where there is one process
    """Communication between ranks for a single process: does nothing."""

    size, rank, is_first = 1, 0, True

    def vote_on_next_batch(self, goes_on):
        """Vote on whether all ranks have another batch; return a function that waits for it."""
        return lambda: goes_on

    def metric_values(self, metric):
        """Return pairs (name, value) of a metric over all ranks."""
        return metric.get_global_name_value()

    def merge_metrics(self, metrics):
        """Merge the sums of metrics over all ranks."""

    def sum_over_ranks(self, number):
        """Return the sum of a number over the ranks."""
        return number

    @contextmanager
    def first_rank_file(self, path):
        """Copy a file of rank 0 to this rank. Returns its path, or None if rank 0 has no file."""
        yield path if os.path.exists(path) else None

    def average_states(self, module):
        """Average auxiliary states, such as moving means, over the ranks."""

    def log_lines_at_start(self, batch_size):
        """Return the log lines for the start of training."""
        return []

    def log_lines_at_end(self, seconds):
        """Return the log lines for the end of training, which took `seconds`."""
        return []


class Ranks(SingleProcess):  # communication between the ranks of a ``fit``
    """Communication between the ranks of several processes.

    store: DistKVStore
    """

    def __init__(self, store):
        self._store = store
        self._world = store._world
        self.size, self.rank = self._world.size, self._world.rank
        self.is_first = self.rank == 0
        self._began = self._world.times

    def vote_on_next_batch(self, goes_on):
        return self._world.vote(goes_on)

    def gather_bytes(self, content):
        """Gather bytes from each rank."""
        return self._world.gather(content, "what a checkpoint keeps")

    def merge_metrics(self, metrics):
        parts = [part for each in metrics for part in _child_metrics(each)]
        rows = self._world.gather(
            json.dumps([each._state_of_this_rank() for each in parts]).encode(), "metrics"
        )
        rows = [json.loads(each) for each in rows]
        for i, each in enumerate(parts):
            each._merge_rank_states([row[i] for row in rows])

    def sum_over_ranks(self, number):
        return int(self._world.allreduce(np.array([number], np.int64), "examples of a step")[0])

    @contextmanager
    def first_rank_file(self, path):
        is_there = self.is_first and os.path.exists(path)
        content = self.gather_bytes(read_file(path) if is_there else b"")[0]
        if self.is_first or not content:
            yield path if content else None
            return
        with tempfile.NamedTemporaryFile(prefix="cynet-") as copy:
            copy.write(content)
            copy.flush()
            yield copy.name

    def metric_values(self, metric):
        """Sum metrics over the ranks; a user's metric without sums gets rank 0's values."""
        parts = list(_child_metrics(metric))
        before = [dict(vars(each)) for each in parts]
        try:
            self.merge_metrics(parts)
            figures = metric.get_global_name_value()
        finally:
            for each, attributes in zip(parts, before):
                vars(each).update(attributes)
        mine = json.dumps([[name, _to_number(value)] for name, value in figures]).encode()
        return [tuple(row) for row in json.loads(self._world.gather(mine, "figures")[0])]

    def average_states(self, module):
        args, auxs = module.get_params()
        floats = {k: each for k, each in auxs.items() if name_of(each.dtype).startswith("float")}
        if floats:
            self._store.sum_up(list(floats), list(floats.values()))
            for each in floats.values():
                each /= self.size
            module.set_params(args, {**auxs, **floats})

    def log_lines_at_start(self, batch_size):
        total = batch_size * self.size
        return [
            f"fit: {self.size} ranks with batches of {batch_size}: {total} examples a step;"
            f" gradients are summed over the ranks and divided by {total}, the learning rate is"
            " taken as it is given"
        ]

    def log_lines_at_end(self, seconds):
        steps, moving, waiting = (b - a for a, b in zip(self._began, self._world.times))
        if not steps:
            return []
        step, moving, waiting = (1e3 * each / steps for each in (seconds, moving, waiting))
        return [
            f"fit: a step took {step:.2f} ms on rank 0; for {moving:.2f} ms of it data moved"
            f" between ranks, beside the computation, and for {waiting:.2f} ms ranks waited for one"
            " another"
        ]


def create_ranks(*stores):
    """Return Ranks if one of the stores, or their names, is distributed; else SingleProcess."""
    for each in stores:
        store = each
        if isinstance(each, str) and each.lower().startswith("dist"):
            store = kvs.create(each)
        if isinstance(store, kvs.DistKVStore) and store.num_workers > 1:
            return Ranks(store)
    return SingleProcess()


def _child_metrics(metric):
    inner = getattr(metric, "metrics", None)
    if inner is None:
        yield metric
    else:
        for each in inner:
            yield from _child_metrics(each)


def _to_number(value):
    return value if isinstance(value, str) or value is None else float(value)
