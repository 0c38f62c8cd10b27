"""Random calls of every operator: nd, outputs given, autograd, executors, symbol JSON, and with
sparse arrays.

    python -m tests.fuzz.calls --cases 100000 --seed 7

A call is right when it gives a result or raises an error of cynet (MemoryError is one where memory
is asked for). A crash, a hang, any other exception is a fault; ``--show N`` prints the call.
"""

import json
import sys

import numpy as np

from cynet.base.dtype import is_floating
from tests.bfloat16 import as_type
from tests.fuzz.sparse_arrays import sparse_like
from tests.fuzz.worker import Fault, command_line

DTYPES = ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
EDGES = (0, 1, -1, 0.5, 127, 128, 255, -128, 2**31 - 1, -(2**31), 2**53, 1e20, -1e20)
EDGES += (np.inf, -np.inf, np.nan)
INTEGERS = (0, -1, 1, 2, 3, 7, 255, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 2**63)
INTEGERS += (-(2**63), -(2**63) - 1, 10**30)
FLOATS = (0.0, -1.0, 1e-300, 1e300, 3.4e38, float("inf"), -float("inf"), float("nan"), 10**400)
TEXTS = ("", "x", "(", "None", "1e999", "-" * 3000 + "1", "(1,2", "{1:2}", "b'ab'", "True", "nan")
MODES = ("nd", "out", "tape", "executor", "json", "sparse")
GRAPHS = ("_foreach", "_while_loop", "_cond")  # tests/fuzz/graphs.py


class Call:
    """One call: an operator, arrays for its inputs and states, parameters, and the face; `places`
    says which input each output is written to (None: an array of its own); `seed` draws which
    inputs are sparse, and what is wrong with them."""

    def __init__(self, mode, op, inputs, aux, params, train, np_shape=False, places=(), seed=0):
        self.mode, self.op, self.inputs, self.aux = mode, op, inputs, aux
        self.params, self.train, self.np_shape, self.places = params, train, np_shape, places
        self.seed = seed

    def __str__(self):
        arrays = ", ".join(f"{a.dtype}{list(a.shape)}" for a in (*self.inputs, *self.aux))
        params = ", ".join(f"{k}={v!r:.60}" for k, v in self.params.items())
        return (
            f"{self.mode} {self.op}({arrays}; {params}; train={self.train}, "
            f"np_shape={self.np_shape}, out={self.places})"
        )


def all_calls():
    """The cases of the operator tests, and one of each operator that has none: those that draw."""
    from cynet.operator import OPERATORS
    from tests.operator.cases import Case, all_cases

    cases = all_cases()
    known = {OPERATORS.get(case.op).name for case in cases}
    pixels = {"brightness": 0.5, "contrast": 0.5, "saturation": 0.5, "hue": 0.5, "alpha_std": 0.1}
    usual = {"low": 1, "high": 5, "range_max": 9, "num_arrays": 1} | pixels
    for name, entry in sorted(OPERATORS.items()):
        if (
            name != entry.name
            or name in known
            or name in (*GRAPHS, "Custom", "_Native", "_NDArray")
        ):
            continue
        params = {k: usual[k] for k in entry.prop.fields if k in usual}
        if "shape" in entry.prop.fields:
            params["shape"] = (2, 3)
        shape = (4, 5, 3) if "image" in name else (2, 3)
        inputs = [shape for _ in entry.prop(**params).list_arguments()]
        cases.append(Case(name, inputs, None, params, note="drawn"))
    return cases


def draw(seed, number, cases):
    """Call `number` of the run with `seed`: a case of the operator tests with something changed."""
    rng = np.random.default_rng([seed, number])
    case = cases[rng.integers(len(cases))]
    dtype = str(rng.choice(DTYPES)) if rng.random() < 0.5 else str(rng.choice(case.dtypes))
    np_shape = bool(rng.random() < 0.2)
    arrays = [each.make(rng, dtype) for each in (*case.inputs, *case.aux)]
    params = dict(case.params)
    for _ in range(rng.integers(4)):
        change = rng.integers(4)
        if change == 0 and params:
            name = str(rng.choice(list(params)))
            params[name] = _value(rng, params[name])
        elif change == 1:
            params = _with_any_parameter(rng, case.op, params)
        elif arrays:
            i = rng.integers(len(arrays))
            arrays[i] = _array(rng, arrays[i], np_shape)
    n = len(case.inputs)
    mode = MODES[rng.integers(len(MODES))]
    train, places = bool(rng.random() < 0.7), ()
    if mode == "out":
        places = [
            None if rng.random() < 0.2 else int(rng.integers(len(arrays) or 1))
            for _ in range(rng.integers(1, 4))
        ]
    seed = int(rng.integers(1 << 30))
    return Call(mode, case.op, arrays[:n], arrays[n:], params, train, np_shape, places, seed)


def _with_any_parameter(rng, op, params):
    """`params` with one of the operator's parameters, given or not, at an unusual value."""
    from cynet.operator import get_operator

    fields = get_operator(op).prop.fields
    if not fields:
        return params
    name = str(rng.choice(list(fields)))
    return {**params, name: _value(rng, params.get(name, getattr(fields[name], "default", 1)))}


def _value(rng, value):
    """An unusual value for a parameter that was `value`."""
    kind = rng.integers(8)
    if kind == 0:
        return TEXTS[rng.integers(len(TEXTS))]
    if kind == 1:
        return FLOATS[rng.integers(len(FLOATS))]
    integer = INTEGERS[rng.integers(len(INTEGERS))]
    if kind == 2:
        return integer
    if kind == 3:
        return [None, True, (), [], {}, np.array([1, 2]), np.float32(2)][rng.integers(7)]
    if isinstance(value, (tuple, list)) and value and kind < 7:
        value = list(value)
        value[rng.integers(len(value))] = integer
        return tuple(value)
    return (integer,) * rng.integers(6) if kind == 4 else int(rng.integers(-3, 9))


