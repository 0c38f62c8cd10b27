"""Parameter: one weight with its arrays and gradients on its contexts, and its initialization."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import autograd, initializer
from ... import ndarray as nd
from ... import symbol as sym
from ..._core.saved_values import write_unrecorded
from ..._core.sparse_kind import dense_of
from ...base.dtype import dtype_flag, name_of
from ...base.errors import ArgumentError, ArgumentTypeError, shown, warn_user
from ...base.guard import guarded
from ...base.np_shape import is_np_shape, uses_np_arrays
from ...base.overrides import overridden_methods
from ...context import cpu
from ...ndarray._fill import lazy_zeros
from ..errors import MismatchError
from ..tracing import count_block_change
from .arrays import ParameterArrays
from .contexts import context_list, device_indices
from .initialize import fill_array
from .rows import RowSparseData
from .shapes import check_shape, has_known_sizes, merge_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import ArrayLike, ContextLike, DTypeLike, InitializerLike, Shape

    Contexts = ContextLike | Sequence[ContextLike]  # one context or several

tensor_types = (nd.NDArray, sym.Symbol)
_finish_lock = threading.RLock()  # held while a deferred initialization is completed
DEFAULT_INITIALIZER = initializer.Uniform()  # the default initializer of weights, of scale 0.07
_GRAD_REQS = ("write", "add", "null")  # values of grad_req
_ARRAY_METHODS = ("data", "list_data", "grad", "list_grad", "_check_and_get")  # see _is_builtin


@guarded(but=("data", "grad", "var"))
class Parameter(ParameterArrays, RowSparseData):
    """A weight of a network: its array and gradient on each context, and its initializer.

    Parameters
    ----------
    name : str
        The whole name, with the prefixes of the Blocks around it. Without one, and without the
        prefix, it gets both from the Block of which it becomes an attribute.
    grad_req : str
        ``'write'``, ``'add'`` (the caller zeroes) or ``'null'``.
    shape : tuple of int or int, optional
        A dimension of 0 is filled in by the first forward pass.
    dtype : str or numpy.dtype
        Element type.
    lr_mult, wd_mult : float
        Factors of the learning rate and of the weight decay.
    init : Initializer or str, optional
        Used instead of the initializer that ``Block.initialize`` is given.
    allow_deferred_init : bool
        Whether `initialize` may wait for the shape.
    differentiable : bool
        False keeps `grad_req` at ``'null'``.
    stype : str
        ``'default'``, or ``'row_sparse'``: `row_sparse_data` gives its rows, `data` is refused.
    grad_stype : str
        ``'default'``, or ``'row_sparse'``: the gradient holds only the rows that backward touched
        (on GPUs it is dense).

    Raises
    ------
    ArgumentError
        `grad_req`, `stype` or `grad_stype` is not one of those allowed.

    Examples
    --------
    >>> w = mx.gluon.Parameter("w", shape=(2, 3), dtype="float32")
    >>> w.initialize(init="ones")
    >>> w.data()
    [[1. 1. 1.]
     [1. 1. 1.]]
    <NDArray 2x3 @cpu(0)>
    >>> w.shape, w.dtype, w.grad_req, w.stype, w.grad_stype, w.list_ctx()
    ((2, 3), 'float32', 'write', 'default', 'default', [cpu(0)])
    >>> with mx.autograd.record():
    ...     y = (2 * w.data()).sum()
    ...
    >>> y.backward()
    >>> w.grad()
    [[2. 2. 2.]
     [2. 2. 2.]]
    <NDArray 2x3 @cpu(0)>
    >>> w.set_data(mx.nd.zeros((2, 3)))
    >>> w.zero_grad()
    >>> w.reset_ctx(mx.cpu(0))
    >>> w.cast("float16")
    >>> [float(each.sum()) for each in (*w.list_data(), *w.list_grad())]
    [0.0, 0.0]
    """

    _is_patched = False  # whether one of _ARRAY_METHODS was set on this object
    _is_listed = False  # whether a ParameterDict has the parameter
    _unshared = None  # array of new values that no context shares yet
    _of_user: frozenset[str] = frozenset()  # _ARRAY_METHODS that the user's class overrides

    def __new__(cls, *args, **kwargs):
        found = overridden_methods(cls, _ARRAY_METHODS)
        if cls._of_user != found:
            cls._of_user = found
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _ARRAY_METHODS:
            super().__setattr__("_is_patched", True)
            count_block_change()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in _ARRAY_METHODS:
            super().__setattr__("_is_patched", not vars(self).keys().isdisjoint(_ARRAY_METHODS))
            count_block_change()

    def __init__(
        self,
        name: str = "",
        grad_req: str = "write",
        shape: Shape | int | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: InitializerLike | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"a Parameter's name must be a str, got {shown(name)}")
        for what, kind in (("stype", stype), ("grad_stype", grad_stype)):
            if not isinstance(kind, str) or kind not in ("default", "row_sparse"):
                raise MismatchError(
                    f"Parameter '{name}': {what} must be 'default' or 'row_sparse', got"
                    f" {shown(kind)}"
                )
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._var = None
        self._data = None
        self._grad = None
        self._ctx_list = None
        self._ctx_map = None  # index of each context in `_ctx_list`
        self._deferred_init = ()
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req = None
        self._thawed = None  # grad_req before `freeze`
        self._shape = check_shape(name, shape)
        dtype_flag(dtype)
        self._dtype = dtype
        self._stype, self._grad_stype = stype, grad_stype
        # the last Trainer; weak references to earlier Trainers
        self._trainer, self._other_trainers = None, ()
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    # --- what it is -------------------------------------------------------------------------------
    @property
    def grad_req(self) -> str:
        """``'write'``, ``'add'`` or ``'null'``; may change at any time."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in _GRAD_REQS:
            raise MismatchError(f"grad_req is 'write', 'add' or 'null', got {shown(req)}")
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is not None:
            self._init_grad()

    @property
    def dtype(self) -> DTypeLike:
        """The element type; setting it casts the arrays."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Shape | None:
        """The shape; dimensions of 0 (-1 under ``mx.util.np_shape``) are unknown and may be set."""
        if self._shape is not None and is_np_shape():
            return tuple([n if n > 0 else -1 for n in self._shape])
        return self._shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        new = check_shape(self.name, shape)
        if self._shape is None or new is None:
            self._shape = new if self._shape is None else self._shape
            return
        merged = merge_shapes(self._shape, new)
        if merged is None:
            raise MismatchError(
                f"parameter '{self.name}' has shape {self._shape}, which {new} does not fit"
            )
        self._shape = merged

    @property
    def stype(self) -> str:
        """``'default'`` or ``'row_sparse'``."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """The storage type of the gradient: ``'default'`` or ``'row_sparse'``."""
        return self._grad_stype

    # --- initialization ---------------------------------------------------------------------------
    def initialize(
        self,
        init: InitializerLike | None = None,
        ctx: Contexts | None = None,
        default_init: InitializerLike = DEFAULT_INITIALIZER,
        force_reinit: bool = False,
    ) -> None:
        """Create the arrays and fill them with the same values on all contexts.

        Parameters
        ----------
        init : Initializer or str, optional
            Takes precedence over ``Parameter.init``, which takes precedence over `default_init`. It
            fills the parameter as a weight, whatever the name ends with.
        ctx : Context or list of Context, optional
            Devices of the arrays; the current context by default.
        default_init : Initializer or str
            Used if neither `init` nor ``Parameter.init`` is given.
        force_reinit : bool
            Fill the arrays again if there are some; otherwise they are left as they are, with a
            warning.

        Raises
        ------
        ArgumentError
            The shape is unknown, and `allow_deferred_init` is False.
        """
        if self._data is not None and not force_reinit:
            warn_user(
                f"parameter '{self.name}' is initialized and stays as it is; force_reinit=True"
                " fills it again"
            )
            return
        contexts = context_list(ctx)
        if init is None:
            init = default_init if self.init is None else self.init
        if not has_known_sizes(self._shape):
            if not self._allow_deferred_init:
                raise ArgumentError(
                    f"parameter '{self.name}' cannot be initialized: its shape {self._shape} is"
                    " unknown, and allow_deferred_init is False"
                )
            self._data = self._grad = self._ctx_list = None
            self._deferred_init = (init, contexts, default_init, None)
            count_block_change()
            return
        self._deferred_init = (init, contexts, default_init, None)
        self._finish_deferred_init()

    def _finish_deferred_init(self):
        """Create and fill the arrays if initialization was deferred and the shape is known."""
        # another thread that shares the network may initialize it at the same time
        with _finish_lock:
            if self._deferred_init:
                self._create_arrays(*self._deferred_init)

    def _create_arrays(self, init, contexts, default_init, values):
        if not has_known_sizes(self._shape):
            raise MismatchError(
                f"parameter '{self.name}' cannot be made: its shape {self._shape} is unknown"
                " still; say in_units, in_channels or the like"
            )
        with autograd.pause():
            if values is None:
                values = self._unshared = nd.zeros(self._shape, dtype=self._dtype, ctx=cpu())
                given = values.as_np_ndarray() if uses_np_arrays() else values
                fill_array(init, default_init, self.name, given)
            self._init_impl(values, contexts)
            self._unshared = None
            # cleared last: other threads read it to decide whether to wait for the arrays
            self._deferred_init = ()
            if self._trainer is not None:
                self._trainer._broadcast_parameters([self])

    def _init_impl(self, data, ctx_list):
        """Create the array of each context with these values, and its gradient."""
        self._ctx_list = list(ctx_list)
        self._ctx_map = device_indices(self._ctx_list)
        mine, data = data is self._unshared, dense_of(data)
        self._data = [
            data if mine and ctx == data.context else data.copyto(ctx) for ctx in self._ctx_list
        ]
        if uses_np_arrays():
            self._data = [each.as_np_ndarray() for each in self._data]
        count_block_change()  # last: threads with the old count would cache no arrays
        self._init_grad()

    def _init_grad(self):
        """Create zero gradients for the arrays, or none if grad_req is 'null'."""
        if self._grad_req == "null":
            self._grad = None
            self._data = [each.detach() for each in self._data]
            return
        self._grad = [self._zeros_for(each) for each in self._data]
        autograd.mark_variables(self._data, self._grad, self._grad_req)

    def _zeros_for(self, array):
        """Return the initial gradient of an array: zeros."""
        stype = self._grad_stype_of(array)
        if stype == "default":
            return lazy_zeros(array)
        return nd.zeros(array.shape, dtype=array.dtype, ctx=array.context, stype=stype)

    def _grad_stype_of(self, array):
        """Return the storage type of the gradient of an array."""
        return "default" if array.context.device_type == "gpu" else self._grad_stype

    def _load_init(self, values, ctx, cast_dtype=False, dtype_source="current"):
        """Set the values from a file; initialize the parameter if necessary."""
        if dtype_source not in ("current", "saved"):
            raise ArgumentError(
                f"dtype_source must be 'current' or 'saved', got {shown(dtype_source)}"
            )
        if merge_shapes(self._shape, values.shape) is None:
            raise MismatchError(
                f"parameter '{self.name}' has shape {self._shape}, the saved one {values.shape}"
            )
        self._shape = tuple(values.shape)
        if name_of(self._dtype) != name_of(values.dtype):
            if not cast_dtype:
                raise MismatchError(
                    f"parameter '{self.name}' has dtype {name_of(self._dtype)}, the saved one"
                    f" {name_of(values.dtype)}; cast_dtype=True casts"
                )
            if dtype_source == "saved":
                self.cast(values.dtype)
            else:
                values = values.astype(self._dtype)
        wanted = None if ctx is None else context_list(ctx)
        if self._data is not None:
            if wanted is not None and set(wanted) != set(self._ctx_list):
                raise MismatchError(
                    f"parameter '{self.name}' cannot be loaded to {wanted}: it is on"
                    f" {self._ctx_list}; reset_ctx moves it"
                )
            self.set_data(values)
            return
        if self._deferred_init:
            declared = self._deferred_init[1]
            if wanted is not None and set(wanted) != set(declared):
                raise MismatchError(
                    f"parameter '{self.name}' cannot be loaded to {wanted}: it is to be on"
                    f" {declared}; reset_ctx moves it"
                )
            wanted = declared
        self._deferred_init = ()
        with autograd.pause():
            self._init_impl(values, [cpu()] if wanted is None else wanted)

    # --- changes ----------------------------------------------------------------------------------
    def set_data(self, data: ArrayLike) -> None:
        """Set the values on all contexts; for a deferred parameter, also the shape. Within a record
        they are set, too, and no gradient goes to where they come from.

        Parameters
        ----------
        data : NDArray or array-like
            The values, of the parameter's shape.

        Raises
        ------
        MismatchError
            It is not initialized, or the values have another shape.
        """
        data = data.detach() if isinstance(data, nd.NDArray) else nd.array(data, dtype=self._dtype)
        data = dense_of(data)
        self.shape = data.shape
        if self._data is None:
            if not self._deferred_init:
                raise MismatchError(f"parameter '{self.name}' is not initialized")
            if name_of(data.dtype) != name_of(self._dtype):
                data = data.astype(self._dtype)
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        for each in self._owning_trainers():
            each._mark_for_kvstore_init(self)
        with autograd.pause():
            for each in self._check_and_get(self._data, list):
                write_unrecorded(each, data)

    def _reduce(self):
        """Return the values for a file: the mean over all contexts, on the CPU."""
        arrays = [each.as_in_context(cpu()) for each in self._data_of_contexts()]
        mean = arrays[0] if len(arrays) == 1 else nd.add_n(*arrays) / len(arrays)
        return self._to_file_format(mean)

    def zero_grad(self) -> None:
        """Set the gradients to 0."""
        for each in self._grad or ():
            each[:] = 0

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move the arrays to other contexts.

        Parameters
        ----------
        ctx : Context or list of Context
            The new devices.

        Raises
        ------
        ArgumentError
            It is not initialized.
        """
        contexts = context_list(ctx)
        if self._data is not None:
            with autograd.pause():
                self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, values = self._deferred_init
            self._deferred_init = (init, contexts, default_init, values)
        else:
            raise ArgumentError(
                f"parameter '{self.name}' is not initialized: there is nothing to move"
            )
        for each in self._owning_trainers():
            each._mark_for_kvstore_init(self)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type; set gradients to 0.

        Parameters
        ----------
        dtype : str or numpy.dtype
            The new element type.
        """
        dtype_flag(dtype)  # raises for an invalid dtype
        self._dtype = dtype
        self._var = None
        if self._data is None:
            if self._deferred_init and self._deferred_init[3] is not None:
                init, contexts, default_init, values = self._deferred_init
                self._deferred_init = (init, contexts, default_init, values.astype(dtype))
            return
        with autograd.pause():
            self._data = [each.astype(dtype) for each in self._data]
            self._init_grad()

    def var(self) -> sym.Symbol:
        """Return the Symbol of this parameter, always the same object.

        Examples
        --------
        >>> Parameter("w", shape=(2,)).var()
        <Symbol w>
        """
        if self._var is None:
            self._var = sym.var(
                self.name,
                shape=self.shape,
                dtype=self._dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=None
                if isinstance(self.init, (initializer.Mixed, initializer.Load))
                else self.init,
                stype=self._stype,
            )
        return self._var

    def _set_trainer(self, trainer):
        if self._trainer is not None:
            self._other_trainers = [weakref.ref(each) for each in self._owning_trainers()]
            for each in (trainer, *self._owning_trainers()):
                each._shared.append(self)
        self._trainer = trainer

    def _owning_trainers(self):
        """Return all Trainers that have the parameter."""
        others = [each() for each in self._other_trainers]
        return [each for each in (*others, self._trainer) if each is not None]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self), _trainer=None, _other_trainers=(), _var=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._data is not None and self._grad is not None:
            autograd.mark_variables(self._data, self._grad, self._grad_req)
