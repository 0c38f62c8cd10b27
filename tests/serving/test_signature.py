"""Signatures of Predictors: zeros to run on, names and lengths of outputs."""

from functools import partial

import numpy as np
import pytest

from cynet.serving.signature import find_signature, make_zeros


def test_zeros_of_inputs():
    shapes, dtypes = {"a": (3, -1), "b": (), "c": (-1, 2)}, {"a": "f4", "b": "i8", "c": "i1"}
    for length in (1, 5):
        found = make_zeros(shapes, dtypes, 2, length)
        assert [each.shape for each in found] == [(2, 3, length), (2,), (2, length, 2)]
        assert [each.dtype for each in found] == list(dtypes.values())
        assert not any(each.any() for each in found)


def test_lengths_of_outputs():
    """An axis varies if it differs, or if that cannot be known."""

    def run(arrays, refused=()):
        (x,) = arrays
        if x.shape[1] in refused:
            raise ValueError("a length")
        return [np.zeros((1, 2, x.shape[1]), "f4"), np.zeros((1,), "i4")]

    for refused, shape in ((0, (-1, 2, -1)), (33, (-1, -1, -1)), (1, (-1, -1, -1))):
        some = partial(run, refused=(refused,))
        found = find_signature({"x": (-1,)}, {"x": "f4"}, ["a", "b"], some)
        assert found.inputs == [("x", "f4", (-1, -1))]
        assert found.outputs == [("a", "f4", shape), ("b", "i4", (-1,))]
    with pytest.raises(ValueError, match="a length"):
        find_signature({"x": (1,)}, {"x": "f4"}, [], partial(run, refused=(1,)))
    for names, wanted in ((["a", "a"], ["output0", "output1"]), ([], ["output0", "output1"])):
        found = find_signature({"x": (4,)}, {"x": "f4"}, names, run)
        assert [(each.name, each.shape) for each in found.outputs] == [
            (wanted[0], (-1, 2, 4)),
            (wanted[1], (-1,)),
        ]
