"""MXNet's NumPy operators that need more than a call of a function with renamed parameters.

Each takes what finds functions (``lookup("np.sum")``), the inputs and MXNet's parameters.
"""

import numpy as onp

from ...base.errors import ArgumentError


def average(lookup, x, p):
    """``np.average``."""
    weights = x[1] if len(x) > 1 else None
    return lookup("np.average")(x[0], p.get("axis"), weights, p.get("returned", False))


def mask_elements(lookup, x, p):
    """Elements by a mask."""
    return x[0][x[1]]


def put_number(lookup, x, p):
    """Return a copy with a number where a mask is true."""
    return lookup("np.where")(_expand_mask(x[1], x[0]), p.get("value", 0.0), x[0])


def put_array(lookup, x, p):
    """Return a copy with the single element of an array where a mask is true."""
    if x[2].size != 1:
        raise ArgumentError(
            f"_npi_boolean_mask_assign_tensor: in a graph a value has one element, got {x[2].shape}"
        )
    return lookup("np.where")(_expand_mask(x[1], x[0]), x[2].reshape(()).astype(x[0].dtype), x[0])


def _expand_mask(mask, data):
    return mask.reshape(mask.shape + (1,) * (data.ndim - mask.ndim))


def choice(lookup, x, p):
    """``np.random.choice``."""
    weights = x[-1] if p.get("weighted") else None
    a = p["a"] if p.get("a") is not None else x[0]
    return lookup("np.random.choice")(a, p.get("size"), p.get("replace", True), weights)


def _index_or_slice(p, n):
    if p.get("int_ind") is not None:
        return p["int_ind"]
    return slice(p.get("start"), p.get("stop"), p.get("step"))


def delete_elements(lookup, x, p):
    """``np.delete`` with an int or a slice."""
    if len(x) > 1:
        raise ArgumentError("_npi_delete: in a graph what is deleted is an int or a slice")
    a, axis = (x[0].reshape(-1), 0) if p.get("axis") is None else (x[0], p["axis"])
    remaining = onp.delete(onp.arange(a.shape[axis]), _index_or_slice(p, a.shape[axis]))
    return lookup("np.take")(a, remaining, axis, mode="clip")


def insert_elements(lookup, x, p):
    """``np.insert`` at an int or a slice."""
    a, axis = (x[0].reshape(-1), 0) if p.get("axis") is None else (x[0], p["axis"])
    axis = axis % a.ndim
    n = a.shape[axis]
    where = onp.insert(onp.arange(n), _index_or_slice(p, n), -1)
    inserted = onp.flatnonzero(where == -1)
    if len(x) > 1:
        value = x[1]
        if p.get("int_ind") is not None:  # the first axis is the index's
            value = value.reshape((1,) * (a.ndim - value.ndim) + value.shape)
            value = lookup("np.moveaxis")(value, 0, axis)
    else:
        value = lookup("np.full")((), p.get("val", 0.0))
    shape = [*a.shape[:axis], len(inserted), *a.shape[axis + 1 :]]
    value = lookup("np.broadcast_to")(value.astype(a.dtype), tuple(shape))
    both = lookup("np.concatenate")([a, value], axis)
    order = where.copy()
    order[inserted] = n + onp.arange(len(inserted))
    return lookup("np.take")(both, order, axis, mode="clip")


def insert_by_array(lookup, x, p):
    """Raise an error: the index to insert at would be an array."""
    raise ArgumentError("_npi_insert_tensor: in a graph places are an int or a slice")


def diagonal_indices(lookup, x, p):
    """``np.diag_indices_from`` as one array."""
    return lookup("np.array")(onp.stack([onp.arange(x[0].shape[0])] * x[0].ndim), dtype="int64")


def _call_split(lookup, x, p, axis):
    if p.get("sections"):
        return lookup("np.split")(x[0], p["sections"], axis)
    return lookup("np.split")(x[0], list(p["indices"])[1:], axis)


def split(lookup, x, p):
    """``np.split``."""
    return _call_split(lookup, x, p, p.get("axis", 0))


