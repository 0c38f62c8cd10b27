"""Times operators of cynet or MXNet for operators.py: ``sweep_worker.py PACKAGE``, asked on stdin.

A question is a line of JSON, [operator, file of its inputs, number of states, parameters,
"forward" or "backward", seconds to take]; the answer is seconds, or null where the package cannot.
"""

import importlib
import json
import sys
import time

import numpy as np
import operator_cases as cases

PLACES = {"_contrib_": "contrib", "_linalg_": "linalg", "_image_": "image", "_sparse_": "sparse"}


def function_of(nd, name):
    """The operator `name` among the functions of ``mx.nd``, None where it is missing."""
    found = getattr(nd, name, None) or getattr(nd._internal, name, None)
    for prefix, place in PLACES.items():
        if found is None and name.startswith(prefix):
            found = getattr(getattr(nd, place, None), name[len(prefix) :], None)
    return found


def plain(params):
    """Parameters converted back from JSON."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()}


def prepared(mx, question):
    """A function without arguments that runs the requested call."""
    name, path, states, params, direction, _ = question
    with np.load(path) as file:
        values = [file[str(i)] for i in range(len(file.files))]
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in values]
    function, params = function_of(mx.nd, name), plain(params)
    count = params.get("num_weights", params.get("num_tensors"))
    if count:  # MXNet updates several weights only where it is told to write to them
        params["out"] = arrays[: len(arrays) // count * count : len(arrays) // count]
    if direction == "forward":
        return lambda: function(*arrays, **params)
    for each in arrays[: len(arrays) - states]:
        if np.dtype(each.dtype).kind == "f":
            each.attach_grad()

    def both():
        with mx.autograd.record():
            out = function(*arrays, **params)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        mx.autograd.backward([y for y in out if np.dtype(y.dtype).kind == "f"])

    return both


def answer(call, wait, budget):
    """Seconds of a call: short ones are made many at a time."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = time.perf_counter() - start
    number = max(1, min(200, int(budget / 10 / max(once, 1e-7))))
    return cases.seconds(call, wait, number, budget)


def main(prepare, wait):
    """Answer until stdin ends."""
    for line in sys.stdin:
        question = json.loads(line)
        try:
            seconds = answer(prepare(question), wait, question[-1])
        except Exception as error:
            print(f"{question[0]}: {type(error).__name__}: {str(error)[-200:]}", file=sys.stderr)
            seconds = None
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    mx = importlib.import_module(sys.argv[1])
    main(lambda question: prepared(mx, question), mx.nd.waitall)
