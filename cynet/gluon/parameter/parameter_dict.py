"""ParameterDict: parameters by their full names, created on demand under one prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import initializer
from ... import ndarray as nd
from ...base.dtype import name_of
from ...base.errors import ArgumentError, ArgumentTypeError, FormatError, NotFoundError, shown
from ...base.files import file_name
from ...base.guard import guarded
from ...base.kinds import is_single_int
from ..errors import MismatchError
from .constant import Constant
from .parameter import DEFAULT_INITIALIZER, Parameter
from .shapes import merge_shapes

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView

    from ...typing import ArrayLike, Context, FileName, InitializerLike, NamedArrays
    from .parameter import Contexts


@guarded
class ParameterDict:
    """A dictionary of Parameters by full name, in order of creation.

    Parameters
    ----------
    prefix : str
        Put before the names that `get` is given.
    shared : ParameterDict, optional
        Dictionary in which `get` looks before it makes a parameter.

    Raises
    ------
    ArgumentTypeError
        `prefix` is not a str.

    Examples
    --------
    >>> params = mx.gluon.ParameterDict("net_")
    >>> params.get("weight", shape=(2, 3))
    Parameter net_weight (shape=(2, 3), dtype=<class 'numpy.float32'>)
    >>> params.prefix, list(params.keys())
    ('net_', ['net_weight'])
    >>> params.initialize()
    >>> params.zero_grad()
    >>> params.setattr("lr_mult", 0.5)
    >>> [each.lr_mult for each in params.values()]
    [0.5]
    >>> [(name, each.shape) for name, each in params.items()]
    [('net_weight', (2, 3))]
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        if not isinstance(prefix, str):
            raise ArgumentTypeError(f"ParameterDict: prefix must be a str, got {shown(prefix)}")
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared
        self._owner = None  # the Block whose `collect_params` made the dict

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        rows = "\n".join(f"  {each!r}" for each in self.values())
        return f"{name}(\n{rows}\n)"

    def __getitem__(self, key: str) -> Parameter:
        """Return the parameter with this full name."""
        if key not in self._params:
            raise NotFoundError(
                f"there is no Parameter {shown(key)}; there are {brief_list(self._params)}"
            )
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:
        return True  # also without parameters, as in MXNet: scripts test `if net.collect_params():`

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def keys(self) -> KeysView[str]:
        """Return the full names, with their prefixes."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Return pairs of full name and parameter."""
        return self._params.items()

    @property
    def prefix(self) -> str:
        """The prefix that `get` puts before names."""
        return self._prefix

    # --- members ----------------------------------------------------------------------------------
    def _find_parameter(self, name):
        """Return the parameter with this full name, here or in `shared`, or None."""
        if name in self._params:
            return self._params[name]
        if self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
            return self._params[name]
        return None

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """Return the parameter ``prefix + name``; create it if there is none.

        Parameters
        ----------
        name : str
            Name without the dictionary's prefix.
        **kwargs
            Arguments of :class:`Parameter`. If the parameter exists, they are compared with what it
            has, and unknown dimensions of its shape are filled in.

        Raises
        ------
        MismatchError
            An AssertionError: the parameter has another shape, dtype, ...
        """
        name = self._prefix + name
        found = self._find_parameter(name)
        if found is None:
            self._params[name] = found = Parameter(name, **kwargs)
            found._is_listed = True
            return found
        for key, wanted in kwargs.items():
            stored = getattr(found, key, None)
            if stored is None:
                setattr(found, key, wanted)
                continue
            if key == "shape" and wanted is not None:
                wanted = (wanted,) if is_single_int(wanted) else tuple(wanted)
                if merge_shapes(stored, wanted) is not None:
                    found.shape = wanted
                    continue
            elif key == "dtype" and name_of(stored) == name_of(wanted):
                continue
            if wanted is not None and wanted != stored:
                raise MismatchError(
                    f"parameter '{name}' is there with {key}={stored}, asked for is {wanted}"
                )
        return found

    def get_constant(self, name: str, value: ArrayLike | None = None) -> Constant:
        """Return the Constant ``prefix + name``; create it from `value` if there is none.

        Parameters
        ----------
        name : str
            Name without the dictionary's prefix.
        value : NDArray, numpy.ndarray, number or nested list, optional
            Values of the constant; needed if there is none of this name.

        Raises
        ------
        NotFoundError
            There is none of this name, and no `value`.
        MismatchError
            The name is that of a parameter, or of a constant with another value.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict("net_")
        >>> scale = params.get_constant("scale", [2, 3])
        >>> scale.initialize()
        >>> scale.name, scale.data().asnumpy().tolist(), scale.grad_req
        ('net_scale', [2.0, 3.0], 'null')
        """
        name = self._prefix + name
        found = self._find_parameter(name)
        if found is None:
            if value is None:
                raise NotFoundError(f"there is no constant '{name}'; give its value to make it")
            self._params[name] = found = Constant(name, value)
            found._is_listed = True
            return found
        if not isinstance(found, Constant):
            raise MismatchError(f"expected a constant '{name}', got a parameter of that name")
        if value is not None:
            given = value.asnumpy() if isinstance(value, nd.NDArray) else np.asarray(value)
            stored = found.value.asnumpy()
            if given.shape != stored.shape or not np.array_equal(given, stored):
                raise MismatchError(f"constant '{name}' is there with another value")
        return found

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Add all parameters of another dictionary.

        Parameters
        ----------
        other : ParameterDict or dict
            Parameters by whole name.

        Raises
        ------
        MismatchError
            A name stands for two different parameters.

        Examples
        --------
        >>> params, others = mx.gluon.ParameterDict("a_"), mx.gluon.ParameterDict("b_")
        >>> w = others.get("w", shape=(2,))
        >>> params.update(others)
        >>> list(params.keys())
        ['b_w']
        """
        found = dict(other.items())
        for name, param in found.items():
            if not isinstance(param, Parameter):
                raise ArgumentTypeError(
                    f"ParameterDict.update: {shown(name)} must be a Parameter, got {shown(param)}"
                )
            if self._params.get(name, param) is not param:
                raise MismatchError(f"two different parameters are named '{name}'")
        self._params.update(found)
        for param in found.values():
            param._is_listed = True

    def _adopt_parameter(self, param: Parameter, attribute: str) -> None:
        """Add a parameter that became an attribute of the Block and is in no dictionary yet.

        Its name gets the prefix before it; without a name, or where that is taken, the
        attribute's counts. One that was made by `get`, here or elsewhere, is left alone.
        """
        if param._is_listed or self._params.get(param.name) is param:
            return
        name = param.name or attribute
        if not name.startswith(self._prefix):
            name = self._prefix + name
        if name in self._params:
            name = self._prefix + attribute
        if name in self._params:
            raise MismatchError(f"two different parameters are named '{name}'")
        param.name, param._var, param._is_listed = name, None, True
        self._params[name] = param

    # --- all at once ------------------------------------------------------------------------------
    def initialize(
        self,
        init: InitializerLike = DEFAULT_INITIALIZER,
        ctx: Contexts | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters: each by its own initializer if it has one, else by `init`.

        Parameters
        ----------
        init : Initializer or str
            Initializer of parameters that do not have one of their own; uniform by default.
        ctx : Context or list of Context, optional
            Devices of the arrays; the current context by default.
        verbose : bool
            Log how each parameter is initialized.
        force_reinit : bool
            Also initialize parameters that are initialized already.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict()
        >>> w = params.get("w", shape=(2,))
        >>> params.initialize(mx.init.Constant(3))
        >>> w.data()
        [3. 3.]
        <NDArray 2 @cpu(0)>
        """
        if verbose:
            init = initializer.create(init)
            init.set_verbosity(verbose=verbose)
        for each in self.values():
            each.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for each in self.values():
            each.zero_grad()

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move all parameters to other contexts.

        Parameters
        ----------
        ctx : Context or list of Context
            The new devices.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict()
        >>> w = params.get("w", shape=(2,))
        >>> params.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> params.reset_ctx(mx.cpu(0))
        >>> params.list_ctx()
        [cpu(0)]
        """
        for each in self.values():
            each.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Return all contexts of the parameters.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict()
        >>> w = params.get("w", shape=(2,))
        >>> params.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> params.list_ctx()
        [cpu(0), cpu(1)]
        """
        found = {}
        for each in self.values():
            found.update(dict.fromkeys(each.list_ctx()))
        return list(found)

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters: ``net.collect_params().setattr('grad_req', 'null')``.

        Parameters
        ----------
        name : str
            Name of the attribute: ``'grad_req'``, ``'lr_mult'``, ...
        value : object
            Its new value.
        """
        for each in self.values():
            setattr(each, name, value)

    # --- files ------------------------------------------------------------------------------------
    def save(self, filename: FileName, strip_prefix: str = "") -> None:
        """Write all parameters to a ``.params`` file, by their names without `strip_prefix`.

        Parameters
        ----------
        filename : str
            The file to write; ``.npz`` or ``.safetensors`` at its end selects another format.
        strip_prefix : str
            Prefix that all names have, and that is removed from them.

        Raises
        ------
        ArgumentError
            A name does not begin with `strip_prefix`.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict("net_")
        >>> w = params.get("w", shape=(2,))
        >>> params.initialize()
        >>> params.save("net.params", strip_prefix="net_")
        >>> list(mx.nd.load("net.params"))
        ['w']
        """
        arrays = {}
        for name, each in self.items():
            if not name.startswith(strip_prefix):
                raise ArgumentError(
                    f"save: parameter '{name}' does not begin with '{strip_prefix}', which is to"
                    " be left out; it may belong to another Block, or to one that was made"
                    " outside of name_scope()"
                )
            arrays[name[len(strip_prefix) :]] = each._reduce()
        nd.save(filename, arrays)

    def load(
        self,
        filename: FileName,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Fill the parameters from a file.

        Parameters
        ----------
        filename : str
            A ``.params`` file; ``arg:`` and ``aux:`` before a name are ignored.
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialized yet; the CPU by default.
        restore_prefix : str
            Put before the names in the file.
        dtype_source : str
            With `cast_dtype`: ``'current'`` keeps the parameter's dtype, ``'saved'`` takes the
            file's.

        Raises
        ------
        MismatchError
            An AssertionError: names, shapes or dtypes differ.

        Examples
        --------
        >>> mx.nd.save("net.params", {"w": mx.nd.array([1, 2])})
        >>> params = mx.gluon.ParameterDict("net_")
        >>> w = params.get("w", shape=(2,))
        >>> params.load("net.params", restore_prefix="net_")
        >>> w.data()
        [1. 2.]
        <NDArray 2 @cpu(0)>
        """
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise MismatchError(
                    f"load: parameter '{name}' does not begin with restore_prefix"
                    f" '{restore_prefix}'"
                )
        arrays = read_named_arrays(filename)
        self.load_dict(
            arrays,
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            filename,
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: NamedArrays,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: FileName | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Fill the parameters from a dict of arrays by name; see `load`.

        Parameters
        ----------
        param_dict : dict of str to NDArray
            Values by name; ``arg:`` and ``aux:`` before a name are ignored.
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialized yet; the CPU by default.
        allow_missing : bool
            Leave parameters as they are if `param_dict` lacks them.
        ignore_extra : bool
            Skip names in `param_dict` that are not parameters.
        restore_prefix : str
            Put before the names in `param_dict`.
        filename : str, optional
            Where the arrays come from, for error messages.
        dtype_source : str
            With `cast_dtype`: ``'current'`` keeps the parameter's dtype, ``'saved'`` takes the
            array's.

        Raises
        ------
        MismatchError
            A name is missing, or is that of no parameter; shapes or dtypes differ.

        Examples
        --------
        >>> params = mx.gluon.ParameterDict()
        >>> w = params.get("w", shape=(2,))
        >>> params.load_dict({"w": mx.nd.array([1, 2])})
        >>> w.data()
        [1. 2.]
        <NDArray 2 @cpu(0)>
        """
        source = "" if filename is None else f" in file: {filename}"
        param_dict = {
            _name_without_prefix(restore_prefix, name): each for name, each in param_dict.items()
        }
        if not allow_missing:
            for name in self.keys():
                if name not in param_dict:
                    raise MismatchError(
                        f"parameter '{name}' is missing{source}, which has"
                        f" {brief_list(param_dict)}; other prefixes make other names, and"
                        " allow_missing=True leaves what is missing"
                    )
        if not ignore_extra:
            for name in param_dict:
                if name not in self._params:
                    raise MismatchError(
                        f"expected names of the parameters {brief_list(self._params)}, got '{name}'"
                        f"{source};"
                        " other prefixes make other names, and ignore_extra=True passes over it"
                    )
        for name, array in param_dict.items():
            if name in self._params:
                self._params[name]._load_init(array, ctx, cast_dtype, dtype_source)


def _name_without_prefix(prefix, name):
    return prefix + name.removeprefix("arg:").removeprefix("aux:")


def read_named_arrays(filename):
    """Read the arrays of a ``.params`` file by name."""
    arrays = nd.load(filename)
    if not isinstance(arrays, dict):
        if not arrays:
            return {}
        raise FormatError(
            f"{file_name(filename)}: the arrays in this file have no names, so none is a parameter"
        )
    return arrays


def brief_list(names, maximum=7):
    """Format names for a message, in quotes; of many names only the first and the last.

    >>> brief_list(["a", "b"])
    "'a', 'b'"
    >>> len(brief_list(["a" * 10**6]))
    200
    """
    names = list(names)
    if len(names) > maximum:
        half = maximum // 2
        return f"{brief_list(names[:half], maximum)}, ..., {brief_list(names[-half:], maximum)}"
    return ", ".join(shown(str(each)) for each in names)
