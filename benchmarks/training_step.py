"""Training steps of Module: forward, backward, update."""

import sys
from pathlib import Path

import numpy as np
from harness import Row, main, median_time

EXAMPLE = Path(__file__).parent.parent / "examples" / "image_classification"
CASES = {  # network, options, batch size, shape of an image
    "MLP 784-128-64-10, batch 128": ("mlp", {}, 128, (1, 28, 28)),
    "LeNet, batch 128": ("lenet", {}, 128, (1, 28, 28)),
    "ResNet-20, 32x32, batch 64": ("resnet", {"num_layers": 20}, 64, (3, 32, 32)),
}


def step(mx, network, batch_size, shape):
    """A function that trains `network` on one batch of random images."""
    rng = np.random.RandomState(0)
    module = mx.mod.Module(network, context=mx.cpu())
    module.bind([("data", (batch_size, *shape))], [("softmax_label", (batch_size,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
    batch = mx.io.DataBatch(
        [mx.nd.array(rng.randn(batch_size, *shape))], [mx.nd.array(rng.randint(0, 10, batch_size))]
    )

    def train():
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
        mx.nd.waitall()

    return train


def rows(mx):
    """The networks of examples/image_classification/symbols."""
    sys.modules["cynet"] = mx  # the networks import cynet; the same lines build them in MXNet
    sys.path.insert(0, str(EXAMPLE))
    import symbols.lenet
    import symbols.mlp
    import symbols.resnet

    for name, (network, options, batch_size, shape) in CASES.items():
        symbol = getattr(symbols, network).get_symbol(num_classes=10, **options)
        yield Row(name, median_time(step(mx, symbol, batch_size, shape), repeat=20, warm_up=5))


if __name__ == "__main__":
    main(__doc__, rows)
