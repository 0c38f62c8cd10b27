"""Initializer: the values of parameters before training, chosen by name pattern or by attribute."""

from __future__ import annotations

import json
import logging
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    NotFoundError,
    ShapeError,
    UndefinedError,
    shown,
)
from ..base.guard import Guarded
from ..base.kinds import call_with_settings, read_json
from ..base.reprs import SettingsRepr
from ..registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Class, FileName, InitializerLike, NamedArrays, NDArray

__all__ = ["INITIALIZERS", "InitDesc", "Initializer", "Load", "Mixed", "alias", "create"]
__all__ += ["register"]

INITIALIZERS = Registry("initializer", ignore_case=True)


def register(klass: Class) -> Class:
    """Register `klass`, a subclass of Initializer, by its lower-case name; usable as a decorator.

    Parameters
    ----------
    klass : type
        A subclass of Initializer.

    Raises
    ------
    ArgumentTypeError
        `klass` is not a subclass of Initializer.

    Examples
    --------
    >>> @mx.init.register
    ... class HalfOfRegister(mx.init.Initializer):
    ...     def _init_weight(self, name, array):
    ...         array[:] = 0.5
    ...
    >>> net = mx.gluon.nn.Dense(1, in_units=2, weight_initializer="halfofregister")
    >>> net.initialize()
    >>> net.weight.data()
    [[0.5 0.5]]
    <NDArray 1x2 @cpu(0)>
    """
    if not (isinstance(klass, type) and issubclass(klass, Initializer)):
        raise ArgumentTypeError(f"register takes a subclass of Initializer, got {shown(klass)}")
    return INITIALIZERS.register(klass.__name__, klass, override=True)


def alias(*names: str) -> Callable[[Class], Class]:
    """Return a class decorator that registers an initializer under more names.

    Parameters
    ----------
    *names : str
        Further names of the decorated class.

    Examples
    --------
    >>> @mx.init.alias("halves", "half")
    ... class HalfOfAlias(mx.init.Initializer):
    ...     def _init_weight(self, name, array):
    ...         array[:] = 0.5
    >>> type(mx.init.create("half")).__name__
    'HalfOfAlias'
    """

    def wrap(klass):
        for name in names:
            INITIALIZERS.register(name, klass, override=True)
        return klass

    return wrap


def create(initializer: InitializerLike, **kwargs: Any) -> Any:
    """Return an initializer, from its name, a JSON text of ``dumps``, or an Initializer.

    Parameters
    ----------
    initializer : str, Initializer, Mixed or Load
        A name, whose case is ignored; JSON ``[name, settings]``; or an initializer, which is
        returned as it is.
    **kwargs
        Arguments of the class; they take precedence over the settings in JSON.

    Returns
    -------
    Initializer, Mixed or Load

    Raises
    ------
    ArgumentTypeError
        `initializer` is something else.
    NotFoundError
        No initializer has this name.
    FormatError
        A str that begins with ``[`` is not JSON of this form.

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
            name, settings = read_json(initializer)
            settings = dict(settings)
        except (ValueError, TypeError):
            raise FormatError(
                f"initializer: expected JSON [name, settings], got {shown(initializer)}"
            ) from None
        kwargs, initializer = {**settings, **kwargs}, name
    kind = INITIALIZERS.get(initializer)
    return call_with_settings(f"initializer {initializer}", kind, [], kwargs)


class InitDesc(str):
    """A parameter's name, with its symbol attributes and the initializer of the whole model.

    Parameters
    ----------
    name : str
        Name of the parameter.
    attrs : dict of str to str, optional
        Attributes of its variable.
    global_init : Initializer, optional
        Initializer of the whole model.

    Examples
    --------
    >>> name = mx.init.InitDesc("fc_weight", {"lr_mult": "2"})
    >>> name, name.attrs
    ('fc_weight', {'lr_mult': '2'})
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


