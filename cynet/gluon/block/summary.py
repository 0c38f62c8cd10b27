"""The table of a network's layers, with output shapes and parameter counts."""

import math

from ...ndarray import NDArray
from ..errors import MismatchError

_COLUMN_WIDTHS = (42, 42, 15)  # characters


def print_summary(block, inputs):
    """Run the Block once and print a row for each Block inside."""
    rows, handles, seen, shared = [], [], set(), 0

    def message_shape(value):
        if isinstance(value, NDArray):
            return str(value.shape)
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(message_shape, value)) + "]"
        return str(value)

    def make_hook(path):
        def record_row(each, _, out):
            nonlocal shared
            count = 0
            for param in each._reg_params.values():
                size = math.prod(param.shape)
                count += size
                shared += size * (id(param) in seen)
                seen.add(id(param))
            label = f"{path} ({type(each).__name__})" if path else type(each).__name__
            rows.append((label, message_shape(out), count))

        return record_row

    def register_hooks(each, path):
        if getattr(each, "_active", False):
            raise MismatchError(f"summary: {each.name} is hybridized; hybridize(False) first")
        children = list(each._named_children())
        if not children or each._reg_params or each is not block:
            handles.append(each.register_forward_hook(make_hook(path)))
        for name, child in children:
            register_hooks(child, f"{path}.{name}" if path else name)

    try:
        register_hooks(block, "")
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    params = {id(each): each for each in block.collect_params().values()}
    total = sum(count for _, _, count in rows)
    unique = sum(math.prod(each.shape) for each in params.values())
    trainable = sum(
        math.prod(each.shape) for each in params.values() if each.grad_req != "null"
    ) + (total - unique)
    line = "-" * sum(_COLUMN_WIDTHS)
    print(line)
    print(_format_row("Layer (type)", "Output Shape", "Param #"))
    print("=" * sum(_COLUMN_WIDTHS))
    print(_format_row("Input", message_shape(inputs[0] if len(inputs) == 1 else list(inputs)), 0))
    for row in rows:
        print(_format_row(*row))
    print("=" * sum(_COLUMN_WIDTHS))
    for what, count in (
        ("Total params", total),
        ("Trainable params", trainable),
        ("Non-trainable params", total - trainable),
        ("Shared params in forward computation graph", shared),
        ("Unique parameters in model", unique),
    ):
        print(f"{what}: {count}")
    print(line)


def _format_row(*columns):
    return "".join(f"{value!s:>{width}}" for value, width in zip(columns, _COLUMN_WIDTHS))
