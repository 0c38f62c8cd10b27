"""Faster R-CNN with its proposals and its head, against MXNet 1.9.1 with the same weights."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.networks import faster_rcnn, weights

FIXTURE = Path(faster_rcnn.__file__).parent / "faster_rcnn.npz"


@pytest.mark.parametrize(("kind", "images"), [("one", 1), ("two", 2)])
def test_as_mxnet(kind, images):
    """Names, shapes, outputs and gradients; two images by MultiProposal."""
    with mx.name.NameManager():
        symbol = faster_rcnn.get_symbol(mx, True, multi=images > 1)
    found = weights.run(mx, symbol, faster_rcnn.inputs(np, images))
    with np.load(FIXTURE) as file:
        wanted = {name.partition("/")[2]: file[name] for name in file if name.startswith(kind)}
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if value.dtype.kind == "U":
            assert found[name].tolist() == value.tolist()
            continue
        np.testing.assert_allclose(found[name], value, 0, 1e-4 * np.abs(value).max(), err_msg=name)


def test_prediction():
    """The same regions as in training, and probabilities."""
    arrays = faster_rcnn.inputs(np)
    symbol = faster_rcnn.get_symbol(mx, False)
    given = {name: arrays[name] for name in ("data", "im_info")}
    shapes = symbol.infer_shape(**{name: value.shape for name, value in given.items()})[0]
    args = {
        name: mx.nd.array(given.get(name, weights.drawn(name, shape)))
        for name, shape in zip(symbol.list_arguments(), shapes)
    }
    regions, share, boxes = symbol.bind(mx.cpu(), args, grad_req="null").forward()
    with np.load(FIXTURE) as file:
        np.testing.assert_allclose(regions.asnumpy(), file["one/out4"], 0, 1e-2)
        np.testing.assert_allclose(share.asnumpy(), file["one/out2"], 0, 1e-4)
    assert boxes.shape == (faster_rcnn.ROIS, 4 * faster_rcnn.CLASSES)
