"""MXNet's NumPy operators as nodes of graphs: calls of functions of ``mx.np``, by name.

MXNet's files name operators (``_npi_tensordot``) that are functions of ``mx.np`` here. A node of
such a name keeps MXNet's parameters. What it computes is written out in other operators when the
shapes of its inputs are known (``graph/decompose.py``), by calling the function; no operator is
registered for it.
"""

import ast
from functools import cache
from importlib import import_module

from ...base.dtype import name_of
from ...base.errors import ArgumentError, ArgumentTypeError
from .._base import OPERATORS, OpEntry, get_operator
from ..checks.shapes import known_shape, plain_shape
from ..functions.numpy_rows import NPX_UNARIES, UNARIES
from ..property import OperatorProperty, is_known
from .named_rows import IGNORED_PARAMS, ROWS
from .promotion import DEFAULT_FLOAT, FLOATS, promote_dtypes

_CONSTANTS = {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}  # text -> float
_UNARIES = {f"_npi_{name}": operator for name, (operator, _) in UNARIES.items()}  # name -> operator
_UNARIES |= {f"_npx_{name}": operator for name, (operator, _) in NPX_UNARIES.items()}
_OPERATOR_PREFIXES = ("_contrib_", "_linalg_", "_")  # of names in mx.nd
# Shapes of inputs to infer dtypes with: dtypes hardly depend on shapes.
_TRIAL_SHAPES = ((2, 3), (3,), (2, 2), (), (2, 3, 4))  # of inputs, to infer dtypes


def _trial_dtypes(count):
    """Yield dtypes of inputs to infer shapes with: a shape does not depend on them, but a function
    may accept ints or bools only."""
    kinds = (DEFAULT_FLOAT, "int64", "bool", "uint8")
    yield from ([kind] * count for kind in kinds)
    if count > 1:
        yield from ([kind] + [DEFAULT_FLOAT] * (count - 1) for kind in kinds[1:])
        yield from ([DEFAULT_FLOAT] * (count - 1) + [kind] for kind in kinds[1:])


def parse_value(text):
    """Return the value of a parameter that was written as text.

    >>> parse_value("(1, None)"), parse_value("inf"), parse_value("linear")
    ((1, None), inf, 'linear')
    """
    if not isinstance(text, str):
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def find_operator(name):
    """The entry of a registered operator, or of a function of ``mx.np`` by MXNet's name for it.

    Raises
    ------
    NotFoundError
    """
    if name in ROWS:  # ROWS precede operators that accept fewer dtypes
        return _make_op_entry(name)
    if name in OPERATORS:
        return get_operator(name)
    return get_operator(_UNARIES.get(name) or _legacy_operator(name) or name)


@cache
def _legacy_operator(name):
    """Return the operator of the same name in mx.nd's spelling, or None.

    >>> _legacy_operator("_npx_fully_connected"), _legacy_operator("_npx__image_crop")
    ('FullyConnected', '_image_crop')
    """
    if not name.startswith(("_npi_", "_npx_")):
        return None
    word = name[5:]
    if word in OPERATORS:
        return word
    plain_word = word.replace("_", "")
    for each in OPERATORS:
        for family in _OPERATOR_PREFIXES:
            if each.removeprefix(family).replace("_", "").lower() == plain_word:
                return each
    return None


def supported_params(entry, params):
    """Return those parameters of a node that the operator has; MXNet's NumPy functions write more
    into files, which have no meaning here."""
    if not entry.name.startswith("_np") and entry.name != "slice":
        return params
    fields = entry.prop.fields
    return {
        key: text
        for key, text in params.items()
        if entry.prop.any_parameters
        or (key in fields and not (text == "None" and key == "step"))
        or key not in (*IGNORED_PARAMS, "step")
    }


@cache
def _make_op_entry(name):
    made = {"op_name": name, "row": ROWS[name], "__module__": __name__, "__doc__": ROWS[name].doc}
    return OpEntry(name, type(name, (NumpyFunction,), made), (), ROWS[name].doc)


def function_of_path(path):
    """Return the function with a path such as ``np.linalg.inv`` or ``npx.topk``."""
    first, *rest = path.split(".")
    packages = {"np": "numpy", "npx": "numpy_extension"}
    found = import_module(f"{__name__.partition('.')[0]}.{packages[first]}")
    for part in rest:
        found = getattr(found, part)
    return found


