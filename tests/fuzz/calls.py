"""Random calls of every operator: nd, the executor with backward, and symbol JSON.

    python -m tests.fuzz.calls --cases 100000 --seed 7

A call is right when it gives a result or raises an error of cynet (MemoryError is one where memory
is asked for). A crash, a hang, any other exception is a fault; ``--show N`` prints the call.
"""

import json
import sys

import numpy as np

from tests.fuzz.worker import Fault, command_line

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
EDGES = (0, 1, -1, 0.5, 127, 128, 255, -128, 2**31 - 1, -(2**31), 2**53, 1e20, -1e20)
EDGES += (np.inf, -np.inf, np.nan)
INTEGERS = (0, -1, 1, 2, 3, 7, 255, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 2**63)
INTEGERS += (-(2**63), -(2**63) - 1, 10**30)
FLOATS = (0.0, -1.0, 1e-300, 1e300, 3.4e38, float("inf"), -float("inf"), float("nan"), 10**400)
TEXTS = ("", "x", "(", "None", "1e999", "-" * 3000 + "1", "(1,2", "{1:2}", "b'ab'", "True", "nan")
MODES = ("nd", "executor", "json")


class Call:
    """One call: an operator, arrays for its inputs and states, parameters, and the face."""

    def __init__(self, mode, op, inputs, aux, params, train):
        self.mode, self.op, self.inputs, self.aux = mode, op, inputs, aux
        self.params, self.train = params, train

    def __str__(self):
        arrays = ", ".join(f"{a.dtype}{list(a.shape)}" for a in (*self.inputs, *self.aux))
        params = ", ".join(f"{k}={v!r:.60}" for k, v in self.params.items())
        return f"{self.mode} {self.op}({arrays}; {params}; train={self.train})"


def draw(seed, number, cases):
    """Call `number` of the run with `seed`: a case of the operator tests with something changed."""
    rng = np.random.default_rng([seed, number])
    case = cases[rng.integers(len(cases))]
    dtype = str(rng.choice(DTYPES)) if rng.random() < 0.5 else str(rng.choice(case.dtypes))
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
            arrays[i] = _array(rng, arrays[i])
    n = len(case.inputs)
    mode = MODES[rng.integers(len(MODES))]
    return Call(mode, case.op, arrays[:n], arrays[n:], params, bool(rng.random() < 0.7))


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


def _array(rng, array):
    """`array` with another shape, another dtype or unusual values."""
    shape, change = list(array.shape), rng.integers(5)
    if change == 0 and shape:  # a length of 0, or another one
        shape[rng.integers(len(shape))] = int(rng.choice([0, 0, 1, 2, 5]))
    elif change == 1:
        shape.insert(rng.integers(len(shape) + 1), int(rng.choice([1, 2, 0])))
    elif change == 2 and len(shape) > 1:
        del shape[rng.integers(len(shape))]
    elif change == 3:
        return _filled(rng, shape, str(rng.choice(DTYPES)))
    return _filled(rng, shape, str(array.dtype))


def _filled(rng, shape, dtype):
    """An array of edge values, as NumPy casts them to `dtype`."""
    values = (
        rng.choice(EDGES, shape or (1,))
        if rng.random() < 0.5
        else rng.uniform(-3, 3, shape or (1,))
    )
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def perform(call):
    """Run `call` to its end; errors pass through."""
    import cynet as mx

    inputs = [mx.nd.array(a, dtype=a.dtype) for a in call.inputs]
    states = [mx.nd.array(a, dtype=a.dtype) for a in call.aux]
    if call.mode == "nd":
        function = getattr(mx.nd, call.op, None) or getattr(mx.nd._internal, call.op)
        outputs = function(*inputs, *states, **call.params)
        for each in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
            each.asnumpy()
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


def _symbol(mx, call, count):
    if call.mode == "executor":
        function = getattr(mx.sym, call.op, None) or getattr(mx.sym._internal, call.op)
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
    from tests.operator.cases import all_cases

    warnings.simplefilter("ignore")
    cases = all_cases()

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
    from tests.operator.cases import all_cases

    call = draw(seed, number, all_cases())
    print(call, flush=True)
    perform(call)


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.calls", __doc__, show))
