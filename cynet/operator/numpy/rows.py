"""The operators of NumPy's elementwise functions: a name and the kind of result for each function
of ``mx.nd``, whose functors they are."""

from .._base import get_operator, register_operator
from ..faces import BINARY
from ..second_order import Rewritten
from ..tensor.binary_table import GRADIENTS
from .elementwise import NumpyBinary, NumpyScalar, NumpyUnary
from .promotion import BOOL, FLOAT, FLOATS, SAME

# NumPy's name, that of mx.nd, what it gives.
BINARIES = (
    ("add", "add", SAME),
    ("subtract", "subtract", SAME),
    ("multiply", "multiply", SAME),
    ("true_divide", "divide", FLOAT),
    ("mod", "modulo", SAME),
    ("power", "power", SAME),
    ("maximum", "maximum", SAME),
    ("minimum", "minimum", SAME),
    ("hypot", "hypot", FLOAT),
    ("equal", "equal", BOOL),
    ("not_equal", "not_equal", BOOL),
    ("greater", "greater", BOOL),
    ("greater_equal", "greater_equal", BOOL),
    ("less", "lesser", BOOL),
    ("less_equal", "lesser_equal", BOOL),
    ("logical_and", "logical_and", BOOL),
    ("logical_or", "logical_or", BOOL),
    ("logical_xor", "logical_xor", BOOL),
)
# Functions whose number may be on either side without another operator for it.
_EITHER_SIDE = ("add", "multiply", "maximum", "minimum", "hypot")
_TURNED = {"greater": "less", "greater_equal": "less_equal"}
_TURNED |= {b: a for a, b in _TURNED.items()}

# NumPy's name, the operator of mx.nd, what it gives; where that is the input's dtype the operator
# of mx.nd itself serves.
UNARIES = (
    *((n, n, SAME) for n in ("negative", "sign", "square", "ceil", "floor", "trunc", "fix")),
    ("absolute", "abs", SAME),
    ("logical_not", "logical_not", BOOL),
    *((n, n, FLOAT) for n in ("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "cbrt")),
    *((n, n, FLOAT) for n in ("reciprocal", "sin", "cos", "tan", "arcsin", "arccos", "arctan")),
    *((n, n, FLOAT) for n in ("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh")),
    *((n, n, FLOAT) for n in ("degrees", "radians")),
)
EXTENSIONS = (
    ("relu", "relu", SAME),
    *((n, n, FLOAT) for n in ("sigmoid", "softsign", "erf", "erfinv", "gamma", "gammaln")),
)


def operator_of(row, prefix="_npi_"):
    """The operator behind a row of a function of one array.

    >>> operator_of(("exp", "exp", FLOAT)), operator_of(("absolute", "abs", SAME))
    ('_npi_exp', 'abs')
    """
    name, source, result = row
    return source if result == SAME else prefix + name


def operators_of(name):
    """The operators behind a function of two operands, as a row of `faces.BINARY` has them.

    >>> operators_of("subtract")[2:], operators_of("greater")[3]
    (('_npi_subtract_scalar', '_npi_rsubtract_scalar'), '_npi_less_scalar')
    """
    array, scalar = f"_npi_{name}", f"_npi_{name}_scalar"
    if name in _TURNED:
        turned = f"_npi_{_TURNED[name]}_scalar"
    elif name in _EITHER_SIDE or _row(name)[2] == BOOL:
        turned = scalar
    else:
        turned = f"_npi_r{name}_scalar"
    return array, array, scalar, turned


def _row(name):
    return next(row for row in BINARIES if row[0] == name)


def _like(x, out):
    """An operand in the dtype of the output, where that is a float."""
    return x if x.dtype == out else x.astype(out)


def _second_order(name):
    """The rule of an operator by that of mx.nd of the same function."""

    def outputs(p, F, x, aux, training):
        kind = p.infer_type([each.dtype.__name__ for each in x], [None])[1][0]
        if kind not in FLOATS:
            return None
        params = {"scalar": p.scalar} if hasattr(p, "scalar") else {}
        return [getattr(F, name)(*[_like(each, kind) for each in x], **params)]

    return Rewritten(outputs)


def _register(name, base, doc, legacy, exists, **more):
    rule = _second_order(legacy) if exists else None
    register_operator(
        name,
        type(
            name,
            (base,),
            {
                "__doc__": doc,
                "__module__": __name__,
                "differentiable": exists,
                "second_order": rule,
                **more,
            },
        ),
    )


def _register_binary(name, source, result):
    row = BINARY[source]
    functor = get_operator(row.broadcast).prop.functor
    gradients = GRADIENTS[functor]
    own = {"functor": functor, "gradients": gradients, "result": result}
    exists = gradients.exists
    doc = get_operator(row.broadcast).doc.strip().splitlines()[0]
    _register(f"_npi_{name}", NumpyBinary, doc, row.broadcast, exists, **own)
    doc = f"``{name}`` of an array and a number."
    _register(f"_npi_{name}_scalar", NumpyScalar, doc, row.scalar, exists, **own)
    reflected = operators_of(name)[3]
    if reflected == f"_npi_r{name}_scalar":
        doc = f"``{name}`` of a number and an array."
        _register(reflected, NumpyScalar, doc, row.reflected, exists, reverse=True, **own)


def _register_unary(name, source, result, prefix):
    entry = get_operator(source)
    prop = entry.prop
    doc = entry.doc.strip().splitlines()[0].replace("; the input's dtype", "")
    own = {"functor": prop.functor, "gradient": prop.gradient, "reads": prop.reads}
    exists = prop.differentiable
    _register(f"{prefix}{name}", NumpyUnary, doc, entry.name, exists, result=result, **own)


for _each in BINARIES:
    _register_binary(*_each)
for _prefix, _rows in (("_npi_", UNARIES), ("_npx_", EXTENSIONS)):
    for _each in _rows:
        if _each[2] != SAME:
            _register_unary(*_each, _prefix)
