"""Inputs that have other numbers of axes are refused, and no length is read that is not there."""

import pytest

import cynet as mx
from tests.operator.sweeps import check_sweep


def test_every_operator():
    check_sweep("rank_sweep", 0, 1, "refused")


def test_no_axes():
    with mx.util.np_shape(True):
        scalar = mx.nd.array(3.0)
        assert scalar.shape == ()
        for call in (mx.nd.contrib.fft, mx.nd.contrib.ifft):
            with pytest.raises(mx.errors.ShapeError, match=r"ifft|fft.*"):
                call(scalar)