class NumpyFunction(OperatorProperty):  # operator that calls a function of mx.np
    """Base of operators that call a function of ``mx.np``.

    row (Row): Its function, and the names of its parameters there.
    """

    row = None
    any_parameters = True
    decomposed = True
    n_inputs = None  # None: any number of inputs

    def __init__(self, **given):
        super().__init__()
        self.given = {key: parse_value(text) for key, text in given.items()}
        self._met = None  # input shapes of the last inference
        self._found = {}  # shapes and dtypes of inputs -> shapes and dtypes of outputs

    @classmethod
    def accepted_params(cls, params):
        """Accept all parameters: the function itself reports a wrong one. The texts of a file are
        checked by the operator of this name, if one is registered."""
        if cls.op_name in OPERATORS and all(isinstance(each, str) for each in params.values()):
            checked = get_operator(cls.op_name).prop
            checked(**checked.accepted_params(params))
        return params

    def params(self):
        return dict(self.given)

    def list_arguments(self):
        count = self.given.get("num_args", self.n_inputs)
        return [
            f"arg{i}" for i in range(self.row.input_count(self.given) if count is None else count)
        ]

    def list_outputs(self):
        count = self.row.output_count(self.given)
        return ["output"] if count == 1 else [f"output{i}" for i in range(count)]

    def call(self, inputs):
        """Call the function; return its outputs as a list."""
        found = self.row.call_function(function_of_path, inputs, self.given)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(found) != len(self.list_outputs()):
            raise ArgumentError(
                f"operator {self.op_name} in a graph: {len(found)} outputs, expected "
                f"{self.list_outputs()}"
            )
        return found

    def infer_outputs(self, shapes, types):
        """Return shapes and dtypes of the outputs for inputs of these shapes and dtypes."""
        key = *shapes, *types
        if key not in self._found:
            written = load_tracer()(self, shapes, types)
            self._found[key] = written.shapes, written.types
        return self._found[key]

    def infer_shape(self, in_shapes, out_shapes):
        if not all(map(is_known, in_shapes)):
            return in_shapes, out_shapes, []
        shapes, refused = [plain_shape(shape) for shape in in_shapes], None
        for types in _trial_dtypes(len(shapes)):
            try:
                found = self.infer_outputs(shapes, types)[0]
            except ArgumentTypeError as error:
                refused = refused or error
                continue
            self._met = shapes
            return in_shapes, [known_shape(shape) for shape in found], []
        raise refused

    def infer_type(self, in_types, out_types):
        if self._met and None not in in_types:
            return in_types, self.infer_outputs(self._met, in_types)[1], []
        if None not in in_types:
            for shape in _TRIAL_SHAPES:
                try:
                    return in_types, self.infer_outputs([shape] * len(in_types), in_types)[1], []
                except Exception:  # the function does not accept this shape
                    continue
        return in_types, self._known_out_types(in_types, out_types), []

    def _known_out_types(self, in_types, out_types):
        """Return the dtypes of outputs that follow without known shapes."""
        requested, kind, count = self.given.get("dtype"), self.row.kind, len(out_types)
        if requested is not None and kind != "bool":
            return [name_of(requested)] * count
        if kind in ("bool", "int64", "float32"):
            return [kind] * count
        read = {"first": in_types[:1], "second": in_types[1:], "number": in_types[1:]}
        read = read.get(kind, in_types)
        if not read or None in read or kind == "call":
            return out_types
        common = read[0]
        for each in read[1:]:
            common = promote_dtypes(common, each)
        if kind in ("float", "number") and common not in FLOATS:
            common = DEFAULT_FLOAT
        if kind == "sum" and common not in FLOATS:
            common = "int64"
        return [common] * count

    def create_operator(self, ctx, in_shapes, in_types):
        raise ArgumentError(
            f"operator {self.op_name} is a function of mx.np: it runs in a graph that was bound"
        )


@cache
def load_tracer():
    """Return the function of ``gluon/block`` that traces a call with symbols of known shapes."""
    from ...gluon.block.decomposition import decompose_call

    return decompose_call
