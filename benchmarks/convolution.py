"""Convolutions of batch 32, forward and backward, with channels first and last."""

import itertools

import numpy as np
from harness import Row, main, median_time

SHAPES = {  # channels in, height and width, filters, kernel, stride
    "3x3, 64 to 64 channels, 56x56": (64, 56, 64, 3, 1),
    "1x1, 256 to 64 channels, 56x56": (256, 56, 64, 1, 1),
    "5x5, 20 to 50 channels, 12x12": (20, 12, 50, 5, 1),
    "3x3 stride 2, 128 to 128 channels, 28x28": (128, 28, 128, 3, 2),
}


def rows(mx):
    """One executor for each shape; backward gives the gradients of data, weight and bias."""
    rng = np.random.RandomState(0)
    # MXNet 1.9.1 has no convolutions in NHWC on the CPU
    layouts = ("NCHW",) if mx.__name__ == "mxnet" else ("NCHW", "NHWC")
    for (name, shape), layout in itertools.product(SHAPES.items(), layouts):
        channels, size, num_filter, kernel, stride = shape
        net = mx.sym.Convolution(
            mx.sym.var("data"),
            num_filter=num_filter,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(kernel // 2, kernel // 2),
            layout=layout,
        )
        image = (channels, size, size) if layout == "NCHW" else (size, size, channels)
        executor = net.simple_bind(mx.cpu(), data=(32, *image))
        for array in executor.arg_arrays:
            array[:] = mx.nd.array(rng.randn(*array.shape))
        head = mx.nd.ones(executor.outputs[0].shape)

        def forward(executor=executor):
            executor.forward(is_train=True)
            mx.nd.waitall()

        def both(executor=executor, head=head):
            executor.forward(is_train=True)
            executor.backward([head])
            mx.nd.waitall()

        more = "" if layout == "NCHW" else f", {layout}"
        yield Row(f"{name}, forward{more}", median_time(forward, repeat=7))
        yield Row(f"{name}, both{more}", median_time(both, repeat=7))


if __name__ == "__main__":
    main(__doc__, rows)
