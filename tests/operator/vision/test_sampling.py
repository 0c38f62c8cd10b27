"""BilinearSampler, SpatialTransformer, Correlation, deformable convolutions at the edges of their
domain, and by any number of threads."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import set_num_threads


def test_what_is_outside_is_zero_whatever_the_border_holds():
    data = mx.nd.array(np.full((1, 1, 3, 3), np.inf))
    grid = mx.nd.array(np.array([[[[-5.0, 1e30, -np.inf, 5]], [[0, 0, 0, 9]]]]))
    assert mx.nd.BilinearSampler(data, grid).asnumpy().ravel().tolist() == [0, 0, 0, 0]


def test_a_point_that_is_no_number():
    data, grid = mx.nd.ones((1, 1, 3, 3)), mx.nd.array([[[[np.nan, 0]], [[0, 0]]]])
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.BilinearSampler(data, grid)
    out.backward()
    assert np.isnan(out.asnumpy()[0, 0, 0, 0]) and out.asnumpy()[0, 0, 0, 1] == 1
    assert np.isfinite(data.grad.asnumpy()).all()


def test_points_on_pixels_take_them_alone():
    data = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    data[0, 0, 1, 2] = np.nan
    grid = mx.nd.array([[[[-1, 0, 0]], [[-1, 0, 1]]]])
    assert mx.nd.BilinearSampler(mx.nd.array(data), grid).asnumpy().ravel().tolist() == [0, 4, 7]


def test_one_pixel():
    """An axis of length 1 has its point in the middle; MXNet divides by 0 there."""
    theta = mx.nd.array([[2, 0, 0.25, 0, 3, -0.5]])
    grid = mx.nd.GridGenerator(theta, transform_type="affine", target_shape=(1, 1))
    assert grid.asnumpy().ravel().tolist() == [0.25, -0.5]
    flow = mx.nd.array([[[[0.5]], [[0.25]]]])
    grid = mx.nd.GridGenerator(flow, transform_type="warp")
    assert grid.asnumpy().ravel().tolist() == [0, -0.5]


@pytest.mark.parametrize("target", [(), (3,), (2, 2, 2), (0, 3), (-1, 3)])
def test_target_shape(target):
    with pytest.raises(mx.MXNetError, match=r"GridGenerator: target_shape must be \(H, W\)"):
        mx.nd.GridGenerator(mx.nd.zeros((1, 6)), transform_type="affine", target_shape=target)


def test_correlation_refuses():
    x = mx.nd.zeros((1, 1, 4, 4))
    for name, params in (
        ("kernel_size must be odd", {"kernel_size": 2}),
        ("'stride2' takes an int >= 1", {"stride2": 0}),
        ("'max_displacement' takes an int >= 0", {"max_displacement": -1}),
        ("no patch fits", {"max_displacement": 4}),
    ):
        with pytest.raises(mx.MXNetError, match=name):
            mx.nd.Correlation(x, x, **params)
    with pytest.raises(mx.MXNetError, match="data2 has shape"):
        mx.nd.Correlation(x, mx.nd.zeros((1, 1, 4, 5)))


def test_resize_refuses():
    x = mx.nd.zeros((1, 1, 4, 5))
    for text, params in (
        ("given together", {"scale_height": 2.0}),
        ("needs scale_height", {"mode": "odd_scale"}),
        ("becomes one of 0.04", {"scale_height": 0.01, "scale_width": 1.0}),
        ("'height' takes an int >= 1", {"height": 0}),
    ):
        with pytest.raises(mx.MXNetError, match=text):
            mx.nd.contrib.BilinearResize2D(x, **params)
    with pytest.raises(mx.MXNetError, match="becomes one of 0"):
        mx.nd.contrib.BilinearResize2D(mx.nd.zeros((1, 1, 1, 5)), mode="to_even_down")
    with pytest.raises(mx.MXNetError, match="one or two numbers"):
        mx.nd.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2, 2))


def test_deformable_is_ordinary_without_offsets():
    rng = np.random.default_rng(0)
    data, weight = (mx.nd.array(rng.standard_normal(s)) for s in ((2, 4, 9, 8), (6, 2, 3, 3)))
    params = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 6, "num_group": 2, "no_bias": True}
    wanted = mx.nd.Convolution(data, weight, **params).asnumpy()
    offset, mask = mx.nd.zeros((2, 18, 9, 8)), mx.nd.ones((2, 9, 9, 8))
    found = mx.nd.contrib.DeformableConvolution(data, offset, weight, **params)
    np.testing.assert_allclose(found.asnumpy(), wanted, 1e-5, 1e-5)
    found = mx.nd.contrib.ModulatedDeformableConvolution(
        data, offset, mask, weight, im2col_step=3, **params
    )
    np.testing.assert_allclose(found.asnumpy(), wanted, 1e-5, 1e-5)


def test_deformable_refuses():
    data, offset = mx.nd.zeros((1, 4, 5, 5)), mx.nd.zeros((1, 18, 5, 5))
    base = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 4, "no_bias": True}
    weight = mx.nd.zeros((4, 4, 3, 3))
    for text, params in (
        ("kernel .* must have 2 numbers", {"kernel": (3,)}),
        ("not a multiple of num_deformable_group 3", {"num_deformable_group": 3}),
        ("not a multiple of num_group 3", {"num_group": 3}),
        ("layout 'NCW' is not available", {"layout": "NCW"}),
        ("'num_group' takes an int >= 1", {"num_group": 0}),
        ("offset has shape", {"pad": (0, 0)}),
    ):
        with pytest.raises(mx.MXNetError, match=text):
            mx.nd.contrib.DeformableConvolution(data, offset, weight, **{**base, **params})


CONV = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 8}
MANY = {
    "BilinearSampler": (((2, 9, 40, 31), (2, 2, 33, 37)), {}),
    "SpatialTransformer": (
        ((2, 9, 40, 31), (2, 6)),
        {"target_shape": (40, 41), "transform_type": "affine", "sampler_type": "bilinear"},
    ),
    "GridGenerator": (((40, 6),), {"transform_type": "affine", "target_shape": (50, 40)}),
    "Correlation": (
        ((2, 9, 20, 21),) * 2,
        {"max_displacement": 3, "pad_size": 3, "kernel_size": 3},
    ),
    "_contrib_DeformableConvolution": (((2, 8, 30, 31), (2, 18, 30, 31), (8, 8, 3, 3), (8,)), CONV),
    "_contrib_ModulatedDeformableConvolution": (
        ((2, 8, 30, 31), (2, 18, 30, 31), (2, 9, 30, 31), (8, 8, 3, 3), (8,)),
        CONV,
    ),
    "_contrib_AdaptiveAvgPooling2D": (((3, 20, 40, 41),), {"output_size": (7, 9)}),
    "_contrib_BilinearResize2D": (((3, 20, 40, 41),), {"height": 55, "width": 33}),
}


@pytest.mark.parametrize("name", MANY)
def test_any_number_of_threads(name):
    """Bit for bit, forward and backward."""
    shapes, params = MANY[name]
    rng = np.random.default_rng(3)
    arrays = [mx.nd.array(rng.standard_normal(shape)) for shape in shapes]
    found = []
    for threads in (1, 2, 3, 7):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            for each in arrays:
                each.attach_grad()
            with mx.autograd.record():
                out = getattr(mx.nd, name)(*arrays, **params)
            out.backward(out)
            found.append([out.asnumpy(), *(each.grad.asnumpy() for each in arrays)])
        finally:
            set_num_threads(before)
    for each in found[1:]:
        for some, first in zip(each, found[0]):
            np.testing.assert_array_equal(some, first)
