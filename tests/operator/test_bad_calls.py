"""Wrong calls of every operator, made from its cases: each error names the operator, the parameter
or input, and what was wrong with it.

What an operator takes although a neighbour would not (another dtype, one more axis) is right, too;
only an error that does not say so is a fault. Random calls: tests/fuzz/test_calls.py.
"""

import json
import re
import warnings

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from cynet.ndarray.functions import function_of
from cynet.operator import OPERATORS, parameters
from cynet.symbol.register import function_of as symbol_function
from tests.operator.cases import all_cases
from tests.walks import each

BAD = {"wrong": 1}  # no parameter takes a dict
DTYPES = ("int8", "float16", "bool")
FAR = 97  # no array has that many axes


def first_cases():
    """A case of each operator, the one with the most parameters."""
    found = {}
    for case in all_cases():
        name = OPERATORS.get(case.op).name
        if name not in found or len(case.params) > len(found[name].params):
            found[name] = case
    return [found[name] for name in sorted(found)]


each_operator = each(first_cases(), lambda case: case.op)


class Wrong:
    """Calls of one operator, of which all must name it."""

    def __init__(self, case):
        self.case, self.entry, self.params = case, OPERATORS.get(case.op), dict(case.params)
        rng = np.random.default_rng(case.seed)
        dtype = case.dtypes[0]
        self.arrays = [each.make(rng, dtype) for each in (*case.inputs, *case.aux)]
        self.names = [case.op, self.entry.name, *self.entry.aliases]
        self.names += [name.removeprefix("_contrib_") for name in self.names]

    def run(self, arrays=None, **params):
        """The text of the error, or None."""
        arrays = self.arrays if arrays is None else arrays
        function = function_of(self.case.op)
        given = [mx.nd.array(a, dtype=a.dtype) for a in arrays]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = function(*given, **{**self.params, **params})
                for each in made if isinstance(made, list) else [made]:
                    each.asnumpy()
            except CynetError as error:
                return str(error)
        return None

    def infer(self, shapes):
        """The text of the error that inference in a graph raises, or None."""
        names = [f"in{i}" for i in range(len(shapes))]
        node = symbol_function(self.case.op, self.entry)(
            *map(mx.sym.var, names), name="a_node", **self.params
        )
        try:
            node.infer_shape(**dict(zip(names, shapes)))
        except CynetError as error:
            return str(error)
        return None

    def check(self, text, *words):
        assert any(name in text for name in self.names), f"names no operator: {text}"
        for word in words:
            assert re.search(word, text), f"{word!r} is not in: {text}"
        assert len(text) < 2000


def out_of_bounds(field):
    """Values that a field refuses by its bounds or its list."""
    if isinstance(field, parameters.Enum):
        yield "no_such_choice"
    low, high = getattr(field, "low", None), getattr(field, "high", None)
    if low is not None and np.isfinite(low):
        yield type(low)(low - 1)
    if high is not None and np.isfinite(high) and high < 2**60:
        yield type(high)(high + 1)


@each_operator
def test_parameters(case):
    """A value of a wrong type, beyond the bounds, and a name that is none."""
    wrong = Wrong(case)
    for name, field in wrong.entry.prop.fields.items():
        for value in (BAD, *out_of_bounds(field)):
            text = wrong.run(**{name: value})
            assert text is not None, f"{name}={value!r} is taken"
            wrong.check(text, name, "wrong" if value is BAD else re.escape(str(value)))
    if wrong.entry.prop.fields and not wrong.entry.prop.any_parameters:
        wrong.check(wrong.run(no_such_parameter=1), "no_such_parameter")


@each_operator
def test_parameters_in_files(case):
    """The same of a symbol's JSON, where values are texts: the error names the node."""
    wrong = Wrong(case)
    count = len(wrong.arrays)
    nodes = [{"op": "null", "name": f"v{i}", "inputs": []} for i in range(count)]
    inputs = [[i, 0, 0] for i in range(count)]
    for name, field in wrong.entry.prop.fields.items():
        if type(field) is parameters.Str:
            continue
        for value in map(str, (BAD, *out_of_bounds(field))):
            attrs = {k: str(v) for k, v in {**case.params, name: value}.items()}
            node = {"op": case.op, "name": "a_node", "attrs": attrs, "inputs": inputs}
            text = json.dumps({"nodes": [*nodes, node], "heads": [[count, 0, 0]]})
            with pytest.raises(CynetError, match="symbol JSON: node") as error:
                mx.sym.load_json(text)
            wrong.check(str(error.value), "a_node", name, re.escape(value))


@each_operator
def test_missing_parameters(case):
    wrong = Wrong(case)
    for name, field in wrong.entry.prop.fields.items():
        counted = name == wrong.entry.prop.key_var_num_args  # which the call fills in
        if field.default is parameters.REQUIRED and name in wrong.params and not counted:
            wrong.params.pop(name)
            wrong.check(wrong.run(), name)
            wrong.params = dict(case.params)


@each_operator
def test_axes(case):
    """An axis that no array has."""
    wrong = Wrong(case)
    for name, field in wrong.entry.prop.fields.items():
        if re.fullmatch("axis|axes|dim|dim1|dim2", name):
            value = (FAR,) if isinstance(field, parameters.Shape) else FAR
            for each in (value, -value if value is FAR else (-FAR,)):
                text = wrong.run(**{name: each})
                if text is not None:
                    wrong.check(text, str(FAR))


@each_operator
def test_number_of_inputs(case):
    wrong = Wrong(case)
    for arrays in (wrong.arrays[:-1], [*wrong.arrays, *[np.ones((2, 3), "float32")] * 9]):
        text = wrong.run(arrays)
        if text is not None:
            wrong.check(text)


@each_operator
def test_shapes_and_dtypes(case):
    """Each input alone with an axis more, with a longer axis, and of other dtypes."""
    wrong = Wrong(case)
    for i, array in enumerate(wrong.arrays):
        longer = np.concatenate([array, array[..., :1]], -1) if array.size else array
        deeper = np.tile(array[None], (7,) + (1,) * array.ndim)
        others = [(other, re.escape(str(other.shape))) for other in (deeper, longer)]
        with np.errstate(invalid="ignore"):
            others += [(array.astype(t), t) for t in DTYPES if t != array.dtype]
        for other, word in others:
            text = wrong.run([*wrong.arrays[:i], other, *wrong.arrays[i + 1 :]])
            if text is not None:
                wrong.check(text, word)


@each_operator
def test_shapes_in_graphs(case):
    """The same shapes, of which inference says the node."""
    wrong = Wrong(case)
    shapes = [array.shape for array in wrong.arrays]
    for i, shape in enumerate(shapes):
        for other in ((7, *shape), (*shape[:-1], shape[-1] + 1)):
            text = wrong.infer([*shapes[:i], other, *shapes[i + 1 :]])
            if text is not None:
                wrong.check(text, "a_node", re.escape(str(other)))
