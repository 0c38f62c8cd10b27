"""Regions of interest that are wrong, far away, very large, or of no image."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.kernels.parallel import set_num_threads

DATA = np.arange(2 * 4 * 6 * 5, dtype=np.float32).reshape(2, 4, 6, 5)
POOLED = {"pooled_size": (2, 2), "spatial_scale": 1.0}
SHIFTED = {"output_dim": 1, "pooled_size": 2, "spatial_scale": 1.0, "group_size": 2}
CALLS = {
    "ROIPooling": lambda x, r: mx.nd.ROIPooling(x, r, **POOLED),
    "_contrib_ROIAlign": lambda x, r: mx.nd.contrib.ROIAlign(x, r, **POOLED),
    "_contrib_RROIAlign": lambda x, r: mx.nd.contrib.RROIAlign(x, r, **POOLED),
    "_contrib_PSROIPooling": lambda x, r: mx.nd.contrib.PSROIPooling(x, r, **SHIFTED),
    "_contrib_DeformablePSROIPooling": lambda x, r: mx.nd.contrib.DeformablePSROIPooling(
        x, r, no_trans=True, **SHIFTED
    ),
}


def call(name, region, dtype="float32"):
    numbers = [*region, 0] if name == "_contrib_RROIAlign" else region
    return CALLS[name](mx.nd.array(DATA, dtype=dtype), mx.nd.array([numbers], dtype=dtype))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wrong_regions(name, dtype):
    with pytest.raises(ArgumentError, match=f"operator {name}: row 0 of rois is of image 2, but"):
        call(name, [2, 0, 0, 3, 3], dtype).asnumpy()
    for wrong in (np.nan, np.inf, -np.inf, 3e9):
        with pytest.raises(ArgumentError, match=f"operator {name}: row 0 of rois has coordinates"):
            call(name, [0, 0, wrong, 3, 3], dtype).asnumpy()
    with pytest.raises(ArgumentError, match="is of image nan"):
        call(name, [np.nan, 0, 0, 3, 3], dtype).asnumpy()


@pytest.mark.parametrize("name", CALLS)
def test_no_image(name):
    assert not call(name, [-1, 0, 0, 3, 3]).asnumpy().any()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("region", [[0, -9e8, -9e8, 9e8, 9e8], [1, 5e8, 5e8, 9e8, 9e8]])
def test_large_regions_end(name, region):
    """However many samples they would have, only those in the data are looked at."""
    assert np.isfinite(call(name, region).asnumpy()).all()


def test_aligned_regions_have_a_size():
    for region in ([0, 2, 2, 2, 4], [0, 3, 3, 1, 4]):
        rois = mx.nd.array([[0, 0, 0, 3, 3], region])
        with pytest.raises(ArgumentError, match="row 1 of rois has no width or no height"):
            mx.nd.contrib.ROIAlign(mx.nd.array(DATA), rois, aligned=True, **POOLED).asnumpy()


def test_channels_do_not_fit():
    with pytest.raises(mx.MXNetError, match="data has 3 channels, not a multiple of the 4 bins"):
        mx.nd.contrib.ROIAlign(
            mx.nd.zeros((1, 3, 4, 4)), mx.nd.zeros((1, 5)), position_sensitive=True, **POOLED
        )
    with pytest.raises(mx.MXNetError, match="trans has 3 channels"):
        mx.nd.contrib.DeformablePSROIPooling(
            mx.nd.zeros((1, 4, 4, 4)), mx.nd.zeros((1, 5)), mx.nd.zeros((1, 3, 2, 2)), **SHIFTED
        )
    with pytest.raises(mx.MXNetError, match="data has shape"):
        mx.nd.contrib.PSROIPooling(mx.nd.zeros((1, 5, 4, 4)), mx.nd.zeros((1, 5)), **SHIFTED)


def test_no_regions():
    out = mx.nd.ROIPooling(mx.nd.array(DATA), mx.nd.zeros((0, 5)), **POOLED)
    assert out.shape == (0, 4, 2, 2)


@pytest.mark.parametrize("name", CALLS)
def test_any_number_of_threads(name):
    """Bit for bit, forward and backward."""
    rng = np.random.default_rng(7)
    size = (2, 64 if "PSROI" not in name else 4 * 16, 30, 31)
    rois = rng.uniform(0, 25, (40, 5))
    rois[:, 0] = rng.integers(0, 2, 40)
    if name == "_contrib_RROIAlign":
        rois = np.concatenate([rois, rng.uniform(-90, 90, (40, 1))], 1)
    data, rois = mx.nd.array(rng.standard_normal(size)), mx.nd.array(rois)
    function = CALLS[name]
    if "PSROI" in name:
        params = {**SHIFTED, "output_dim": 16}
        operator = getattr(mx.nd, name)
        more = {"no_trans": True} if "Deformable" in name else {}

        def function(x, r):
            return operator(x, r, **params, **more)

    found = []
    for threads in (1, 2, 3, 7):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            data.attach_grad()
            with mx.autograd.record():
                out = function(data, rois)
            out.backward(mx.nd.ones_like(out))
            found.append((out.asnumpy(), data.grad.asnumpy()))
        finally:
            set_num_threads(before)
    for out, grad in found[1:]:
        np.testing.assert_array_equal(out, found[0][0])
        np.testing.assert_array_equal(grad, found[0][1])
