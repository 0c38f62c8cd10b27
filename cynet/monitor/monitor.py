"""Monitor: statistics of the values in executors and Blocks, every few batches."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable


@guarded
class Monitor:
    """Collects a statistic of outputs, gradients and parameters of executors or Gluon Blocks.

    One thread at a time uses it (docs/guide/threads.md).

    ``Module.install_monitor`` and ``fit(monitor=...)`` install it in a module's executors, also in
    those of later buckets; ``monitor.install(net)`` in a Block.

    Parameters
    ----------
    interval : int
        Number of batches between collections.
    stat_func : callable, optional
        Function from an NDArray to an NDArray, a number or a list of these; by default the norm
        over the root of the size.
    pattern : str
        Regular expression for names; only those that match from their beginning are collected.
    sort : bool
        Sort results by name.
    monitor_all : bool
        Whether to collect inputs of operators (or layers), too.
    gradients : bool
        Whether to collect the gradients of parameters and inputs at the end of the batch, too, as
        ``fc1_weight_grad``. (Those that operators give to their inputs, ``fc1_backward_output1``,
        are collected from executors in any case.)

    Raises
    ------
    ArgumentError
        `interval` is below 1.

    Examples
    --------
    >>> monitor = Monitor(interval=100, pattern=".*weight")
    >>> net = mx.gluon.nn.Dense(2, in_units=3, prefix="fc_")
    >>> net.initialize(mx.init.One())
    >>> monitor.install(net)
    >>> monitor.tic()
    >>> y = net(mx.nd.ones((1, 3)))
    >>> [(name, float(text)) for _, name, text in monitor.toc()]
    [('fc_weight', 1.0)]
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
        gradients: bool = False,
    ) -> None:
        if interval < 1:
            raise ArgumentError(f"Monitor: interval must be at least 1, got {interval}")
        self.stat_func = stat_func or _root_mean_square
        self.interval = interval
        self.activated = False
        self.queue = []
        self.step = 0
        self.exes = []
        self.blocks = []
        self.gradients = gradients
        self.re_pattern = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str, array: NDArray) -> None:
        r"""Record a value; called by executors.

        Its statistic is stored, if a collection is due and its name matches the pattern.

        Parameters
        ----------
        name : str
            Name under which it is collected.
        array : NDArray
            Array whose statistic is taken.

        Examples
        --------
        >>> monitor = Monitor(interval=1, stat_func=lambda array: array.max())
        >>> monitor.tic()
        >>> monitor.stat_helper("seen", mx.nd.array([1, 3, 2]))
        >>> monitor.toc()
        [(1, 'seen', '3.0\t')]
        """
        if self.activated and self.re_pattern.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watch an executor, or a Block with all Blocks inside of it.

        Of a Block the outputs of each Block go by its name: ``net_dense0_output``. Hybridized ones
        run apart then, those inside of them are not seen.

        Parameters
        ----------
        exe : Executor or Block
            What to watch.

        Raises
        ------
        ArgumentTypeError
            If it is neither.
        """
        if hasattr(exe, "register_forward_hook"):
            if exe not in self.blocks:
                self.blocks.append(exe)
                exe.apply(lambda block: block.register_forward_hook(self._watch_block))
            return
        if not hasattr(exe, "set_monitor_callback"):
            raise ArgumentTypeError(
                f"Monitor.install takes an Executor or a Block, got {shown(exe)}; a module has"
                " install_monitor"
            )
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        if exe not in self.exes:  # `fit` called again installs the monitor again
            self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch; call before forward."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: call after backward or the update.

        Returns
        -------
        list of (int, str, str)
            Number of the batch, name, statistic as text; empty for batches between collections.
        """
        if not self.activated:
            return []
        self.activated = False
        for name, array in self._watched_values():
            if self.re_pattern.match(name):
                self.queue.append((self.step, name, self.stat_func(array)))
        collected = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _stat_text(stat)) for step, name, stat in collected]

    def _watch_block(self, block, inputs, output):
        """Record the inputs and outputs of a Block's call."""
        if not self.activated:
            return
        given = list(_arrays_in(inputs)) if self.monitor_all else []
        for kind, arrays in (("input", given), ("output", list(_arrays_in(output)))):
            for i, array in enumerate(arrays):
                self.stat_helper(f"{block.name}_{kind}{i if len(arrays) > 1 else ''}", array)

    def _watched_values(self):
        """Return pairs (name, array) of parameters, inputs and their gradients."""
        for exe in self.exes:
            yield from exe.arg_dict.items()
            yield from exe.aux_dict.items()
            if self.gradients:
                for name, array in exe.grad_dict.items():
                    if array is not None:
                        yield f"{name}_grad", array
        for block in self.blocks:
            for name, parameter in block.collect_params().items():
                if parameter._data is not None:
                    yield name, parameter.list_data()[0]
                    if self.gradients and parameter.grad_req != "null":
                        yield f"{name}_grad", parameter.list_grad()[0]

    def toc_print(self) -> None:
        """End a batch and log each collected value at level INFO.

        Examples
        --------
        >>> import logging
        >>> root, shown = logging.getLogger(), logging.Handler()
        >>> shown.emit = lambda record: print(record.getMessage())
        >>> level = root.level
        >>> root.setLevel("INFO")
        >>> root.addHandler(shown)
        >>> monitor = Monitor(interval=1, stat_func=lambda array: array.max())
        >>> monitor.tic()
        >>> monitor.stat_helper("fc1_output", mx.nd.array([1, 3, 2]))
        >>> monitor.toc_print()
        Batch:       1                     fc1_output 3.0
        >>> root.removeHandler(shown)
        >>> root.setLevel(level)
        """
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _arrays_in(values):
    """Return the NDArrays in nested inputs or outputs of a Block."""
    if isinstance(values, NDArray):
        yield values
    elif isinstance(values, dict):
        yield from _arrays_in(list(values.values()))
    elif isinstance(values, (list, tuple)):
        for each in values:
            yield from _arrays_in(each)


def _root_mean_square(array):
    return array.norm() / array.size**0.5


def _stat_text(stat):
    parts = []
    for each in stat if isinstance(stat, (list, tuple)) else [stat]:
        if hasattr(each, "asnumpy"):
            each = each.asnumpy()
            each = each.ravel()[0] if each.size == 1 else each
        parts.append(f"{each}\t")
    return "".join(parts)
