"""Helpers for operators on quantized arrays: dtypes, and range arrays of one float."""

from ...base.errors import ArgumentError, ArgumentTypeError
from ..checks.shapes import unify_shapes

BYTES = ("uint8", "int8")  # dtypes of 8-bit integers
BYTE_LIMITS = {"uint8": (0, 255), "int8": (-128, 127)}  # least and largest integer
FINE_STEPS = {"uint8": 255.5, "int8": 127.5}  # steps for the larger end of a range, in quantize_v2
ONE = (1,)  # shape of the arrays with an end of a range


def range_input_shapes(prop, in_shapes, first):
    """Return the shapes of the inputs from `first` on, which are ranges of one element each."""
    names = prop.list_arguments()[first:]
    return [unify_shapes(name, shape, ONE) for name, shape in zip(names, in_shapes[first:])]


def require_byte_dtype(prop, dtype, name="data", allowed=BYTES):
    """Raise ArgumentTypeError unless `dtype`, that of the input `name`, is known and allowed."""
    if dtype is not None and dtype not in allowed:
        raise ArgumentTypeError(
            f"operator {prop.op_name} takes {' or '.join(allowed)}; input '{name}' is {dtype}"
        )


def nan_error(where, name, index, value):
    """Return the exception for a float of the input `name` that is NaN or infinite."""
    return ArgumentError(
        f"{where}: element {index} of '{name}' is {value:g}, of which integers of 8 bits have none"
    )


class NanCheck:  # mixin: errors name NaNs and infinities
    """Mixin whose error names a float that cannot be quantized; before a KernelProperty."""

    takes_float32 = True  # contrib/amp: float32, but no narrower floats

    def kernel_error(self, item, values):
        name = self.forward.reads[int(values[0])]
        return nan_error(self._operator_label(), name, item, values[1])


def has_calib_range(prop):
    """Return whether `prop` has a range; ArgumentError if only one end is given."""
    low, high = prop.min_calib_range, prop.max_calib_range
    if (low is None) != (high is None):
        raise ArgumentError(
            f"operator {prop.op_name}: min_calib_range {low} and max_calib_range {high} must be "
            "given together"
        )
    if low is not None and not low <= high:
        raise ArgumentError(
            f"operator {prop.op_name}: min_calib_range {low} is larger than max_calib_range {high}"
        )
    return low is not None


def quantized_dtype(prop):
    """Return the dtype for `out_type`; 'auto' is uint8 if the range is not negative."""
    if prop.out_type != "auto":
        return prop.out_type
    return "uint8" if has_calib_range(prop) and prop.min_calib_range >= 0 else "int8"
