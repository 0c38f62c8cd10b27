"""Where each algorithm of a convolution is estimated to be the fastest: shapes whose times were
measured."""

import pytest

from cynet.operator.algorithms import NEVER
from cynet.operator.nn.convolution import cost
from cynet.operator.nn.convolution.select import ALGORITHMS, ConvDesc
from tests.levels import on_x86


def described(data, filters, kernel, pad, stride=1, level="avx2", channels_last=True, **more):
    """The ConvDesc of a convolution of data (N, C, *size), alike along all axes."""
    axes = len(data) - 2
    kernel, stride = ((n if isinstance(n, tuple) else (n,) * axes) for n in (kernel, stride))
    sizes = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(data[2:], pad, kernel, stride)]
    out = (data[0], filters, *sizes)
    dilate = (1,) * axes
    return ConvDesc(
        data,
        out,
        kernel,
        stride,
        dilate,
        pad,
        1,
        "float32",
        False,
        channels_last,
        level=level,
        **more,
    )


@pytest.mark.parametrize("form", ["avx2", "avx512", "by row"])
def test_winograd(form, monkeypatch):
    monkeypatch.setattr(cost, "winograd_is_by_row", lambda *sizes: form == "by row")

    def suits(image, filters, kernel, pad, stride=1):
        """`image`: (batch, height, width, channels)."""
        data = image[0], image[3], *image[1:3]
        level = "avx2" if form == "avx2" else "avx512"
        desc = described(data, filters, kernel, pad, stride, level)
        if not cost.can_use_winograd(desc) or min(desc.out) < 1:
            return False
        return cost.winograd_cycles(desc) < cost.direct_cycles(desc)

    assert suits((64, 32, 32, 16), 16, 3, (1, 1))
    assert suits((64, 8, 8, 64), 64, 3, (1, 1))
    assert suits((8, 56, 56, 64), 64, 3, (1, 1))
    assert not suits((64, 32, 32, 3), 16, 3, (1, 1))  # few channels
    assert not suits((1, 7, 7, 512), 512, 3, (1, 1))  # more weights than pixels
    assert not suits((64, 2, 2, 64), 64, 3, (1, 1))  # tiles mostly empty
    assert not suits((8, 2, 9, 64), 64, 3, (0, 0))  # no output
    assert suits((128, 12, 12, 20), 50, 5, (0, 0))
    assert suits((16, 28, 28, 32), 96, 5, (2, 2))
    assert suits((16, 27, 27, 96), 256, 5, (2, 2))
    assert not suits((128, 28, 28, 1), 20, 5, (0, 0))
    assert not suits((1, 7, 7, 512), 512, 5, (2, 2))
    assert not suits((8, 4, 9, 64), 64, 5, (0, 0))
    assert not suits((64, 32, 32, 16), 16, 7, (3, 3))  # no such kernel
    assert suits((8, 31, 31, 128), 256, 4, (1, 1))
    assert suits((16, 32, 32, 64), 128, 4, (1, 1), stride=2)
    assert suits((64, 16, 16, 64), 128, 5, (2, 2), stride=2)
    assert not suits((16, 8, 8, 256), 512, 4, (1, 1), stride=2)  # weights
    assert not suits((16, 32, 32, 64), 128, 4, (1, 1), stride=3)
    assert suits((128, 20, 20, 256), 256, 8, (0, 0), stride=2)
    assert not suits((128, 20, 20, 256), 256, 9, (0, 0), stride=2)  # too large a window
    assert not suits((8, 64, 64, 64), 64, 10, (4, 4), stride=2)
    assert not suits((16, 32, 32, 64), 128, 2, (0, 0), stride=2)  # one tap a phase
    # where a direct sum has half of the speed and vectors are half full at most
    assert suits((64, 32, 32, 8), 16, 3, (1, 1)) == (form == "avx2")
    assert suits((64, 32, 32, 8), 32, 3, (1, 1)) == (form != "by row")
    assert suits((64, 16, 16, 12), 36, 3, (1, 1)) == (form != "by row")
    # a phase has few taps
    assert suits((16, 28, 28, 256), 256, 3, (1, 1), stride=2) == (form == "avx2")


@on_x86
@pytest.mark.parametrize("level", ["avx2", "avx512", "amx"])
def test_direct(level):
    def suits(batch, size, channels, filters, kernel, stride=1):
        data, pad = (batch, channels, size, size), (kernel // 2,) * 2
        desc = described(data, filters, kernel, pad, stride, level)
        return ALGORITHMS.choose(desc).name == "direct"

    assert suits(32, 2, 192, 320, 3)
    assert suits(32, 4, 256, 256, 3, stride=2)
    assert suits(32, 4, 48, 128, 5)
    assert not suits(128, 4, 64, 64, 3)  # fewer products by Winograd's tiles
    assert not suits(32, 7, 96, 96, 3)  # most taps lie inside
    assert not suits(1, 2, 512, 512, 3)  # more weights than pixels
    assert not suits(32, 4, 3, 64, 3)  # few channels
    assert not suits(32, 4, 64, 64, 1)  # no tap lies outside
    assert suits(32, 8, 128, 256, 3, stride=2)
    # with 16 registers small tiles are quicker
    assert suits(32, 4, 192, 192, 3) == (level in ("avx512", "amx"))


def test_implicit_gemm():
    def suits(width, kernel, stride=1):
        data = (1, 1, 9, width)
        desc = described(data, 1, (1, kernel), (0, 0), (1, stride), channels_last=False)
        return cost.implicit_gemm_cycles(desc) < NEVER

    assert suits(30, 5)
    assert suits(8, 3)
    assert not suits(7, 3)  # too many pixels between rows
    assert not suits(30, 11)
    assert suits(30, 5, 2)
    assert not suits(30, 3, 2), "each number is seen once or twice"


@pytest.mark.parametrize("level, most", [("baseline", 0), ("avx2", 4), ("avx512", 8), ("amx", 8)])
def test_scatter(level, most):
    """Up to half a vector of channels; with a packed weight few pixels of any channels."""
    for channels in (1, 2, 3, 4, 5, 8, 9):
        desc = described((2, channels, 24, 24), 40, 4, (1, 1), 2, level)
        assert (cost.scatter_cycles(desc) < NEVER) == (channels <= most)
    few = described((1, 64, 16, 16), 128, 4, (1, 1), 2, level, packed=True)
    assert (cost.scatter_cycles(few) < NEVER) == (level != "baseline")
    assert cost.scatter_cycles(few._replace(data=(2, *few.data[1:]))) == NEVER


def test_at_the_baseline_only_libraries():
    for channels_last in (True, False):
        desc = described((64, 64, 8, 8), 64, 3, (1, 1), 1, "baseline", channels_last)
        assert ALGORITHMS.choose(desc).name == ("onednn" if channels_last else "im2col")