def _array(rng, array, np_shape):
    """`array` with another shape, another dtype or unusual values."""
    shape, change = list(array.shape), rng.integers(5)
    if change == 0 and shape:  # a length of 0, or another one
        shape[rng.integers(len(shape))] = int(rng.choice([0, 0, 1, 2, 5]))
    elif change == 1:
        shape.insert(rng.integers(len(shape) + 1), int(rng.choice([1, 2, 0])))
    elif change == 2 and len(shape) > (not np_shape):
        del shape[rng.integers(len(shape))]
    elif change == 3:
        return _filled(rng, shape, str(rng.choice(DTYPES)))
    return _filled(rng, shape, array.dtype)


def _filled(rng, shape, dtype):
    """An array of edge values, cast to `dtype`."""
    edges = rng.random() < 0.5
    values = np.asarray(rng.choice(EDGES, shape) if edges else rng.uniform(-3, 3, shape))
    with np.errstate(all="ignore"):
        return as_type(values, dtype)


def perform(call):
    """Run `call` to its end; errors pass through."""
    import cynet as mx

    with mx.util.np_shape(call.np_shape):
        _perform(mx, call)


def _perform(mx, call):
    inputs = [mx.nd.array(a, dtype=a.dtype) for a in call.inputs]
    states = [mx.nd.array(a, dtype=a.dtype) for a in call.aux]
    if call.mode == "sparse":
        _with_sparse(mx, call, inputs, states)
        return
    if call.mode in ("nd", "out"):
        _call(mx, call, inputs, states)
        return
    if call.mode == "tape":
        _record(mx, call, inputs, states)
        return
    symbol = _symbol(mx, call, len(inputs) + len(states))
    names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    arguments = dict(zip(names, inputs))
    gradients = {k: mx.nd.zeros(a.shape, dtype=a.dtype) for k, a in arguments.items()}
    executor = symbol.bind(
        mx.cpu(), arguments, args_grad=gradients, aux_states=dict(zip(aux_names, states))
    )
    outputs = executor.forward(is_train=call.train)
    for each in outputs:
        each.asnumpy()
    if call.train:
        executor.backward([mx.nd.ones(o.shape, dtype=o.dtype) for o in outputs])
        for each in gradients.values():
            each.asnumpy()


def _face(space, op):
    """The function of an operator on ``mx.nd`` or ``mx.sym``."""
    return getattr(space, op, None) or getattr(space._internal, op)


def _call(mx, call, inputs, states):
    """Run the operator at once; outputs may be given, among them arrays that are inputs, too."""
    arrays = [*inputs, *states]
    given = {}
    if call.places:
        out = [mx.nd.ones((2, 3)) if i is None or not arrays else arrays[i] for i in call.places]
        given = {"out": out if len(out) > 1 else out[0]}
    outputs = _face(mx.nd, call.op)(*arrays, **call.params, **given)
    for each in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
        each.asnumpy()
    for each in arrays:
        each.asnumpy()


def _with_sparse(mx, call, inputs, states):
    """Call or record the operator with some of its arrays sparse."""
    rng = np.random.default_rng(call.seed)
    for i, array in enumerate(call.inputs):
        if array.ndim and (not i or rng.random() < 0.5):
            inputs[i] = sparse_like(mx, rng, np.asarray(array))
    if rng.integers(2):
        _call(mx, call, inputs, states)
    else:
        _record(mx, call, inputs, states)


def _record(mx, call, inputs, states):
    """Record the operator, and take its gradient, in training also that of the gradient."""
    real = [a for a in inputs if is_floating(a.dtype)]
    for each in real:
        each.attach_grad()
    with mx.autograd.record(train_mode=call.train):
        outputs = _face(mx.nd, call.op)(*inputs, *states, **call.params)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if call.train and real:
            outputs += mx.autograd.grad(outputs, real, create_graph=True)
    mx.autograd.backward(outputs)
    for each in (*outputs, *(a.grad for a in real)):
        each.asnumpy()


def _symbol(mx, call, count):
    if call.mode == "executor":
        function = _face(mx.sym, call.op)
        return function(*[mx.sym.Variable(f"v{i}") for i in range(count)], name="op", **call.params)
    nodes = [{"op": "null", "name": f"v{i}", "inputs": []} for i in range(count)]
    attrs = {k: str(v) for k, v in call.params.items()}
    inputs = [[i, 0, 0] for i in range(count)]
    nodes.append({"op": call.op, "name": "op", "attrs": attrs, "inputs": inputs})
    symbol = mx.sym.load_json(json.dumps({"nodes": nodes, "heads": [[count, 0, 0]]}))
    return mx.sym.load_json(symbol.tojson())  # what is written loads


def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import warnings

    from cynet.base.errors import CynetError

    warnings.simplefilter("ignore")
    cases = all_calls()

    def run(number):
        call = draw(seed, number, cases)
        try:
            perform(call)
        except (CynetError, MemoryError):
            pass
        except Exception as error:
            raise Fault(f"{call}: {type(error).__name__}: {error}"[:400]) from error

    return run


def show(seed, number):
    """Print a call of a run and perform it here."""
    call = draw(seed, number, all_calls())
    print(call, flush=True)
    perform(call)


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.calls", __doc__, show))
