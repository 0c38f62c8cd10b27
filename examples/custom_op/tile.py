"""A tile layer as a NumpyOp: repeats an array along any axis, an existing one or a new last one.

It checks itself against numpy.tile and central differences, then runs through Module.
"""

import logging
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


class TileLayer(mx.operator.NumpyOp):
    """``tiles`` copies of the input along ``axis``.

    Parameters
    ----------
    tiles : int
        How many copies, at least 1.
    axis : int
        Which axis; the number of axes of the input itself means a new last one, and a negative
        axis counts from the end.
    """

    def __init__(self, tiles, axis):
        super().__init__(need_top_grad=True)
        if tiles < 1:
            raise ValueError(f"tiles must be at least 1, got {tiles}")
        self.tiles = tiles
        self.axis = axis

    def list_arguments(self):
        return ["input"]

    def list_outputs(self):
        return ["output"]

    def _place(self, ndim):
        """The axis counted from the front."""
        axis = self.axis + ndim if self.axis < 0 else self.axis
        if not 0 <= axis <= ndim:
            raise ValueError(f"axis {self.axis} is none of an array with {ndim} axes")
        return axis

    def infer_shape(self, in_shape):
        shape = list(in_shape[0])
        axis = self._place(len(shape))
        if axis == len(shape):
            shape.append(1)
        shape[axis] *= self.tiles
        return [in_shape[0]], [shape]

    def forward(self, in_data, out_data):
        x = in_data[0]
        axis = self._place(x.ndim)
        if axis == x.ndim:
            out_data[0][:] = x[..., np.newaxis]
        else:
            repeats = [1] * x.ndim
            repeats[axis] = self.tiles
            out_data[0][:] = np.tile(x, repeats)

    def backward(self, out_grad, in_data, out_data, in_grad):
        dx, dy = in_grad[0], out_grad[0]
        axis = self._place(dx.ndim)
        if axis == dx.ndim:
            dx[:] = dy.sum(axis=axis)
        else:  # the copies along a new axis
            split = (*dx.shape[:axis], self.tiles, *dx.shape[axis:])
            dx[:] = dy.reshape(split).sum(axis=axis)


def check(seed):
    """Values and gradients along each axis of arrays with one to four axes."""
    rng = np.random.default_rng(seed)
    for shape in ((4,), (2, 3), (2, 1, 3), (2, 3, 2, 2)):
        x = rng.normal(size=shape)
        for axis in range(-len(shape), len(shape) + 1):
            net = TileLayer(tiles=3, axis=axis)(input=mx.sym.Variable("data"), name="tile")
            wide = x[..., np.newaxis] if axis == len(shape) else x
            repeats = [1] * wide.ndim
            repeats[axis] = 3
            mx.test_utils.check_symbolic_forward(net, [x], [np.tile(wide, repeats)], rtol=1e-6)
            mx.test_utils.check_numeric_gradient(net, [x], numeric_eps=1e-2, rtol=1e-2, atol=1e-3)


def through_module():
    """Bind the layer alone, run it forward and backward, and tell what comes out."""
    tiled = TileLayer(tiles=10, axis=3)(input=mx.sym.Variable("data"), name="tileop")
    logging.info("outputs: %s", tiled.list_outputs())
    logging.info("shapes for data (1, 10, 10): %s", tiled.infer_shape(data=(1, 10, 10)))
    module = mx.mod.Module(tiled, label_names=None)
    module.bind(data_shapes=[("data", (1, 10, 10))], inputs_need_grad=True)
    module.init_params()
    batch = namedtuple("Batch", ["data"])([mx.nd.ones((1, 10, 10))])
    module.forward(batch)
    logging.info("output: %s", module.get_outputs()[0].shape)
    module.backward([mx.nd.ones((1, 10, 10, 10))])
    gradient = module.get_input_grads()[0].asnumpy()
    logging.info("gradient: %s each %s to %s", gradient.shape, gradient.min(), gradient.max())


def main(argv=None):
    """Check the layer, run it, and repeat images by it."""
    options = ["epochs", "batch_size", "lr", "workers", "eager", "gpu"]
    args = common.parser(__doc__, without=options).parse_args(argv)
    common.start(args)
    check(args.seed)
    logging.info("tile: values and gradients are right along every axis")
    through_module()
    (images, _), _ = common.arrays("digits")
    repeated = TileLayer(tiles=6, axis=1)(input=mx.sym.Variable("images"), name="repeated")
    rows = repeated.eval(ctx=mx.cpu(), images=mx.nd.array(images[:3]))[0].asnumpy()
    target = Path(args.out) / "tile.png"
    common.picture(common.tiles(rows), target, "three digits, repeated along an axis")


if __name__ == "__main__":
    main()
