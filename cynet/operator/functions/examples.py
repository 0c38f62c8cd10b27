"""Creates the functions' examples from usual arguments: a row only has the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .row import Binary, Form, Reduction, Unary


def example_lines(code: str, output: str) -> str:
    """Return an example's lines: statements, and the array that the last one prints."""
    rows = output.split("\n ")
    shape = [len(rows)] if len(rows) > 1 else []
    text = "x".join(map(str, [*shape, len(rows[-1].strip("[]").split())]))
    return f">>> {code}\n{output}\n<NDArray {text} @cpu(0)>"


def make_unary_example(row: Unary) -> str:
    """Return the example of a unary function."""
    if isinstance(row.example, str):
        return row.example
    elements, output = row.example
    return example_lines(f"mx.nd.{row.name}(mx.nd.array({elements}))", output)


def make_form_example(row: Binary, kind: str, form: Form) -> str:
    """Return the example of one operator of a binary function."""
    if form.example.startswith(">>>"):
        return form.example
    if kind == "same":
        code = f"mx.nd.array([5, 2, 3]) {row.sign} mx.nd.array([2, 2, 4])"
        if not form.name.startswith("_"):
            code = f"mx.nd.{form.name}(mx.nd.array([1, 2, 3]), mx.nd.array([4, 5, 6]))"
    elif kind == "broadcast":
        code = f"x = mx.nd.array([[1, 2], [3, 4]])\n>>> mx.nd.{form.name}(x, mx.nd.array([[3, 2]]))"
    else:
        number = f"mx.nd.{row.function}(x, 2)"
        if row.sign:
            number = f"x {row.sign} 2" if kind == "scalar" else f"2 {row.sign} x"
        code = f"x = mx.nd.array([1, 2, 4])\n>>> {number}"
    return example_lines(code, form.example)


def make_reduction_example(row: Reduction) -> str:
    """Return the example of a reduction."""
    if isinstance(row.example, str):
        return row.example
    whole, lines = row.example
    first = example_lines(
        f"x = mx.nd.array([[1, 5, 3], [4, 2, 6]])\n>>> mx.nd.{row.name}(x)", whole
    )
    return first + "\n" + example_lines(f"mx.nd.{row.name}(x, axis=1)", lines)
