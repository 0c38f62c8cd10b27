"""Predictor: a network that answers requests of many threads in batches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import autograd
from .. import ndarray as nd
from ..base import config
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.kinds import check_flag
from ..context import read_context
from .batches import BatchRunner, RowsJob
from .bodies import rows_to_array
from .counters import Counters
from .errors import WaitedError
from .networks import make_network
from .signature import Signature, find_signature, make_zeros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import ContextLike, NumpyArray, Shape


class Predictor:
    """A network, ready to predict: threads may share it, and it answers them in batches.

    The first axis of all inputs and outputs counts rows, which the network must treat each alone.
    Requests that wait while a batch runs become the next batch, so that batches grow with the load
    and nobody waits without it. Batches are padded to a few sizes (1, 2, 4, ... `max_batch`), each
    of which has a plan with memory of its own.

    Parameters
    ----------
    model : str, Symbol or Block
        Prefix of a checkpoint (``model`` for ``model-symbol.json`` and ``model-0010.params``), an
        ``.onnx`` file, a Symbol, or a Block with its parameters, which is hybridized.
    params : dict, pair of dict or str, optional
        Arguments and auxiliary states of a Symbol, or the ``.params`` file that holds them.
    shapes : dict of str to tuple, or tuple
        Shape of one row of each input, without the first axis; -1 is a length that may vary. A
        single tuple is the shape of the only input, called ``data``.
    dtype : str
        Type in which convolutions and products are computed: ``'float32'``, ``'bfloat16'`` or
        ``'float16'``. Inputs and outputs stay float32.
    epoch : int, optional
        Epoch of the checkpoint; the last one by default.
    input_dtypes : dict of str to dtype, optional
        Types of inputs that are not float32.
    max_batch : int
        Largest number of rows in a batch.
    max_delay : float
        Seconds for which a batch waits for more rows. 0 is best unless requests come evenly and one
        row costs nearly as much as a batch.
    max_waiting : int
        Number of rows that may wait; further requests are refused.
    workers : int
        Number of batches that run at the same time.
    timeout : float, optional
        Seconds within which a request must get its turn, and one of several batches its last one;
        by default there is no limit.
    warm_up : bool
        Run each batch size once, with zeros, so that no request waits for the making of plans.
    ctx : Context, optional
        Device of a network that is loaded, or made from a Symbol.

    Raises
    ------
    ArgumentError
        Shapes that are not those of the network's inputs, or a value out of its range.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> predictor = mx.Predictor(net, shapes=(3,))
    >>> predictor([[1, 2, 3], [0, 0, 1]])
    array([[6., 6.],
           [1., 1.]], dtype=float32)
    >>> stats = predictor.stats()
    >>> stats["requests"], stats["rows"]
    (1, 2)
    >>> predictor.close()
    True
    """

    def __init__(
        self,
        model: Any,
        params: Any = None,
        *,
        shapes: Mapping[str, Sequence[int]] | Sequence[int],
        dtype: str = "float32",
        epoch: int | None = None,
        input_dtypes: Mapping[str, Any] | None = None,
        max_batch: int = 32,
        max_delay: float = 0.0,
        max_waiting: int = 1024,
        workers: int = 1,
        timeout: float | None = None,
        warm_up: bool = True,
        ctx: ContextLike | None = None,
    ) -> None:
        for name, value in (("max_batch", max_batch), ("workers", workers)):
            if type(value) is not int or value < 1:
                raise ArgumentError(f"Predictor: {name} must be a positive int, got {shown(value)}")
        if not isinstance(max_waiting, int) or max_waiting < max_batch:
            raise ArgumentError(
                f"Predictor: max_waiting must be an int of at least max_batch ({max_batch}), got"
                f" {shown(max_waiting)}"
            )
        _check_seconds("max_delay", max_delay)
        if timeout is not None:
            _check_seconds("timeout", timeout)
        check_flag("Predictor", "warm_up", warm_up)
        self.shapes = _checked_row_shapes(shapes)
        self.max_batch, self.timeout = max_batch, timeout
        self._ctx = read_context(ctx)
        self._dtypes = dict.fromkeys(self.shapes, np.dtype("float32"))
        for name, kind in (input_dtypes or {}).items():
            if name not in self.shapes:
                raise ArgumentError(f"Predictor: input_dtypes names {shown(name)}, no input")
            self._dtypes[name] = np.dtype(kind)
        self._sizes = [1]
        while self._sizes[-1] < max_batch:
            self._sizes.append(min(2 * self._sizes[-1], max_batch))
        self._counters = Counters()
        self._signature: Signature | None = None
        self._net = make_network(
            model,
            params,
            epoch,
            list(self.shapes),
            dtype,
            self._ctx,
            lambda: self._input_arrays(self._zero_inputs(1)),
        )
        self._batches = BatchRunner(
            self._run_batch, max_batch, max_delay, max_waiting, workers, self._counters
        )
        if warm_up:
            with config.suggested_settings({"CYNET_RUNS_BEFORE_PLAN": "0"}):  # all sizes come again
                for size in self._sizes:
                    self._forward(self._zero_inputs(size))

    def __call__(self, /, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Predict rows.

        Parameters
        ----------
        *args, **kwargs : array-like
            The inputs in their order or by name, all with the same number of rows.
        timeout : float, optional
            Instead of that of the Predictor.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            The output, or all of them.

        Raises
        ------
        ShapeError, ArgumentError, ArgumentTypeError
            An input is missing, or is not what its shape and dtype say.
        BusyError
            Too many rows wait.
        WaitedError
            Its turn did not come in time; a TimeoutError.
        """
        return self._predict_rows(args, kwargs, timeout)

    def predict(self, inputs: Mapping[str, Any], timeout: float | None = None) -> Any:
        """Predict rows that are given by name.

        Names that come from outside belong here: as keywords of a call, ``timeout`` and ``self``
        would have a meaning.

        Parameters
        ----------
        inputs : dict of str to array-like
            Each input by its name.
        timeout : float, optional
            Instead of that of the Predictor.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            The output, or all of them.

        Raises
        ------
        ShapeError, ArgumentError, ArgumentTypeError, BusyError, WaitedError
            As of a call.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize(mx.init.One())
        >>> mx.Predictor(net, shapes=(2,)).predict({"data": [[1, 2]]})
        array([[3.]], dtype=float32)
        """
        return self._predict_rows((), inputs, timeout)

    def _predict_rows(self, args, named, timeout):
        start = time.monotonic()
        try:
            if timeout is not None:
                _check_seconds("timeout", timeout)
            arrays, rows, key = self._read_request(args, named)
            timeout = left = self.timeout if timeout is None else timeout
            parts = []
            for first in range(0, rows, self.max_batch):
                if first and timeout is not None:
                    left = start + timeout - time.monotonic()
                    if left <= 0:
                        raise WaitedError(f"{first} of {rows} rows within {timeout:g} s")
                part = [each[first : first + self.max_batch] for each in arrays]
                parts.append(self._batches.run_job(RowsJob(part, len(part[0]), key), left))
        except Exception as error:
            self._counters.count_failure(type(error).__name__)
            raise
        self._counters.count_answer(rows, time.monotonic() - start)
        outputs = parts[0] if len(parts) == 1 else [np.concatenate(each) for each in zip(*parts)]
        return outputs[0] if len(outputs) == 1 else outputs

    def stats(self) -> dict[str, Any]:
        """Return the counts of requests, rows and batches so far.

        Returns
        -------
        dict
            ``requests`` and ``rows`` that were answered, ``batches``, ``rows_per_batch``,
            ``failed`` (name of an exception to how many), ``waiting`` (rows), seconds ``p50``,
            ``p90`` and ``p99`` of the last 2,048 requests, ``seconds`` of all of them, and
            ``buckets``, their number by `cynet.serving.counters.BUCKET_SECONDS`.

        Examples
        --------
        See `Predictor`.
        """
        return {**self._counters.read(), "waiting": self._batches.waiting_rows}

    def signature(self) -> Signature:
        """Name, dtype and shape of each input and output.

        Outputs are found by a run on zeros, once. Those of a symbol or a file have its names;
        those of a Block are ``output0``, ``output1``, ...

        Returns
        -------
        Signature
            ``inputs`` and ``outputs``, lists of (name, dtype, shape); -1 in a shape is a length
            that may vary, as that of the first axis always does.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> mx.Predictor(net, shapes=(3,)).signature().outputs
        [Tensor(name='output0', dtype=dtype('float32'), shape=(-1, 2))]
        """
        if self._signature is None:
            self._signature = find_signature(
                self.shapes, self._dtypes, self._net.output_names, self._forward
            )
        return self._signature

    def check_shape(self, name: str, shape: Shape) -> None:
        """Refuse a shape that an input may not have.

        Parameters
        ----------
        name : str
            The input.
        shape : tuple of int
            Its shape, rows first.

        Raises
        ------
        ShapeError
            It is not that of rows of this input.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.Predictor(net, shapes=(2,)).check_shape("data", (5, 3))
        Traceback (most recent call last):
            ...
        cynet.errors.ShapeError: input 'data' has shape (5, 3), expected (rows, 2)
        """
        wanted = self.shapes[name]
        fits = len(shape) == len(wanted) + 1 and all(
            n in (-1, m) for n, m in zip(wanted, shape[1:])
        )
        if not fits or 0 in shape[1:]:
            rows = ", ".join(["rows", *("any" if n == -1 else str(n) for n in wanted)])
            raise ShapeError(f"input '{name}' has shape {shape}, expected ({rows})")

    @property
    def closed(self) -> bool:
        """True if requests are refused.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> with mx.Predictor(net, shapes=(2,)) as predictor:
        ...     print(predictor.closed)
        False
        >>> predictor.closed
        True
        """
        return self._batches.closed

    def close(self, timeout: float | None = None) -> bool:
        """Answer the waiting requests, and refuse all later ones; False if some had no answer.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait for the answers, at most.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.Predictor(net, shapes=(2,)).close()
        True
        """
        return self._batches.close(timeout)

    def __enter__(self) -> Predictor:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def _read_request(self, args, kwargs):
        """Return (arrays, number of rows, key) of a request."""
        names = list(self.shapes)
        if len(args) > len(names):
            raise ArgumentTypeError(f"there are {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in self.shapes:
                raise ArgumentTypeError(f"no input is called {shown(name)}; there are {names}")
            if name in given:
                raise ArgumentTypeError(f"input '{name}' is given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentTypeError(f"input '{missing[0]}' is missing")
        arrays = [self._read_input(name, given[name]) for name in names]
        rows = len(arrays[0])
        for name, each in zip(names, arrays):
            if len(each) != rows:
                raise ShapeError(f"input '{name}' has {len(each)} rows, '{names[0]}' has {rows}")
        if rows == 0:
            raise ShapeError(f"input '{names[0]}' has no rows")
        return arrays, rows, tuple(each.shape[1:] for each in arrays)

    def _read_input(self, name: str, value: Any) -> NumpyArray:
        dtype = self._dtypes[name]
        array = rows_to_array(name, value.asnumpy() if isinstance(value, nd.NDArray) else value)
        if dtype.kind in "iu" and array.dtype.kind == "f" and (array != np.floor(array)).any():
            raise ArgumentError(f"input '{name}' takes {dtype}, got a fraction or NaN")
        if dtype.kind in "iu":
            least, maximum = np.iinfo(dtype).min, np.iinfo(dtype).max
            if array.dtype.kind == "f":  # maximum + 1 is a power of 2: exact in floats
                wide = array.astype("float64")
                outside = array[(wide < least) | (wide >= float(maximum + 1))]
            else:
                outside = array[(array < least) | (array > maximum)]
            if outside.size:
                raise ArgumentError(f"input '{name}' takes {dtype}, got {outside[0]}")
        given = array
        with np.errstate(over="ignore"):
            array = np.asarray(given, dtype, order="C")
        if given.dtype != dtype and (bad := np.isinf(array) & np.isfinite(given)).any():
            raise ArgumentError(f"input '{name}' takes {dtype}, got {given[bad][0]}")
        self.check_shape(name, array.shape)
        return array

    def _run_batch(self, jobs):
        """Run several jobs as one batch; return the outputs of each."""
        rows = sum(each.rows for each in jobs)
        size = next(size for size in self._sizes if size >= rows)
        inputs = []
        for i, name in enumerate(self.shapes):
            if len(jobs) == 1 and size == rows:
                inputs.append(jobs[0].arrays[i])
                continue
            batch = np.zeros((size, *jobs[0].key[i]), self._dtypes[name])
            np.concatenate([each.arrays[i] for each in jobs], out=batch[:rows])
            inputs.append(batch)
        outputs = self._forward(inputs)
        results, first = [], 0
        for each in jobs:
            results.append([out[first : first + each.rows] for out in outputs])
            first += each.rows
        return results

    def _zero_inputs(self, rows):
        return make_zeros(self.shapes, self._dtypes, rows)

    def _input_arrays(self, inputs):
        return [nd.array(each, ctx=self._ctx, dtype=each.dtype) for each in inputs]

    def _forward(self, inputs):
        with autograd.pause(train_mode=False):
            outputs = [each.asnumpy() for each in self._net(self._input_arrays(inputs))]
        rows = len(inputs[0])
        for i, each in enumerate(outputs):
            if each.ndim == 0 or len(each) != rows:
                raise ShapeError(
                    f"output {i} has shape {each.shape} for {rows} rows: a Predictor needs outputs"
                    " whose first axis counts rows"
                )
        return [each.astype("float32") if each.dtype.itemsize == 2 else each for each in outputs]


def _check_seconds(name, value):
    if not isinstance(value, (int, float)) or not 0 <= value < 3600:
        raise ArgumentError(
            f"Predictor: {name} must be a number of seconds in [0, 3600), got {shown(value)}"
        )


def _checked_row_shapes(shapes):
    """Check the shapes; return {name: shape of one row}."""
    if not isinstance(shapes, dict):
        shapes = {"data": shapes}
    found = {}
    for name, shape in shapes.items():
        try:
            found[str(name)] = shape = tuple(int(n.__index__()) for n in shape)
        except (TypeError, AttributeError):
            raise ArgumentTypeError(
                f"Predictor: the shape of '{name}' is a tuple of ints, got {shown(shape)}"
            ) from None
        if any(n < 1 and n != -1 for n in shape):
            raise ArgumentError(
                f"Predictor: lengths of '{name}' are positive, or -1 if they vary, got {shape}"
            )
    if not found:
        raise ArgumentError("Predictor: shapes must name an input at least")
    return found
