"""Every operator with inputs of length 0, on both faces: run by test_empty.py in a process of its
own, as ``python -m tests.operator.empty_sweep PART PARTS``.

Each run is made twice, with other numbers in the memory that the pool hands out: what differs was
read from memory that is not the inputs', or never written. A line that begins with FAULT says what
is wrong; the last line of stderr names the run at which a crash happened.
"""

import faulthandler
import sys
import warnings

import numpy as np
from cynet.ndarray._call import invoke

import cynet as mx
from cynet.operator import get_operator
from tests.operator.cases import all_cases

SIZES = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)  # of the arrays that fill the pool


def variants(shapes):
    """Ways to empty inputs of these shapes: a list of sets of (input, axis)."""
    places = [(i, axis) for i, shape in enumerate(shapes) for axis in range(len(shape))]
    out = [{place} for place in places]
    for length in {n for shape in shapes for n in shape if n > 1}:
        out.append({(i, axis) for i, axis in places if shapes[i][axis] == length})
    out += [{(i, a) for i, a in places if a == axis} for axis in {a for _, a in places}]
    return [v for i, v in enumerate(out) if v not in out[:i]]


def emptied(arrays, variant):
    """The arrays with length 0 at the places of a variant."""
    out = list(arrays)
    for i, axis in variant:
        out[i] = np.ascontiguousarray(np.take(out[i], [], axis))
    return out


def fill_pool(value):
    """Leave `value` in memory that the next arrays get."""
    held = [mx.nd.full((n,), value) for n in SIZES for _ in range(2)]
    mx.nd.waitall()
    del held


def refused(call):
    """What a call returns, or the text of its refusal; any other exception is a fault."""
    try:
        return call()
    except mx.base.MXNetError as error:
        return f"refused: {error}"


def imperative(case, arrays, states):
    """The outputs of one call of mx.nd."""
    given = tuple(mx.nd.array(a, dtype=a.dtype) for a in (*arrays, *states))
    out = invoke(get_operator(case.op), given, dict(case.params))
    return [o.asnumpy() for o in (out if isinstance(out, list) else [out])]


def bound(case, arrays, states):
    """The outputs and gradients of an executor."""
    entry = get_operator(case.op)
    prop = entry.prop(**case.params)
    face = mx.sym._internal if case.op.startswith("_") else mx.sym
    names, aux = prop.list_arguments(), prop.list_auxiliary_states()
    inputs = [mx.sym.Variable(name) for name in [*names, *aux]]
    if prop.key_var_num_args:
        net = getattr(face, case.op)(*inputs, name="net", **case.params)
    else:
        net = getattr(face, case.op)(**dict(zip([*names, *aux], inputs)), name="net", **case.params)
    args = [mx.nd.array(a, dtype=a.dtype) for a in arrays]
    grads = [mx.nd.full(a.shape, 7, dtype=a.dtype) for a in arrays]
    exe = net.bind(
        mx.cpu(),
        args,
        grads if prop.differentiable else None,
        "write" if prop.differentiable else "null",
        [mx.nd.array(a, dtype=a.dtype) for a in states],
    )
    found = [o.asnumpy() for o in exe.forward(is_train=case.is_train)]
    if prop.differentiable:
        exe.backward([mx.nd.ones(o.shape, dtype=o.dtype) for o in found])
        found += [g.asnumpy() for g in grads]
    return found


def equal(first, second):
    """Whether two runs gave the same."""
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )


def by_numpy(case, arrays, states):
    """The visible outputs of the case's reference, or None where it has none for these inputs."""
    if case.reference is None:
        return None
    try:
        found = case.reference(*arrays, *states, **case.params)
    except Exception:  # NumPy refuses, or the reference was not written for them
        return None
    return [np.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]


def check(case, variant, counts):
    """Print the faults of one way to empty the inputs of a case."""
    rng = np.random.default_rng(case.seed)
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[-1]
    arrays = [i.make(rng, dtype) for i in case.inputs]
    states = [i.make(rng, dtype) for i in case.aux]
    whole = emptied([*arrays, *states], variant)
    arrays, states = whole[: len(arrays)], whole[len(arrays) :]
    about = f"{case.id} on {[a.shape for a in whole]}"
    print(about, file=sys.stderr, flush=True)
    for face in (imperative, bound):
        runs = []
        for value in (1.0, 7.0):
            fill_pool(value)
            try:
                runs.append(refused(lambda: face(case, arrays, states)))  # noqa: B023
            except Exception as error:
                print(f"FAULT {face.__name__} {about}: {type(error).__name__}: {error}")
                return
        counts[face.__name__, isinstance(runs[0], str)] += 1
        if not equal(*runs):
            print(f"FAULT {face.__name__} {about}: memory shows through: {runs}")
            return
        if isinstance(runs[0], str):
            continue
        expected = by_numpy(case, arrays, states)
        prop = get_operator(case.op).prop(**case.params)
        n = prop.num_visible_outputs()
        for a, b in zip(runs[0][:n], (expected or [])[:n]):
            if a.shape != (b.shape or prop.no_axes) or not np.allclose(a, b, 1e-5, equal_nan=True):
                print(f"FAULT {face.__name__} {about}: {a.shape} {a}, NumPy {b.shape} {b}")
                return


def main(part, parts):
    """Check every case of a part of the table."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    counts = {(face.__name__, no): 0 for face in (imperative, bound) for no in (False, True)}
    for case in all_cases()[part::parts]:
        for variant in variants([i.shape for i in [*case.inputs, *case.aux]]):
            check(case, variant, counts)
    mx.nd.waitall()
    print("computed and refused:", counts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
