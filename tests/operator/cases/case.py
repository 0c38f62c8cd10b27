"""What a case of the operator table says: one way to call one operator and what must come out."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.bfloat16 import as_type

TOLERANCE = {"float16": (4e-3, 4e-3), "float32": (2e-5, 2e-6), "float64": (1e-10, 1e-12)}


@dataclass
class Input:
    """One input (or auxiliary state): shape, domain of its values, fixed dtype.

    `domain` is (low, high) for uniform values, a callable ``f(rng, shape) -> array``, or an array
    itself. `dtype` None means the dtype under test; a fixed one is for labels and indices. `wide`
    means float32 where the dtype under test is float16 or bfloat16.
    """

    shape: tuple
    domain: object = (-1.0, 1.0)
    dtype: str | None = None
    wide: bool = False

    def make(self, rng, dtype):
        """The array for one run, C-contiguous."""
        wide = self.wide and dtype in ("float16", "bfloat16")
        dtype = self.dtype or ("float32" if wide else dtype)
        if callable(self.domain):
            values = self.domain(rng, self.shape)
        elif isinstance(self.domain, tuple):
            values = rng.uniform(*self.domain, self.shape)
        else:
            values = np.asarray(self.domain).reshape(self.shape)
        return np.ascontiguousarray(as_type(np.asarray(values), dtype)).reshape(self.shape)


@dataclass
class Case:
    """One way to call an operator.

    Parameters
    ----------
    op : str
        Name (or alias) in the registry.
    inputs : list of Input or of shape tuples
        In the order of list_arguments; a bare shape is ``Input(shape)``.
    reference : callable
        ``reference(*inputs, *aux, **params)`` with NumPy arrays gives the visible outputs (an
        array, or a tuple of them), and after them the auxiliary states' values after forward if
        there are any. None: the values are checked by the operator's own test and the case is here
        for everything else.
    params : dict
        The operator's parameters.
    aux : list of Input or shapes
        Auxiliary states before the run.
    grad : bool or tuple of int
        Which inputs have a gradient that equals the numeric one (True: all of a float dtype); the
        others must get zeros. False with a differentiable operator: `reference_grad` says it.
    reference_grad : callable or None
        ``reference_grad(out_grads, *inputs, **params)`` gives a list of in_grads (None: not
        checked), for operators whose gradient is not the derivative of their output.
    back : tuple of int
        Inputs whose shape inference completes from the outputs' shapes alone.
    infers : tuple of int
        Inputs whose shape inference completes from the first input's shape alone (weights).
    dtypes : tuple of str
        Dtypes under test.
    exact : bool
        Outputs must be equal to the reference, not only close.
    is_train : bool
        ctx.is_train of the runs.
    tolerance : dict
        dtype to (rtol, atol), where the common ones do not fit.
    note : str
        Distinguishes cases of one operator in the test's name.
    """

    op: str
    inputs: list
    reference: Callable | None
    params: dict = field(default_factory=dict)
    aux: list = field(default_factory=list)
    grad: object = True
    reference_grad: Callable | None = None
    back: tuple = ()
    infers: tuple = ()
    dtypes: tuple = ("float32", "float64")
    exact: bool = False
    is_train: bool = True
    tolerance: dict = field(default_factory=dict)
    note: str = ""

    def __post_init__(self):
        self.inputs = [i if isinstance(i, Input) else Input(tuple(i)) for i in self.inputs]
        self.aux = [i if isinstance(i, Input) else Input(tuple(i)) for i in self.aux]

    @property
    def id(self):
        """The name pytest shows."""
        words = [self.op, *("x".join(map(str, i.shape)) for i in self.inputs)]
        words += [f"{k}={v}" for k, v in self.params.items()]
        if self.note:
            words.append(self.note)
        return "-".join(words).replace(" ", "")

    @property
    def seed(self):
        """Stable seed of this case's random values; printed by the tests."""
        return zlib.crc32(self.id.encode())

    def close(self, dtype):
        """(rtol, atol) of comparisons in `dtype`; integers compare exactly."""
        return self.tolerance.get(dtype) or TOLERANCE.get(dtype, (0, 0))


def ints(low, high):
    """Domain of integers low <= value < high, as floats or as whatever dtype the input has."""
    return lambda rng, shape: rng.integers(low, high, shape)


def apart(rng, shape):
    """Domain of distinct values at least 0.1 from each other: for max, sort and other kinks."""
    size = int(np.prod(shape))
    return (rng.permutation(size) - size / 2 + 0.25).reshape(shape) * 0.1


def off_integers(rng, shape):
    """Domain of values at least 0.1 from any integer: for round, floor, mod."""
    return rng.integers(-3, 4, shape) + rng.uniform(0.1, 0.4, shape)


def away_from_zero(rng, shape):
    """Domain of both signs, no value nearer to zero than 0.2."""
    return rng.uniform(0.2, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
