"""The parameters of a Module: first values, given values, and reading them back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, listed, shown, warn_user
from ..base.guard import guarded
from ..context import cpu
from ..initializer import InitDesc, create
from ..ndarray.sparse.convert import with_all_rows
from .base_module import DEFAULT_INITIALIZER

if TYPE_CHECKING:
    from ..typing import InitializerLike, NamedArrays

_NUMBERS = re.compile(r"\d+")


@guarded
class Parameters:
    """The part of Module that gives and takes parameters; it lives on Module's attributes."""

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """(arg_params, aux_params): dicts of arrays on the CPU, as they are now."""
        self._need("get_params", "params_initialized")
        if self.binded and self._params_dirty:
            self._sync_params_from_devices()
        return self._stored(), self._aux_params

    def _stored(self):
        """The arguments' values as users and files get them: a row_sparse weight is one."""
        blocks = zip(self._param_names, self._exec_group.param_arrays) if self.binded else ()
        rows = [name for name, block in blocks if block[0].stype == "row_sparse"]
        if not rows:
            return self._arg_params
        return {**self._arg_params, **{n: with_all_rows(self._arg_params[n]) for n in rows}}

    def _sync_params_from_devices(self):
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters their first values.

        Parameters
        ----------
        initializer : Initializer, str or callable
            ``initializer(InitDesc, array)``; a str is the name of an Initializer.
        arg_params, aux_params : dict of str to NDArray, optional
            Values to take instead.
        allow_missing : bool
            Leave names that the dicts do not have to the initializer.
        force_init : bool
            Do it even if it has been done.
        allow_extra : bool
            Accepted; names that are no parameters are passed over in any case, as in MXNet, so that
            a part of a network takes the whole network's parameters.
        """
        if self.params_initialized and not force_init:
            if arg_params is not None or aux_params is not None:
                warn_user(
                    "parameters are initialized already; without force_init=True the"
                    " given values are not used"
                )
            return
        self._need("init_params", "binded")
        if isinstance(initializer, str):
            initializer = create(initializer)
        elif initializer is not None and (
            not callable(initializer) or isinstance(initializer, type)
        ):
            raise ArgumentTypeError(
                f"init_params: initializer must be an Initializer, as mx.init.Xavier(), or the name"
                f" of one, got {shown(initializer)}"
            )
        for what, given in (("arg_params", arg_params), ("aux_params", aux_params)):
            if given is not None and not hasattr(given, "get"):
                raise ArgumentTypeError(
                    f"init_params: {what} must be a dict of name to NDArray, got"
                    f" {type(given).__name__}"
                )
        if initializer is None and not self.params_initialized:
            self._need_values_for(
                (*(arg_params or ()), *(aux_params or ())),
                "init_params: neither an initializer nor a value is given for",
            )
        self._make_host_arrays()
        attributes = self._symbol.attr_dict()
        for table, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name, array in sorted(table.items()):
                source = None if given is None else given.get(name)
                if source is not None:
                    _take(name, source, array)
                elif given is not None and not allow_missing:
                    raise ArgumentError(
                        f"init_params: parameter '{name}' is missing from the given values; "
                        f"allow_missing=True initialises it{self._renamed([name], given)}"
                    )
                elif initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), array)
        self._hold_fixed_values()
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params)

    def _make_host_arrays(self):
        if self._arg_params is None:
            self._arg_params = _host_arrays(self._exec_group.param_arrays, self._param_names)
            self._aux_params = _host_arrays(self._exec_group.aux_arrays, self._aux_names)

    def _lacking(self, given):
        """Parameters and states that are not among the names `given`."""
        given = set(given)
        return [name for name in (*self._param_names, *self._aux_names) if name not in given]

    def _warn_of_zeros(self, given):
        lacking = [name for name in self._lacking(given) if name not in self._fixed_values]
        if lacking:
            warn_user(
                f"set_params: {listed(lacking)} had no value before and is not among those given,"
                " so it is 0 now"
            )

    def _need_values_for(self, given, what):
        """Refuse parameters and states that are not among the names `given`: they would be 0."""
        lacking = self._lacking(given)
        if lacking:
            raise ArgumentError(
                f"{what} {listed(lacking)}; a parameter needs a first value, from an"
                f" initializer or from arg_params and aux_params{self._renamed(lacking, given)}"
            )

    def _renamed(self, lacking, given):
        """The end of a message where values that are given have the names of those that lack but
        for numbers: names that are made automatically go on counting in a second network."""
        known = {*self._param_names, *self._aux_names}
        strangers = {_NUMBERS.sub("", str(name)): name for name in given if name not in known}
        for name in lacking:
            if _NUMBERS.sub("", name) in strangers:
                return (
                    f". The values have '{strangers[_NUMBERS.sub('', name)]}' for '{name}': names "
                    "that nobody gives count on with each network; give operators a name= (layers a"
                    " prefix=) in both"
                )
        return f". The values have {listed(strangers.values())}" if strangers else ""

    def _hold_fixed_values(self):
        """Parameters that the computation does not read hold what they count as: a gamma that is
        fixed is 1 in every checkpoint."""
        for name, number in self._fixed_values.items():
            self._arg_params[name][:] = number

    def set_params(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters values.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_missing : bool
            Parameters that are not given keep their values: 0 where they have none yet, with a
            warning.
        force_init : bool
            False changes nothing where parameters are initialized.
        allow_extra : bool
            With `allow_missing`: let the dicts have names that are no parameters.
        """
        if not allow_missing:
            self.init_params(
                initializer=None,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=False,
                force_init=force_init,
                allow_extra=allow_extra,
            )
            return
        if self.params_initialized and not force_init:
            warn_user(
                "parameters are initialized already; without force_init=True the given"
                " values are not used"
            )
            return
        self._need("set_params", "binded")
        if not self.params_initialized:
            self._warn_of_zeros((*(arg_params or ()), *(aux_params or ())))
        self._make_host_arrays()
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True


def _host_arrays(blocks, names):
    return {
        name: nd.zeros(block[0].shape, ctx=cpu(), dtype=block[0].dtype)
        for name, block in zip(names, blocks)
    }


def _take(name, source, array):
    if source is array:
        return
    if not hasattr(source, "shape"):
        raise ArgumentTypeError(
            f"parameter '{name}': the given value must be an NDArray, got {type(source).__name__}"
        )
    if source.shape != array.shape:
        raise ShapeError(
            f"parameter '{name}' has shape {array.shape}, the given value has shape {source.shape}"
        )
    array[:] = source
