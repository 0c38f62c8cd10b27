"""Initializers: what parameters hold before training, chosen by name pattern or by attribute."""

from __future__ import annotations

import json
import logging
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ndarray as nd
from .base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    NotFoundError,
    ShapeError,
    UndefinedError,
    shown,
)
from .base.guard import guarded
from .registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .typing import Class, FileName, InitializerLike, NamedArrays, NDArray

INITIALIZERS = Registry("initializer", ignore_case=True)


@guarded
def register(klass: Class) -> Class:
    """Make `klass`, a subclass of Initializer, known by its lower-case name; a decorator too."""
    if not (isinstance(klass, type) and issubclass(klass, Initializer)):
        raise ArgumentTypeError(f"register takes a subclass of Initializer, got {shown(klass)}")
    return INITIALIZERS.register(klass.__name__, klass, override=True)


@guarded
def alias(*names: str) -> Callable[[Class], Class]:
    """A decorator that registers an initializer under further names."""

    def wrap(klass):
        for name in names:
            INITIALIZERS.register(name, klass, override=True)
        return klass

    return wrap


@guarded
def create(initializer: InitializerLike, **kwargs: Any) -> Any:
    """An initializer from its name, from what ``dumps`` wrote, or an initializer itself.

    Examples
    --------
    >>> create("xavier", magnitude=2).magnitude
    2.0
    >>> create('["constant", {"value": 3}]').value
    3
    """
    if isinstance(initializer, (Initializer, Mixed, Load)):
        return initializer
    if not isinstance(initializer, str):
        raise ArgumentTypeError(f"an initializer is created from a name, got {shown(initializer)}")
    if initializer.startswith("["):
        try:
            name, settings = json.loads(initializer)
            settings = dict(settings)
        except (ValueError, TypeError):
            raise FormatError(
                f"initializer {shown(initializer)} is no JSON [name, settings]"
            ) from None
        return INITIALIZERS.get(name)(**{**settings, **kwargs})
    return INITIALIZERS.get(initializer)(**kwargs)


@guarded
class InitDesc(str):
    """A parameter's name, with its symbol attributes and the initializer of the whole model.

    Parameters
    ----------
    name : str
    attrs : dict of str to str, optional
    global_init : Initializer, optional
    """

    attrs: dict[str, str]
    global_init: Any

    def __new__(
        cls, name: str, attrs: dict[str, str] | None = None, global_init: Any = None
    ) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


@guarded
class Initializer:
    """Base of initializers: ``initializer(InitDesc(name), array)`` fills the array.

    An attribute ``__init__`` of the parameter names the initializer to use instead. Else the end of
    the name decides: ``weight`` is what subclasses define (``_init_weight(name, array)``);
    ``bias``, ``beta``, ``moving_mean`` and ``min`` become 0; ``gamma``, ``moving_var`` and ``max``
    become 1.

    Parameters
    ----------
    **kwargs
        What ``dumps`` is to write besides the name.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None
    ) -> Initializer:
        """Log each initialised parameter, with ``print_func(array)`` as text (norm/sqrt(size))."""
        self._verbose = verbose
        self._print_func = print_func or _size_of_entries
        return self

    def dumps(self) -> str:
        """JSON of ``[name, settings]``, which :func:`create` reads.

        >>> Uniform(0.5).dumps()
        '["uniform", {"scale": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None

    def __call__(self, desc: str, arr: NDArray) -> None:
        if not isinstance(desc, str):
            raise ArgumentTypeError(f"an initializer takes the parameter's name, got {shown(desc)}")
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        chosen = desc.attrs.get("__init__", "")
        if chosen:
            create(chosen)._init_weight(desc, arr)
            self._verbose_print(desc, chosen, arr)
        else:
            self._init_by_name(desc, arr)

    def _legacy_init(self, name, arr):
        """Fill an array by the end of a name that is a plain str."""
        self._init_by_name(InitDesc(name, global_init=self), arr)

    def _init_by_name(self, desc, arr):
        for ending, method in _BY_ENDING:
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, ending, arr)
                return
        self._init_default(desc, arr)

    def _verbose_print(self, desc, init, arr):
        """Log what an array was filled by, where `set_verbosity` asked for it."""
        if self._verbose:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def _init_weight(self, name, arr):
        raise UndefinedError(f"{type(self).__name__} defines no _init_weight")

    def _init_zero(self, _, arr):
        arr[:] = 0.0

    def _init_one(self, _, arr):
        arr[:] = 1.0

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_default(self, name, _):
        raise ArgumentError(
            f"no initialization is known for the name '{name}': names end with weight, bias, gamma,"
            f" beta, moving_mean or moving_var; for others use Variable(..., init=mx.init.X())"
        )