class Initializer(Guarded, SettingsRepr):
    """Base of initializers: ``initializer(InitDesc(name), array)`` fills the array.

    An attribute ``__init__`` of the parameter names the initializer to use instead. Else the end of
    the name decides: ``weight`` is what subclasses define (``_init_weight(name, array)``);
    ``bias``, ``beta``, ``moving_mean`` and ``min`` become 0; ``gamma``, ``moving_var`` and ``max``
    become 1.

    Parameters
    ----------
    **kwargs
        Settings that ``dumps`` writes beside the name.

    Examples
    --------
    >>> class Half(mx.init.Initializer):
    ...     def _init_weight(self, name, array):
    ...         array[:] = 0.5
    ...
    >>> w = mx.nd.zeros(2)
    >>> Half()(mx.init.InitDesc("fc_weight"), w)
    >>> w
    [0.5 0.5]
    <NDArray 2 @cpu(0)>
    >>> _ = Half().set_verbosity(True)
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None
    ) -> Initializer:
        """Log each initialized parameter; returns the initializer itself.

        Parameters
        ----------
        verbose : bool
            Whether to log each parameter.
        print_func : callable, optional
            ``print_func(array)`` returns what to log of an array; by default ``norm / sqrt(size)``.
        """
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def dumps(self) -> str:
        """Return JSON of ``[name, settings]``, which :func:`create` reads.

        Examples
        --------
        >>> mx.init.Uniform(0.5).dumps()
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
        """Fill an array for a name that is a plain str, chosen by the name's suffix."""
        self._init_by_name(InitDesc(name, global_init=self), arr)

    def _init_by_name(self, desc, arr):
        for suffix, method in _METHOD_BY_SUFFIX:
            if desc.endswith(suffix):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, suffix, arr)
                return
        self._init_default(desc, arr)

    def _verbose_print(self, desc, init, arr):
        """Log the initializer that filled an array, if verbosity is on."""
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


_METHOD_BY_SUFFIX = (  # end of a parameter's name -> method that fills it
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


def _root_mean_square(arr):
    values = arr.asnumpy()
    return str(float(np.linalg.norm(values) / math.sqrt(values.size)))


class Mixed(SettingsRepr):
    """Applies the initializer of the first pattern that the parameter's name matches.

    Parameters
    ----------
    patterns : list of str
        Regular expressions, matched from the beginning of the name.
    initializers : list of Initializer
        The initializer for each pattern.

    Raises
    ------
    ArgumentError
        The lists have different lengths; from a call, the name matches no pattern.

    Examples
    --------
    >>> choose = mx.init.Mixed(["fc1_.*", ".*"], [mx.init.Zero(), mx.init.One()])
    >>> for name in ("fc1_weight", "fc2_weight"):
    ...     weight = mx.nd.full(2, 9)
    ...     choose(name, weight)
    ...     print(name, weight.asnumpy())
    fc1_weight [0. 0.]
    fc2_weight [1. 1.]
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


class Load:
    """Fills parameters from saved arrays, and missing ones by another initializer.

    Parameters
    ----------
    param : str or dict of str to NDArray
        A ``.params`` file, or its contents; the prefixes ``arg:`` and ``aux:`` are ignored.
    default_init : Initializer, optional
        Initializes parameters that `param` does not have.
    verbose : bool
        Log where each parameter comes from.

    Raises
    ------
    ArgumentTypeError
        `param` is not a dict of arrays.
    NotFoundError
        From a call: there is no array of this name and no `default_init`.
    ShapeError
        From a call: the array has another shape than the parameter.

    Examples
    --------
    >>> init = mx.init.Load({"fc_weight": mx.nd.array([1, 2])}, default_init=mx.init.Zero())
    >>> w = mx.nd.zeros(2)
    >>> init("fc_weight", w)
    >>> w
    [1. 2.]
    <NDArray 2 @cpu(0)>
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
