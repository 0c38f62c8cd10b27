"""Results of all operators' cases in a file, and files of two machines beside each other.

``python -m tests.operator.same_bytes write FILE`` computes outputs and gradients;
``... compare ONE OTHER`` lists the operators whose bytes differ, and by how much.
"""

import sys
from collections import defaultdict

import numpy as np

from tests.bfloat16 import widened
from tests.operator.cases import all_cases
from tests.operator.runner import Run


def results(case, dtype):
    """(what, array) of the inputs, outputs and gradients of a case."""
    run = Run(case, dtype)
    yield from ((f"input {i}", array) for i, array in enumerate(run.inputs))
    heads = run.head_grads()
    outputs, aux = run.forward()
    yield from ((f"output {i}", array) for i, array in enumerate(outputs))
    if run.prop.differentiable:
        grads = run.backward(heads, outputs, aux=[array.copy() for array in aux])
        yield from ((f"gradient {i}", array) for i, array in enumerate(grads))


def write(path):
    """Compute everything; what fails is kept as its message."""
    found = {}
    for case in all_cases():
        for dtype in case.dtypes:
            try:
                for what, array in results(case, dtype):
                    found[f"{case.op}|{case.id}|{dtype}|{what}"] = np.asarray(widened(array))
            except Exception as error:  # told by `compare`
                found[f"{case.op}|{case.id}|{dtype}|error"] = np.array(str(error))
    np.savez(path, **found)


def distance(one, other):
    """The largest difference relative to the largest number, or infinity for another kind."""
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype.kind not in "fiub":
        return np.inf
    a, b = one.astype(np.float64), other.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return np.inf
    known = np.isfinite(a)
    if not np.array_equal(a[~known], b[~known], equal_nan=True):
        return np.inf
    size = np.abs(a[known]).max(initial=0) or 1.0
    return np.abs(a[known] - b[known]).max(initial=0) / size


def compare(path, other_path):
    """Print each operator with differences; how many cases and operators have the same bytes."""
    with np.load(path) as one, np.load(other_path) as other:
        sides = [{name: side[name] for name in side.files} for side in (one, other)]
    cases = defaultdict(dict)
    for name in {**sides[0], **sides[1]}:
        op, case, dtype, what = name.split("|")
        pair = [side.get(name) for side in sides]
        cases[op, case, dtype][what] = pair
    worst, other_inputs, same = defaultdict(list), 0, 0
    for (op, case, dtype), rows in cases.items():
        pairs = {what: pair for what, pair in rows.items() if not _is_same(*pair)}
        if any(what.startswith("input") for what in pairs):
            other_inputs += 1
        elif pairs:
            far = max(np.inf if None in map(_kind, p) else distance(*p) for p in pairs.values())
            worst[op].append((far, dtype, case, sorted(pairs)))
        else:
            same += 1
    for op in sorted(worst):
        far, dtype, case, what = max(worst[op])
        print(f"{op}: {len(worst[op])} runs differ, by {far:.2g} at most: {case}, {dtype}, {what}")
    operators = {op for op, _, _ in cases}
    print(
        f"{len(cases)} runs of {len(operators)} operators: {same} with the same bytes,"
        f" {sum(map(len, worst.values()))} of {len(worst)} operators not, {other_inputs} of other"
        " inputs"
    )


def _kind(array):
    return None if array is None else array.dtype.kind


def _is_same(one, other):
    if one is None or other is None:
        return False
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:])
