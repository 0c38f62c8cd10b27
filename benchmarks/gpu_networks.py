"""Networks of gpu.py, as Symbols; gpu_torch.py has the same in PyTorch."""

import sys
from pathlib import Path

import cynet as mx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "peers"), str(HERE.parent / "examples" / "image_classification")]
import networks_gluon  # noqa: E402
import networks_mx  # noqa: E402

# name: shape of a batch, number of classes
INPUTS = {
    "lenet": ((128, 1, 28, 28), 10),
    "resnet50": ((64, 3, 224, 224), 1000),
    "mobilenet2": ((64, 3, 224, 224), 10),
    "lstm": ((64, 64, 256), 10),
    "bert": ((32, 128, 768), 10),
}
LSTM_UNITS = 512
HEADS = 12


def network(name, dtype, shape):
    """The Symbol of a name, whose weights and activations are of `dtype` and whose loss is
    float32's, for a batch of that shape."""
    scores = globals()[f"_{name}"](dtype, shape)
    if dtype != "float32":  # parameters get the dtype of the data
        scores = scores(data=mx.sym.cast(mx.sym.Variable("data"), dtype=dtype))
        scores = mx.sym.cast(scores, dtype="float32")
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def _without_loss(symbol):
    """The scores that a SoftmaxOutput takes."""
    return symbol.get_children()[0]


def _lenet(dtype, shape):
    """MXNet's LeNet, as examples/image_classification has it."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc0")
    return mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc1")


def _resnet50(dtype, shape):
    from symbols import resnet

    return _without_loss(resnet.get_symbol(1000, 50, shape[1:]))


def _mobilenet2(dtype, shape):
    return _without_loss(networks_mx.mobilenet2(mx))


def _lstm(dtype, shape):
    """Two layers of LSTM over (batch, time, features), the scores of the last step."""
    batch, time, _ = shape
    states = [mx.sym.zeros((2, batch, LSTM_UNITS), dtype=dtype) for _ in range(2)]
    x = mx.sym.transpose(mx.sym.Variable("data"), axes=(1, 0, 2))
    weight = mx.sym.Variable("lstm_weight", init=mx.init.FusedRNN(None, LSTM_UNITS, 2, "lstm"))
    x = mx.sym.RNN(x, weight, *states, state_size=LSTM_UNITS, num_layers=2, mode="lstm")
    x = mx.sym.squeeze(mx.sym.slice_axis(x, axis=0, begin=time - 1, end=time), axis=0)
    return mx.sym.FullyConnected(x, num_hidden=10)


def _bert(dtype, shape):
    """Two encoder blocks of BERT, the mean over positions."""
    x = mx.sym.Variable("data")
    for _ in range(2):
        block = networks_gluon.encoder(mx, shape[2], HEADS, "gelu")
        block.cast(dtype)
        x = block(x)
    return mx.sym.FullyConnected(mx.sym.mean(x, axis=1), num_hidden=10)
