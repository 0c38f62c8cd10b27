"""Runs every case of the operator table on arrays of every dtype, forward and backward: run by
test_dtypes.py, in a process of its own, since what is sought ends it.

Prints each (case, dtype) before it is run, and after "found:" what came out wrong.

    python -m tests.operator.every_dtype
"""

import sys
import warnings

import numpy as np

from cynet.base.dtype import FLAGS, name_of
from cynet.base.errors import CynetError
from cynet.operator import get_operator
from tests.bfloat16 import as_type
from tests.operator.cases import all_cases
from tests.operator.runner import ADD, Run


def walk(case, dtype, wrong):
    """Whether the operator took the dtype."""
    name = f"{case.id} {dtype}"
    print(name, file=sys.stderr, flush=True)
    try:
        run = Run(case, dtype)
        if [name_of(a.dtype) for a in run.aux] != list(run.aux_types):
            return False  # states of other types, which all callers refuse
        outputs, aux = run.forward()
        run.forward([ADD] * len(outputs), [o.copy() for o in outputs])
        heads = [as_type(np.ones(s), t) for s, t in zip(run.out_shapes, run.out_types)]
        grads = []
        if run.prop.differentiable:
            grads = run.backward(heads, outputs, aux=aux)
            again = [g.copy() for g in grads]
            grads += run.backward(heads, outputs, [ADD] * len(again), again, aux=aux)
    except CynetError as error:
        if case.op not in str(error) and get_operator(case.op).name not in str(error):
            wrong.append(f"{name}: the error does not name the operator: {error}")
        if dtype in case.dtypes:
            wrong.append(f"{name}: refused: {error}")
        return False
    except Exception as error:
        wrong.append(f"{name}: {type(error).__name__}: {error}")
        return False
    for made in (*outputs, *grads):
        if made.dtype == bool and made.view("uint8").max(initial=0) > 1:
            wrong.append(f"{name}: bool bytes {np.unique(made.view('uint8'))}")
    return True


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wrong, took = [], 0
    for case in all_cases():
        for dtype in FLAGS:
            took += walk(case, dtype, wrong)
    print("\n".join(["found:", *wrong, f"{took} taken", "end"]))