_BY_ENDING = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("moving_mean", "_init_zero"),
    ("running_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("running_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
)


def _size_of_entries(arr):
    values = arr.asnumpy()
    return str(float(np.linalg.norm(values) / math.sqrt(values.size)))


@register
@alias("zeros")
@guarded
class Zero(Initializer):
    """Weights become 0."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 0.0


@register
@alias("ones")
@guarded
class One(Initializer):
    """Weights become 1."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 1.0


@register
@guarded
class Constant(Initializer):
    """Weights become `value`, a number or an array of their shape."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value

    def dumps(self) -> str:
        value = self.value
        if hasattr(value, "asnumpy"):
            value = value.asnumpy()
        if isinstance(value, np.ndarray):
            value = value.tolist()
        return json.dumps(["constant", {"value": value}])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()

    __hash__ = None


@register
@guarded
class Uniform(Initializer):
    """Weights are drawn evenly from ``[-scale, scale)``."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        _draw_uniform(arr, self.scale)


@register
@guarded
class Normal(Initializer):
    """Weights are drawn from a normal distribution of mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        _draw_normal(arr, self.sigma)


@register
@guarded
class Orthogonal(Initializer):
    """Rows (or columns, whichever are fewer) of the weight matrix become orthogonal.

    Saxe et al., https://arxiv.org/abs/1312.6120. Axes behind the first count as one.

    Parameters
    ----------
    scale : float
        Length of the rows.
    rand_type : str
        ``'uniform'`` or ``'normal'``: what the matrix is drawn from first.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ArgumentError(f"rand_type must be 'uniform' or 'normal', got {shown(rand_type)}")
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _, arr):
        drawn = nd.zeros((arr.shape[0], int(np.prod(arr.shape[1:]))))
        (_draw_uniform if self.rand_type == "uniform" else _draw_normal)(drawn, 1.0)
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        basis = left if left.shape == drawn.shape else right
        arr[:] = self.scale * basis.reshape(arr.shape)


@register
@guarded
class Xavier(Initializer):
    """Weights are drawn so that signals keep their size from layer to layer.

    The width is ``sqrt(magnitude / factor)``, the factor is the number of inputs, of outputs, or
    the mean of both. Glorot and Bengio, 2010.

    Parameters
    ----------
    rnd_type : str
        ``'uniform'`` in [-width, width) or ``'gaussian'`` with that standard deviation.
    factor_type : str
        ``'in'``, ``'out'`` or ``'avg'``.
    magnitude : float
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ArgumentError(f"rnd_type must be 'uniform' or 'gaussian', got {shown(rnd_type)}")
        if factor_type not in ("in", "out", "avg"):
            raise ArgumentError(
                f"factor_type must be 'in', 'out' or 'avg', got {shown(factor_type)}"
            )
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"{type(self).__name__} needs 2 or more axes, '{name}' has shape {shape}"
            )
        receptive = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * receptive, shape[0] * receptive
        factor = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        width = math.sqrt(self.magnitude / factor)
        (_draw_uniform if self.rnd_type == "uniform" else _draw_normal)(arr, width)


@register
@guarded
class MSRAPrelu(Xavier):
    """Xavier with the width that suits (leaky) rectifiers: magnitude ``2 / (1 + slope**2)``.

    He et al., https://arxiv.org/abs/1502.01852.

    Parameters
    ----------
    factor_type : str
        ``'in'``, ``'out'`` or ``'avg'``.
    slope : float
        Slope of the rectifier at negative inputs.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
@guarded
class Bilinear(Initializer):
    """Weights of a Deconvolution become those of bilinear upsampling."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        height, width = arr.shape[-2:]
        kernel = np.outer(_tent(height, width), _tent(width, width))
        arr[:] = np.broadcast_to(kernel, arr.shape)


def _tent(extent, width):
    # both axes take their slope from the width, as MXNet does it
    half = math.ceil(width / 2)
    centre = (2 * half - 1 - half % 2) / (2 * half)
    return 1 - np.abs(np.arange(extent) / half - centre)


@register
@guarded
class LSTMBias(Initializer):
    """Biases of an LSTM cell become 0, those of its forget gate (second quarter) `forget_bias`."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name, arr):
        hidden = arr.shape[0] // 4
        values = np.zeros(arr.shape, np.float32)
        values[hidden : 2 * hidden] = self.forget_bias
        arr[:] = values


