"""Operators that no case can describe, with the reason and where they are tested instead."""

from cynet.operator import OPERATORS

_PYTHON = "runs a Python class its parameter names; tests/operator/custom/test_custom.py"
_RANDOM = "its values are random; tests/operator/random checks distribution, dtypes and streams"

EXCEPTIONS = {
    "_channels_last": "float32 alone, put in by a pass: tests/graph/passes/test_memory_format.py",
    **dict.fromkeys(
        (
            "_image_random_flip_left_right",
            "_image_random_flip_top_bottom",
            "_image_random_color_jitter",
            "_image_random_lighting",
        ),
        "its values are random; tests/operator/image/test_random_changes.py",
    ),
    **dict.fromkeys(("Custom", "_NDArray", "_Native"), _PYTHON),
    **{
        entry.name: _RANDOM
        for _, entry in OPERATORS.items()
        if entry.name.startswith(("_random_", "_sample_")) or entry.name == "_shuffle"
    },
}
