"""Operators that users define with OperatorProperty: checked when they are registered, and guarded
afterwards.

The graph passes trust what a property says. What a user's property says goes through a subclass of
it, made here, that refuses answers which do not fit.
"""

import atexit
import contextlib
import math

from ...base.dtype import FLAGS, name_of
from ...base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from .._base import OPERATORS, Operator, register_operator
from ..parameters import MissingParameter
from ..property import OperatorProperty, ResourceRequest, is_known
from .callback_checks import TRIAL_SHAPES, CallbackChecker, callback_of


@atexit.register
def release_operators():
    """Delete users' operators with their modules: references from here would keep them, and
    everything their modules hold (a sub-interpreter, a file), alive after Python's end."""
    for name, entry in [*OPERATORS.loaded_items()]:
        if entry.prop.users:
            OPERATORS.remove(name)


def register_property(name, cls):
    """Register a user's OperatorProperty subclass as operator `name`.

    Under a name that a user registered before, nodes made from now on are of the new class.

    Raises ArgumentError: the name of a built-in operator, names that appear twice, dependencies and
    in-place pairs on arrays that do not exist, in-place pairs of different sizes; as far as it can
    be asked with every parameter at its default. The rest is refused when a node is made.
    """
    refuse_builtin(name)
    body = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "check": CallbackChecker(f"operator '{name}'"),
        "op_name": name,
        "dtypes": None
        if cls.dtypes is None
        else parse_dtype_names(f"operator '{name}'", cls.dtypes),
        "pure": _declared_value(cls, "pure"),
        "honours_req": _declared_value(cls, "honours_req"),
    }
    guarded = type(cls.__name__, (GuardedProperty, cls), body)
    _check_definition(guarded)
    OPERATORS.remove(name)
    register_operator(name, guarded)


def refuse_builtin(name):
    """Raise ArgumentError if a built-in operator is called `name`."""
    if name in OPERATORS and not OPERATORS.get(name).prop.users:
        raise ArgumentError(
            f"operator name {shown(name)} is already taken by {shown(OPERATORS.get(name))}, which "
            "is built in; choose another name"
        )


def parse_dtype_names(where, dtypes):
    """Return the names of the dtypes that a definition declares, or raise ArgumentTypeError."""
    try:
        names = () if isinstance(dtypes, str) else tuple(name_of(each) for each in dtypes)
    except Exception:  # NumPy accepts much as a dtype, and raises exceptions of many classes
        names = ()
    if not names:
        raise ArgumentTypeError(
            f"{where}: dtypes must be a tuple of {', '.join(FLAGS)}, got {shown(dtypes)}"
        )
    return names


def _declared_value(cls, name):
    """Return the value of an attribute in the user's classes, False by default."""
    return next((vars(c)[name] for c in _user_classes(cls) if name in vars(c)), False)


def _user_classes(cls):
    """Return the classes among the bases that users have defined."""
    return [c for c in cls.__mro__ if c not in OperatorProperty.__mro__]


class GuardedProperty(OperatorProperty):  # checks a user's property
    """Wraps a user's property: checks the results of its methods."""

    check = None  # the CallbackChecker
    any_device = True
    users = True

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self._cached_names = {}  # lists of names, cached: an executor needs them at every run
        return self

    def __init__(self, **kwargs):
        try:
            super().__init__(**kwargs)
        except CynetError:
            raise
        except Exception as error:
            raise self.check.callback_error(callback_of(super(), "__init__"), error) from error
        self._cached_names.clear()  # delete results from before all parameters were set

    def list_arguments(self):
        if "arguments" not in self._cached_names:
            method = callback_of(super(), "list_arguments")
            self._cached_names["arguments"] = self.check.parse_names(method)
        return self._cached_names["arguments"].copy()

    def list_outputs(self):
        if "outputs" not in self._cached_names:
            method = callback_of(super(), "list_outputs")
            self._cached_names["outputs"] = self.check.parse_names(method, least=1)
        return self._cached_names["outputs"].copy()

    def list_auxiliary_states(self):
        if "states" not in self._cached_names:
            method = callback_of(super(), "list_auxiliary_states")
            self._cached_names["states"] = self.check.parse_names(method)
        return self._cached_names["states"].copy()

    def num_visible_outputs(self):
        method = callback_of(super(), "num_visible_outputs")
        found, n_out = self.check.call(method), len(self.list_outputs())
        if not isinstance(found, int) or not 1 <= found <= n_out:
            self.check.refuse_result(
                method, found, f"an int from 1 to the number of outputs, {n_out}"
            )
        return found

    def _count_arrays(self):
        return (
            len(self.list_arguments()),
            len(self.list_outputs()),
            len(self.list_auxiliary_states()),
        )

    def infer_shape(self, in_shapes, out_shapes):
        method = callback_of(super(), "infer_shape")
        found = self.check.call(method, list(in_shapes), list(out_shapes))
        # without inputs, consumers of the output give its shape
        lengths, given = self._count_arrays(), in_shapes or [None]
        return self.check.parse_shapes(method, found, lengths, given, may_lack_states=False)

    def infer_type(self, in_types, out_types):
        method = callback_of(super(), "infer_type")
        found = self.check.call(method, list(in_types), list(out_types))
        lengths, complete = self._count_arrays(), bool(in_types) and None not in in_types
        return self.check.parse_types(method, found, lengths, complete, may_lack_states=False)

    def forward_resource(self, in_shapes):
        return self._requested_resources(callback_of(super(), "forward_resource"), in_shapes)

    def backward_resource(self, in_shapes):
        return self._requested_resources(callback_of(super(), "backward_resource"), in_shapes)

    def _requested_resources(self, method, in_shapes):
        found = self.check.call(method, list(in_shapes))
        members = (ResourceRequest.random, ResourceRequest.temp_space)
        if not isinstance(found, (list, tuple)) or not all(
            isinstance(each, int) and each in members for each in found
        ):
            self.check.refuse_result(
                method, found, "a list of ResourceRequest.temp_space and ResourceRequest.random"
            )
        return list(found)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return self.check.parse_array_ids(
            callback_of(super(), "declare_backward_dependency"), out_grad, in_data, out_data
        )

    def forward_inplace_option(self, in_data, out_data):
        method = callback_of(super(), "forward_inplace_option")
        return self.check.parse_inplace_pairs(method, (in_data, out_data), in_data, out_data)

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        needed = self.declare_backward_dependency(out_grad, in_data, out_data)
        groups = (out_grad, in_data, out_data, in_grad)
        return self.check.parse_inplace_pairs(
            callback_of(super(), "backward_inplace_option"), groups, needed, in_grad
        )

    def create_operator(self, ctx, in_shapes, in_types):
        method = callback_of(super(), "create_operator")
        found = self.check.call(method, ctx, list(in_shapes), list(in_types))
        if not isinstance(found, Operator):
            self.check.refuse_result(method, found, "an Operator")
        return found