@register
@guarded
class FusedRNN(Initializer):
    """The one array of parameters of the operator RNN, its parts by another initializer.

    Parameters
    ----------
    init : Initializer, str or None
        For the parts; None is the initializer of the whole model. A str is what ``dumps`` wrote.
    num_hidden, num_layers : int
    mode : str
        ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    bidirectional : bool
    forget_bias : float
        What the biases of an LSTM's forget gates become.
    """

    def __init__(
        self,
        init: InitializerLike | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if init is not None:
            init = create(init)
        super().__init__(
            init=init.dumps() if init is not None else None,
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init, self._mode, self._forget_bias = init, mode, forget_bias
        self._num_hidden, self._num_layers = num_hidden, num_layers
        self._directions = ["l", "r"] if bidirectional else ["l"]

    def _init_weight(self, name, arr):
        from .rnn import packed  # here, because mx.rnn is imported when it is first used

        layout = self._mode, self._num_layers, self._directions
        num_input = packed.input_size_of(arr.size, *layout, self._num_hidden)
        whole = nd.zeros((arr.size,))
        for part_name, part in packed.parts(whole, *layout, num_input, self._num_hidden).items():
            if self._mode == "lstm" and part_name.endswith("_f_bias"):
                part[:] = self._forget_bias
            elif self._init is None:
                overall = getattr(name, "global_init", None)
                if overall is None or overall is self:
                    raise ArgumentError(
                        f"FusedRNN: '{name}' has no initializer of the whole model; give init"
                    )
                overall(InitDesc(part_name, global_init=overall), part)
            else:
                self._init(InitDesc(part_name), part)
        arr[:] = whole.reshape(arr.shape)


@guarded
class Mixed:
    """Chooses among initializers by the first pattern that the name matches.

    Parameters
    ----------
    patterns : list of str
        Regular expressions, matched from the beginning of the name.
    initializers : list of Initializer

    Examples
    --------
    >>> choose = Mixed(["fc1_.*", ".*"], [Zero(), Uniform(0.1)])
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[InitializerLike]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: {len(patterns)} patterns for {len(initializers)} initializers"
            )
        self.map = [(re.compile(pattern), each) for pattern, each in zip(patterns, initializers)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise ArgumentError(f"Mixed: the name '{name}' matches no pattern; put '.*' at the end")


@guarded
class Load:
    """Fills parameters from saved arrays, others by another initializer.

    Parameters
    ----------
    param : str or dict of str to NDArray
        A ``.params`` file or its content; prefixes ``arg:`` and ``aux:`` are dropped.
    default_init : Initializer, optional
        For names that `param` does not have.
    verbose : bool
        Log which parameter came from where.
    """

    def __init__(
        self,
        param: NamedArrays | FileName,
        default_init: InitializerLike | None = None,
        verbose: bool = False,
    ) -> None:
        if isinstance(param, str):
            param = nd.load(param)
        if not isinstance(param, dict):
            raise ArgumentTypeError(f"Load takes a dict of arrays, got {type(param).__name__}")
        for name, array in param.items():
            if not isinstance(array, nd.NDArray):
                raise ArgumentTypeError(
                    f"Load: {shown(name)} must be an NDArray, got {shown(array)}"
                )
        self.param = {
            name.removeprefix("arg:").removeprefix("aux:"): array for name, array in param.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        if name in self.param:
            found = self.param[name]
            if found.shape != arr.shape:
                raise ShapeError(
                    f"parameter '{name}' has shape {arr.shape}, the saved one {found.shape}"
                )
            arr[:] = found
            source = "loaded"
        elif self.default_init is None:
            raise NotFoundError(
                f"parameter '{name}' is not among the saved ones"
                " and there is no default initializer"
            )
        else:
            self.default_init(name, arr)
            source = "default initializer"
        if self.verbose:
            logging.info("Initialized %s: %s", name, source)


def _draw_uniform(arr, scale):
    nd.random.uniform(-scale, scale, shape=arr.shape, out=arr)


def _draw_normal(arr, sigma):
    nd.random.normal(0, sigma, shape=arr.shape, out=arr)