def split_axis_1(lookup, x, p):
    """``np.hsplit``."""
    return _call_split(lookup, x, p, 1 if x[0].ndim > 1 else 0)


def split_axis_2(lookup, x, p):
    """``np.dsplit``."""
    return _call_split(lookup, x, p, 2)


def differences(lookup, x, p):
    """``np.ediff1d``."""
    ends, rest = {}, list(x[1:])
    for name in ("to_begin", "to_end"):
        if p.get(f"{name}_arr_given"):
            ends[name] = rest.pop(0)
        elif p.get(f"{name}_scalar") is not None:
            ends[name] = p[f"{name}_scalar"]
    return lookup("np.ediff1d")(x[0], **ends)


def einsum(lookup, x, p):
    """``np.einsum``."""
    return lookup("np.einsum")(p["subscripts"], *x)


def identity(lookup, x, p):
    """``np.identity``."""
    return lookup("np.eye")(p["shape"][0], dtype=p.get("dtype"))


def norm(lookup, x, p):
    """``np.linalg.norm``; `flag` is the kind: of all elements, of vectors, spectral, Frobenius's,
    nuclear."""
    ord = {-2: None, 1: None, 2: "nuc"}.get(p.get("flag", -1), p.get("ord", 2))
    return lookup("np.linalg.norm")(x[0], ord, p.get("axis"), p.get("keepdims", False))


def pad(lookup, x, p):
    """Compute ``np.pad`` by concatenating the parts of the result."""
    out, mode = x[0], p.get("mode", "constant")
    width = p["pad_width"]
    width = width if isinstance(width[0], (tuple, list)) else (width,) * out.ndim
    for axis, (before, after) in enumerate(width):
        n = out.shape[axis]
        if mode == "constant":
            shape = [*out.shape]
            parts = [out]
            for count, at in ((before, 0), (after, len(parts) + 1)):
                if count:
                    shape[axis] = count
                    value = p.get("constant_values", p.get("constant_value", 0))
                    parts.insert(at, lookup("np.full")(tuple(shape), value, dtype=out.dtype))
            out = lookup("np.concatenate")(parts, axis) if len(parts) > 1 else out
            continue
        if mode in ("maximum", "minimum"):
            end = lookup(f"np.{mode[:3]}")(out, axis, keepdims=True)
            parts = [end] * before + [out] + [end] * after
            out = lookup("np.concatenate")(parts, axis)
            continue
        indices = onp.pad(onp.arange(n), (before, after), mode)
        out = lookup("np.take")(out, indices, axis, mode="clip")
    return out


def polyval(lookup, x, p):
    """``np.polyval``."""
    coefficients, at = x
    out = lookup("np.zeros_like")(at)
    for i in range(coefficients.shape[0]):
        out = out * at + coefficients[i]
    return out


def tensordot(lookup, x, p):
    """Compute ``np.tensordot`` over explicit axes."""
    return lookup("np.tensordot")(x[0], x[1], (p["a_axes_summed"], p["b_axes_summed"]))


def where_scalar_left(lookup, x, p):
    """Return a number where a condition is true, else elements."""
    return lookup("np.where")(x[0], p["scalar"], x[1])


def where_scalar_right(lookup, x, p):
    """Return elements where a condition is true, else a number."""
    return lookup("np.where")(x[0], x[1], p["scalar"])


def where_numbers(lookup, x, p):
    """Return one of two numbers, chosen by a condition."""
    return lookup("np.where")(x[0], p["x"], p["y"])


def call(lookup, x, p):
    """Call any function, with its arguments as text; for functions that MXNet has no name for."""

    def resolve_argument(value):
        if isinstance(value, dict):
            if "array" in value:
                return onp.array(value["array"], value["dtype"])
            return x[value["input"]]
        return (
            type(value)(map(resolve_argument, value)) if isinstance(value, (list, tuple)) else value
        )

    args, kwargs = p["arguments"]
    kwargs = {key: resolve_argument(each) for key, each in kwargs.items()}
    return lookup(p["function"])(*map(resolve_argument, args), **kwargs)
