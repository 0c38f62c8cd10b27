"""Every operator with inputs that have one axis fewer, one more, none: run by test_ranks.py in a
process of its own, as ``python -m tests.operator.rank_sweep PART PARTS``.

A definition reads lengths out of shapes; one that a shape lacks must not be read. A line that
begins with FAULT says what is wrong; the last line of stderr names the call of a crash.
"""

import faulthandler
import sys
import warnings

import numpy as np
from cynet.ndarray._call import invoke

import cynet as mx
from cynet.graph.infer import infer_shapes
from cynet.operator import get_operator
from tests.operator.cases import all_cases


def variants(arrays):
    """The arrays with one of them, or all, of another number of axes."""
    changes = (lambda a: a[0] if a.ndim else a, lambda a: a[None], lambda a: a.reshape(-1)[0])
    for change in changes:
        for i in range(len(arrays)):
            yield [*arrays[:i], np.ascontiguousarray(change(arrays[i])), *arrays[i + 1 :]]
        yield [np.asarray(change(a), order="C") for a in arrays]


def imperative(case, arrays):
    """One call of mx.nd."""
    given = tuple(mx.nd.array(a, dtype=a.dtype) for a in arrays)
    out = invoke(get_operator(case.op), given, dict(case.params))
    for each in out if isinstance(out, list) else [out]:
        each.wait_to_read()


def inferred(case, arrays):
    """Inference from shapes that are declared."""
    face = mx.sym._internal if case.op.startswith("_") else mx.sym
    net = getattr(face, case.op)(
        *[mx.sym.Variable(f"x{i}") for i in range(len(arrays))], **case.params
    )
    shapes = {n: a.shape for n, a in zip(net.list_arguments(), arrays)}
    net.infer_shape_partial(**shapes)
    for shape in ((), (2,), (2, 3, 4, 5, 6)):  # and backwards, from outputs alone
        try:
            infer_shapes(net.entries, outputs=[(entry, shape) for entry in net.entries])
        except mx.base.MXNetError:
            continue


def main(part, parts):
    """Check a part of the operators."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    counts = {"computed": 0, "refused": 0}
    for case in all_cases()[part::parts]:
        rng = np.random.default_rng(case.seed)
        arrays = [i.make(rng, case.dtypes[0]) for i in [*case.inputs, *case.aux]]
        for given in variants(arrays) if arrays else ():
            about = f"{case.op}({[a.shape for a in given]}, {case.params})"
            print(about, file=sys.stderr, flush=True)
            for face in (imperative, inferred):
                try:
                    with mx.util.np_shape(True):
                        face(case, given)
                    counts["computed"] += 1
                except mx.base.MXNetError:
                    counts["refused"] += 1
                except BaseException as error:
                    print(f"FAULT {face.__name__} {about}: {type(error).__name__}: {error}"[:300])
    print(counts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
