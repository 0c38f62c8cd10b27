"""Every integer parameter of every operator with numbers beyond all sizes: run by test_sizes.py in
a process of its own, as ``python -m tests.operator.size_sweep PART PARTS``.

A line that begins with FAULT says what is wrong: an exception that is no MXNetError, or a call of
more than a few seconds. Memory is limited, so that what makes lists before it checks fails.
"""

import contextlib
import faulthandler
import os
import resource
import sys
import time
import warnings

import numpy as np
from cynet.ndarray._call import invoke

import cynet as mx
from cynet.operator import get_operator
from cynet.operator.parameters import Int, Shape
from tests.operator.cases import all_cases

NUMBERS = (
    *(-1, -(1 << 31), -(1 << 62), -(1 << 63), -(1 << 63) - 1, -(10**30)),
    *((1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, 10**30),
)
SECONDS = 5


def cases():
    """One case for each operator that has an integer parameter."""
    found = {}
    for case in all_cases():
        fields = get_operator(case.op).prop.fields
        names = [n for n, f in fields.items() if isinstance(f, (Int, Shape))]
        if names:
            found.setdefault((get_operator(case.op).name, tuple(sorted(case.params))), case)
    return list(found.values())


def changed(case):
    """Parameters of the case with one of them huge."""
    for name, field in get_operator(case.op).prop.fields.items():
        old = case.params.get(name, field.default)
        for number in NUMBERS:
            if isinstance(field, Int):
                yield {**case.params, name: number}
            elif isinstance(field, Shape):
                old = old if isinstance(old, (tuple, list)) and old else (1,)
                yield {**case.params, name: (number, *old[1:])}
                yield {**case.params, name: (*old[:-1], number)}
                yield {**case.params, name: (number,) * len(old)}


def imperative(case, arrays, params):
    """A call of mx.nd, and its gradient's operator is not made."""
    given = tuple(mx.nd.array(a, dtype=a.dtype) for a in arrays)
    out = invoke(get_operator(case.op), given, params)
    for each in out if isinstance(out, list) else [out]:
        each.wait_to_read()


def symbolic(case, arrays, params):
    """A node, its JSON, inference and an executor."""
    entry = get_operator(case.op)
    n = len(arrays)
    face = mx.sym._internal if case.op.startswith("_") else mx.sym
    net = getattr(face, case.op)(*[mx.sym.Variable(f"x{i}") for i in range(n)], **params)
    net = mx.sym.load_json(net.tojson())
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    shapes = {name: a.shape for name, a in zip(names, arrays)}
    net.infer_shape_partial(**{k: v for k, v in shapes.items() if k in net.list_arguments()})
    given = {name: mx.nd.array(a, dtype=a.dtype) for name, a in zip(names, arrays)}
    states = {name: given.pop(name) for name in net.list_auxiliary_states()}
    differs = entry.prop.differentiable
    grads = {k: mx.nd.zeros(v.shape, dtype=v.dtype) for k, v in given.items()} if differs else None
    exe = net.bind(mx.cpu(), given, grads, "write" if differs else "null", states)
    for out in exe.forward(is_train=differs):
        out.wait_to_read()


def main(part, parts):
    """Check a part of the operators."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(200, exit=True)
    warnings.simplefilter("ignore")
    if "ASAN_OPTIONS" not in os.environ:  # its shadow memory needs all addresses
        limit = 3 << 30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    counts = {"computed": 0, "refused": 0}
    for case in cases()[part::parts]:
        rng = np.random.default_rng(case.seed)
        arrays = [i.make(rng, case.dtypes[0]) for i in [*case.inputs, *case.aux]]
        for params in changed(case):
            about = f"{case.op}({params})"
            print(about, file=sys.stderr, flush=True)
            for face in (imperative, symbolic):
                began = time.perf_counter()
                try:
                    face(case, arrays, params)
                    counts["computed"] += 1
                except mx.base.MXNetError as error:
                    counts["refused"] += 1
                    if len(str(error)) > 2000:
                        print(f"FAULT {face.__name__} {about}: a message of {len(str(error))}")
                except BaseException as error:
                    print(f"FAULT {face.__name__} {about}: {type(error).__name__}: {error}"[:500])
                if time.perf_counter() - began > SECONDS:
                    print(f"FAULT {face.__name__} {about}: {time.perf_counter() - began:.1f} s")
    with contextlib.suppress(mx.base.MXNetError):  # of arrays that nobody waited for
        mx.nd.waitall()
    print(counts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
