"""CustomOp: operators written in Python with NDArrays, used as ``Custom(..., op_type='name')``.

>>> from cynet import operator
>>> class Double(operator.CustomOp):
...     def forward(self, is_train, req, in_data, out_data, aux):
...         self.assign(out_data[0], req[0], in_data[0] * 2)
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         self.assign(in_grad[0], req[0], out_grad[0] * 2)
>>> @operator.register("doctest_double")
... class DoubleProp(operator.CustomOpProp):
...     def create_operator(self, ctx, shapes, dtypes):
...         return Double()
"""

import inspect

import numpy as np

from ..dtype import dtype_flag, numpy_dtype
from ..errors import ArgumentError, ArgumentTypeError, CynetError, dress
from ..registry import Registry
from ._base import OPERATORS, Operator, register_operator
from ._lend import lend, take_back
from .parameters import Str
from .property import OperatorProperty, is_known

CUSTOM = Registry("custom operator")
REQUESTS = ("null", "write", "inplace", "add")


class CustomOp:
    """Base of operators written in Python; see `CustomOpProp` for how one is made and used."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
        req : list of str
            ``'null'``, ``'write'``, ``'inplace'`` or ``'add'`` for each output; `assign` obeys it.
        in_data, out_data, aux : list of NDArray
            Ready to be read; valid during the call.
        """
        raise CynetError(f"{type(self).__name__} defines no forward")

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Compute the gradients of the inputs from those of the outputs.

        `req` has a word for each of `in_grad`.
        """
        raise CynetError(f"{type(self).__name__} defines no backward")

    def assign(self, dst, req, src):
        """Write `src` to the NDArray `dst` as the word `req` says."""
        if req == "null":
            return
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        else:
            raise ArgumentError(f"assign: req is {req!r}; expected one of {', '.join(REQUESTS)}")


class CustomOpProp:
    """What a CustomOp means: names, shapes, types. Register a subclass with `register`.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the outputs' gradients (False for a loss).

    Notes
    -----
    Keyword parameters given to ``Custom(...)`` arrive in ``__init__`` as strings.
    """

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape):
        """Shapes from those of the inputs (lists of int; an unknown one is empty).

        Returns
        -------
        (in_shapes, out_shapes) or (in_shapes, out_shapes, aux_shapes)
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type):
        """NumPy types of inputs, outputs and auxiliary states from the inputs'."""
        return (
            [in_type[0]] * len(self.list_arguments()),
            [in_type[0]] * len(self.list_outputs()),
            [in_type[0]] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type(self, in_stype):
        """Storage types; cynet's arrays are all ``'default'``."""
        return (
            in_stype,
            ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self):
        """Names of the auxiliary states."""
        return []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Which arrays backward reads: ids drawn from the lists given."""
        top = list(out_grad) if self.need_top_grad_ else []
        return [*top, *in_data, *out_data]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """A CustomOp for these shapes and types on the Context `ctx`."""
        raise CynetError(f"{type(self).__name__} defines no create_operator")


def register(reg_name):
    """A class decorator: makes an operator of the class.

    A `CustomOpProp` becomes usable as ``mx.sym.Custom(..., op_type=reg_name)`` and
    ``mx.nd.Custom``; an `OperatorProperty` becomes the operator ``mx.sym.<reg_name>`` and
    ``mx.nd.<reg_name>``.

    Raises
    ------
    ArgumentError
        When an operator of that name exists already, or the class is neither.
    """
    if not isinstance(reg_name, str) or not reg_name:
        raise ArgumentTypeError(f"register takes the operator's name, a str; got {reg_name!r}")

    def decorate(cls):
        if inspect.isclass(cls) and issubclass(cls, CustomOpProp):
            return CUSTOM.register(reg_name, cls, override=True)
        if inspect.isclass(cls) and issubclass(cls, OperatorProperty):
            check_definition(reg_name, cls)
            cls.pure = vars(cls).get("pure", False)
            register_operator(reg_name, cls)
            return cls
        raise ArgumentTypeError(
            f"register('{reg_name}'): {cls!r} is neither a CustomOpProp nor an OperatorProperty"
        )

    return decorate


def check_definition(name, cls):
    """Refuse what is wrong with an OperatorProperty subclass before it is registered.

    What can be asked with every parameter at its default is asked: names that stand twice,
    dependencies and in-place pairs on arrays that do not exist.
    """
    if name in OPERATORS:
        raise ArgumentError(f"operator name '{name}' is already taken by {OPERATORS.get(name)!r}")
    probe = cls.__new__(cls)
    probe.op_name = name
    try:
        names = [*probe.list_arguments(), *probe.list_auxiliary_states()]
        outputs = list(probe.list_outputs())
        n_in, n_out = len(probe.list_arguments()), len(outputs)
    except Exception:  # the names depend on required parameters: checked when a node is made
        return
    for kind, listed in (("input", names), ("output", outputs)):
        twice = [n for n in listed if listed.count(n) > 1]
        if twice:
            raise ArgumentError(
                f"operator '{name}': {kind} name '{twice[0]}' stands twice in {listed}"
            )
    ids = list(range(2 * n_out + 2 * n_in))
    out_grad, in_data = ids[:n_out], ids[n_out : n_out + n_in]
    out_data, in_grad = ids[n_out + n_in : 2 * n_out + n_in], ids[2 * n_out + n_in :]
    try:
        needed = list(probe.declare_backward_dependency(out_grad, in_data, out_data))
        forward = [tuple(p) for p in probe.forward_inplace_option(in_data, out_data)]
        backward = [
            tuple(p) for p in probe.backward_inplace_option(out_grad, in_data, out_data, in_grad)
        ]
    except AttributeError:
        return
    unknown = [i for i in needed if i not in ids[: 2 * n_out + n_in]]
    if unknown:
        raise ArgumentError(
            f"operator '{name}': declare_backward_dependency names {unknown[0]!r}, which is none "
            f"of out_grad {out_grad}, in_data {in_data} or out_data {out_data}"
        )
    for method, pairs, sources, targets in (
        ("forward_inplace_option", forward, in_data, out_data),
        ("backward_inplace_option", backward, needed, in_grad),
    ):
        for pair in pairs:
            if len(pair) != 2 or pair[0] not in sources or pair[1] not in targets:
                raise ArgumentError(
                    f"operator '{name}': {method} returned {pair}; a pair is one of "
                    f"{sources} with one of {targets}"
                )


def get_all_registered_operators():
    """Names of all operators, custom ones included."""
    return sorted({*OPERATORS, *CUSTOM})


# --- the operator `Custom` -----------------------------------------------------------------------


class CustomProperty(OperatorProperty):
    """Apply an operator registered with ``mx.operator.register``.

    Inputs, outputs and parameters are those of the CustomOpProp registered as `op_type`.
    """

    any_parameters = True
    pure = False
    op_type = Str(doc="Name the CustomOpProp was registered under.")

    def __init__(self, op_type=None, **kwargs):
        super().__init__(**({} if op_type is None else {"op_type": op_type}))
        self.kwargs = {k: str(v) for k, v in kwargs.items()}
        cls = CUSTOM.get(op_type)
        try:
            self.custom = cls(**self.kwargs)
        except Exception as error:
            raise dress(
                error,
                f"custom operator '{op_type}': {cls.__name__}(**{self.kwargs}) raised "
                f"{type(error).__name__}: {error}",
            ) from error
        self.arguments = self._names("list_arguments")
        self.outputs = self._names("list_outputs")
        self.states = self._names("list_auxiliary_states")

    def params(self):
        return {"op_type": self.op_type, **self.kwargs}

    def _call(self, method, *args):
        """Call a method of the user's property; what it raises says which one it was."""
        try:
            return getattr(self.custom, method)(*args)
        except Exception as error:
            raise dress(
                error,
                f"custom operator '{self.op_type}': {method} raised "
                f"{type(error).__name__}: {error}",
            ) from error

    def _refuse(self, method, found, expected):
        raise ArgumentError(
            f"custom operator '{self.op_type}': {method} returned {found!r}; expected {expected}"
        )

    def _names(self, method):
        names = self._call(method)
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            self._refuse(method, names, "a list of str")
        if len(set(names)) < len(names):
            self._refuse(method, names, "names that differ")
        if not names and method == "list_outputs":
            self._refuse(method, names, "at least one name")
        return list(names)

    def list_arguments(self):
        return list(self.arguments)

    def list_outputs(self):
        return list(self.outputs)

    def list_auxiliary_states(self):
        return list(self.states)

    def infer_shape(self, in_shapes, out_shapes):
        n_in, n_out, n_aux = len(self.arguments), len(self.outputs), len(self.states)
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, [None] * n_aux
        found = self._call("infer_shape", [[] if s is None else list(s) for s in in_shapes])
        return self._lists("infer_shape", found, (n_in, n_out, n_aux), self._shape)

    def _shape(self, shape):
        if shape is None:
            return None
        try:
            out = tuple(n.__index__() if not isinstance(n, float) else int(n) for n in shape)
        except (TypeError, AttributeError):
            out = (-1,)
        if any(n < 0 for n in out):
            self._refuse("infer_shape", shape, "shapes: tuples of int >= 0")
        return out or None

    def infer_type(self, in_types, out_types):
        n_in, n_out, n_aux = len(self.arguments), len(self.outputs), len(self.states)
        if in_types and in_types[0] is None:
            return in_types, out_types, [None] * n_aux
        given = [None if t is None else np.dtype(t).type for t in in_types]
        found = self._call("infer_type", given)
        return self._lists("infer_type", found, (n_in, n_out, n_aux), self._type)

    def _type(self, dtype):
        if dtype is None:
            return None
        try:
            return str(numpy_dtype(dtype_flag(dtype)))
        except TypeError:
            return self._refuse("infer_type", dtype, "NumPy types")

    def _lists(self, method, found, lengths, convert):
        """Check the two or three lists that an inference returned."""
        words = "(inputs, outputs) or (inputs, outputs, auxiliary states), lists of lengths " + str(
            lengths
        )
        if not isinstance(found, (list, tuple)) or len(found) not in (2, 3):
            self._refuse(method, found, words)
        found = [*found, []] if len(found) == 2 else list(found)
        for given, length in zip(found, lengths):
            if not isinstance(given, (list, tuple)) or len(given) != length:
                self._refuse(method, tuple(found), words)
        return tuple([convert(each) for each in given] for given in found)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        found = self._call(
            "declare_backward_dependency", list(out_grad), list(in_data), list(out_data)
        )
        known = {*out_grad, *in_data, *out_data}
        if not isinstance(found, (list, tuple)) or not set(found) <= known:
            self._refuse("declare_backward_dependency", found, f"ids out of {sorted(known)}")
        return list(found)

    def create_operator(self, ctx, in_shapes, in_types):
        types = [np.dtype(t).type for t in in_types]
        op = self._call("create_operator", ctx, [list(s) for s in in_shapes], types)
        if not isinstance(op, CustomOp):
            self._refuse("create_operator", op, "a CustomOp")
        return CustomOperator(self, op)


class CustomOperator(Operator):
    """Runs a CustomOp: lends it the tensors as NDArrays."""

    def __init__(self, prop, op):
        self.prop = prop
        self.op = op

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        data, out, aux = lend(in_data, owner), lend(out_data, owner), lend(aux_states, owner)
        try:
            self.op.forward(
                is_train=ctx.is_train,
                req=[REQUESTS[r] for r in req],
                in_data=data,
                out_data=out,
                aux=aux,
            )
        finally:
            take_back(data, out, aux)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        lists = [lend(each, owner) for each in (out_grad, in_data, out_data, in_grad, aux_states)]
        try:
            self.op.backward(
                req=[REQUESTS[r] for r in req],
                out_grad=lists[0],
                in_data=lists[1],
                out_data=lists[2],
                in_grad=lists[3],
                aux=lists[4],
            )
        finally:
            take_back(*lists)


register_operator("Custom", CustomProperty)
