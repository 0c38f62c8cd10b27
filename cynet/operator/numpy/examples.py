"""Examples of mx.np's elementwise operators; ``examples.txt`` has the printed results."""

import re
from functools import cache
from pathlib import Path


@cache
def read_example_outputs():
    """Return {operator name: printed output of its example}."""
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    parts = re.split(r"^\[(\w+)\]\n", text, flags=re.M)
    return dict(zip(parts[1::2], (each.strip("\n") for each in parts[2::2])))


def example_code(name, one=False):
    """Return the code of an operator's example; `one`: the operator is unary."""
    if name.endswith("_scalar"):
        whole = any(word in name for word in ("bitwise", "gcd", "lcm"))
        number = "scalar=3" if whole else "scalar=1.5, is_int=False"
        return ['x = mx.nd.array([1, 2, 3], dtype="int32")', f"mx.nd.{name}(x, {number})"]
    if name.endswith(("any", "all")):
        return ['x = mx.nd.array([[1, 0], [1, 1]], dtype="bool")', f"mx.nd.{name}(x, axis=1)"]
    if name.endswith("reshape"):
        return ["x = mx.nd.array([[1, 2], [3, 4]])", f"mx.nd.{name}(x, newshape=(4, -1))"]
    if name.startswith("_np_") or name.endswith(("mean", "argmax", "argmin")):
        return ['x = mx.nd.array([[1, 2], [4, 3]], dtype="int8")', f"mx.nd.{name}(x, axis=1)"]
    if one:
        values = "[1, 0]" if name.endswith(("arcsin", "arccos")) else "[1, 2]"
        values = "[0, 0]" if name.endswith(("arctanh", "erfinv")) else values
        return [f'x = mx.nd.array({values}, dtype="int32")', f"mx.nd.{name}(x)"]
    whole = any(word in name for word in ("bitwise", "gcd", "lcm"))
    other = 'mx.nd.array([3, 2, 1], dtype="uint8")' if whole else "mx.nd.array([0.5, 2, 4])"
    return ['x = mx.nd.array([1, 2, 3], dtype="int32")', f"y = {other}", f"mx.nd.{name}(x, y)"]


def example_of(name, one=False):
    """Return the example of an operator, with its printed result."""
    lines = "\n".join(f">>> {line}" for line in example_code(name, one))
    return lines + "\n" + read_example_outputs().get(name, "")