def _check_definition(cls):
    probe = cls.with_defaults()
    for names in ("list_arguments", "list_outputs", "list_auxiliary_states"):
        try:
            getattr(probe, names)()
        except MissingParameter as error:
            if cls.any_parameters or cls.key_var_num_args is not None:
                return
            name = next(k for k, f in cls.fields.items() if f"'{k}'" in str(error))
            raise ArgumentError(
                f"{probe.check.where}: {names} reads the required parameter '{name}'; give that a "
                "default, or say any_parameters = True in the class"
            ) from error
    # results that depend on a parameter are checked for each node
    with contextlib.suppress(MissingParameter):
        _check_probe_results(probe)


def _check_probe_results(probe):
    names = [*probe.list_arguments(), *probe.list_auxiliary_states()]
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise ArgumentError(
            f"{probe.check.where}: '{twice[0]}' appears twice in the inputs and states {names}"
        )
    probe.num_visible_outputs()
    n_in, n_out = len(probe.list_arguments()), len(probe.list_outputs())
    ids = list(range(2 * n_out + 2 * n_in))
    out_grad, in_data = ids[:n_out], ids[n_out : n_out + n_in]
    out_data, in_grad = ids[n_out + n_in : 2 * n_out + n_in], ids[2 * n_out + n_in :]
    forward = probe.forward_inplace_option(in_data, out_data)
    backward = probe.backward_inplace_option(out_grad, in_data, out_data, in_grad)
    if forward or backward:
        lists = {"out_grad": n_out, "in_data": n_in, "out_data": n_out, "in_grad": n_in}
        words = [f"{name}[{i}]" for name, n in lists.items() for i in range(n)]
        _check_shared_sizes(probe, "forward_inplace_option", forward, words)
        _check_shared_sizes(probe, "backward_inplace_option", backward, words)


def _check_shared_sizes(probe, method, pairs, words):
    """Refuse pairs that share memory but have different sizes for all shapes of the inputs."""
    found = list(_example_shapes(probe))
    for a, b in pairs:
        wrong = [
            s
            for s in found
            if math.prod(_shape_of_array(a, *s)) != math.prod(_shape_of_array(b, *s))
        ]
        if found and len(wrong) == len(found):
            raise ArgumentError(
                f"{probe.check.where}: {method} lets {words[a]} and {words[b]} share memory, but "
                f"they have different sizes: with inputs {wrong[0][0]} the shapes are "
                f"{_shape_of_array(a, *wrong[0])} and {_shape_of_array(b, *wrong[0])}"
            )


def _shape_of_array(number, ins, outs):
    """Return the shape of array `number` in the order out_grad, in_data, out_data, in_grad."""
    return [*outs, *ins, *outs, *ins][number]


def _example_shapes(probe):
    """Return (shapes of inputs, shapes of outputs) for trial inputs that the operator accepts."""
    n_in, n_out, _ = probe._count_arrays()
    for shape in TRIAL_SHAPES:
        for given in ([shape] + [None] * (n_in - 1), [shape] * n_in):
            try:
                ins, outs, _ = probe.infer_shape(given[:n_in], [None] * n_out)
            except Exception:  # the user's infer_shape refuses inputs of this shape
                continue
            if all(map(is_known, [*ins, *outs])):
                yield ins, outs
                break
