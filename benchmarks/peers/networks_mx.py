"""Networks that only the comparison with peers needs, written with the package that is measured."""


def _convolution(mx, net, num_filter, kernel=3, stride=1, **kwargs):
    pad = kernel // 2
    return mx.sym.Convolution(
        net,
        num_filter=num_filter,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        no_bias=True,
        **kwargs,
    )


def _norm(mx, net):
    return mx.sym.BatchNorm(net, fix_gamma=False)


def _relu(mx, net):
    return mx.sym.Activation(net, act_type="relu")


def _classifier(mx, net):
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(8, 8))
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def resnet20(mx):
    """He and others' ResNet-20: shortcuts are the identity unless the shape changes."""
    net = _relu(mx, _norm(mx, _convolution(mx, mx.sym.var("data"), 16)))
    for stage, num_filter in enumerate((16, 32, 64)):
        for unit in range(3):
            stride = 2 if stage and not unit else 1
            inner = _relu(mx, _norm(mx, _convolution(mx, net, num_filter, 3, stride)))
            shortcut = net
            if stride > 1:
                shortcut = _norm(mx, _convolution(mx, net, num_filter, 1, stride))
            net = _relu(mx, _norm(mx, _convolution(mx, inner, num_filter)) + shortcut)
    return _classifier(mx, net)


def densenet(mx, growth=12, layers=6):
    """Three dense blocks (Huang and others, 2017): each layer reads all before it in its block."""
    net, channels = _convolution(mx, mx.sym.var("data"), 2 * growth), 2 * growth
    for block in range(3):
        for _ in range(layers):
            new = _convolution(mx, _relu(mx, _norm(mx, net)), growth)
            net, channels = mx.sym.Concat(net, new), channels + growth
        if block < 2:
            net = _convolution(mx, _relu(mx, _norm(mx, net)), channels, 1)
            net = mx.sym.Pooling(net, pool_type="avg", kernel=(2, 2), stride=(2, 2))
    return _classifier(mx, _relu(mx, _norm(mx, net)))


def mobilenet(mx):
    """Depthwise and 1x1 convolutions in turn (Howard and others, 2017), half as wide."""
    net = _relu(mx, _norm(mx, _convolution(mx, mx.sym.var("data"), 16, 3, 2)))
    channels = 16
    for num_filter, stride in (
        *((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2)),
        *((256, 1),) * 5,
        *((512, 2), (512, 1)),
    ):
        net = _convolution(mx, net, channels, 3, stride, num_group=channels)
        net = _relu(mx, _norm(mx, net))
        net = _relu(mx, _norm(mx, _convolution(mx, net, num_filter, 1)))
        channels = num_filter
    return _classifier(mx, net)


def autoencoder(mx):
    """784-512-128-32 and back, the squared distance from the input as its loss."""
    data = mx.sym.Flatten(mx.sym.var("data"))
    net = data
    for units in (512, 128, 32, 128, 512):
        net = _relu(mx, mx.sym.FullyConnected(net, num_hidden=units))
    net = mx.sym.FullyConnected(net, num_hidden=784)
    return mx.sym.LinearRegressionOutput(net, mx.sym.BlockGrad(data), name="distance")


def gelu_mlp(mx):
    """A multilayer perceptron whose activation is written out (Hendrycks and Gimpel, "Gaussian
    error linear units", 2016)."""
    net = mx.sym.flatten(mx.sym.var("data"))
    for _ in range(2):
        x = mx.sym.FullyConnected(net, num_hidden=1024)
        net = 0.5 * x * (1 + mx.sym.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")


def fused_lstm(mx):
    """Two LSTM layers as one operator, if the package has one."""
    rows = mx.sym.transpose(mx.sym.reshape(mx.sym.var("data"), shape=(0, 28, 28)), axes=(1, 0, 2))
    states = [mx.sym.zeros((2, 64, 128)) for _ in range(2)]
    net = mx.sym.RNN(
        rows, mx.sym.var("lstm_weight"), *states, state_size=128, num_layers=2, mode="lstm"
    )
    net = mx.sym.squeeze(mx.sym.slice_axis(net, axis=0, begin=27, end=28), axis=0)
    net = mx.sym.FullyConnected(net, num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def mobilenet2(mx):
    """MobileNet v2 (Sandler and others, 2018): narrow sums between wide depthwise convolutions."""
    net, channels = _relu6(mx, _norm(mx, _convolution(mx, mx.sym.var("data"), 32, 3, 2))), 32
    for wider, num_filter, count, stride in INVERTED:
        for unit in range(count):
            step, inner = 1 if unit else stride, net
            if wider > 1:
                inner = _relu6(mx, _norm(mx, _convolution(mx, inner, channels * wider, 1)))
            inner = _convolution(mx, inner, channels * wider, 3, step, num_group=channels * wider)
            inner = _convolution(mx, _relu6(mx, _norm(mx, inner)), num_filter, 1)
            inner = _norm(mx, inner)
            net = net + inner if step == 1 and channels == num_filter else inner
            channels = num_filter
    return _classifier(mx, _relu6(mx, _norm(mx, _convolution(mx, net, 1280, 1))))


# widening, filters, units, stride of the first
INVERTED = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


def _relu6(mx, net):
    return mx.sym.clip(net, a_min=0, a_max=6)


def unet(mx, classes=4):
    """Three steps down and up again (Ronneberger and others, 2015), 32 to 256 filters wide."""

    def block(net, num_filter):
        for _ in range(2):
            net = _relu(mx, _norm(mx, _convolution(mx, net, num_filter)))
        return net

    net, beside = mx.sym.var("data"), []
    for num_filter in (32, 64, 128):
        beside.append(block(net, num_filter))
        net = mx.sym.Pooling(beside[-1], pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = block(net, 256)
    for num_filter in (128, 64, 32):
        net = mx.sym.Deconvolution(
            net, num_filter=num_filter, kernel=(2, 2), stride=(2, 2), no_bias=False
        )
        net = block(mx.sym.Concat(beside.pop(), net), num_filter)
    net = mx.sym.Convolution(net, num_filter=classes, kernel=(1, 1))
    return mx.sym.SoftmaxOutput(net, multi_output=True, name="softmax")


def generator(mx):
    """DCGAN's generator (Radford and others, 2016): 100 numbers to an image of 64x64; its loss is
    the mean of squares."""
    net = mx.sym.var("data")
    for num_filter, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1), (3, 2, 1)):
        net = mx.sym.Deconvolution(
            net, num_filter=num_filter, kernel=(4, 4), stride=(stride,) * 2, pad=(pad,) * 2
        )
        if num_filter > 3:
            net = _relu(mx, _norm(mx, net))
    return mx.sym.MakeLoss(mx.sym.mean(mx.sym.square(mx.sym.tanh(net))))


def text_cnn(mx, words=56, length=128):
    """Convolutions over 3, 4 and 5 words, the maximum over the sentence (Kim, 2014)."""
    net = mx.sym.Embedding(mx.sym.var("data"), input_dim=10000, output_dim=length)
    net, found = mx.sym.reshape(net, shape=(-1, 1, words, length)), []
    for k in (3, 4, 5):
        part = _relu(mx, mx.sym.Convolution(net, num_filter=100, kernel=(k, length)))
        found.append(mx.sym.Pooling(part, pool_type="max", kernel=(words - k + 1, 1)))
    net = mx.sym.Dropout(mx.sym.Flatten(mx.sym.Concat(*found)), p=0.5)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")


def norm_mlp(mx):
    """784-1024-1024-1024-10 with BatchNorm and Dropout."""
    net = mx.sym.Flatten(mx.sym.var("data"))
    for _ in range(3):
        net = _relu(mx, _norm(mx, mx.sym.FullyConnected(net, num_hidden=1024)))
        net = mx.sym.Dropout(net, p=0.5)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")


def discriminator(mx):
    """DCGAN's discriminator (Radford and others, 2016): windows of 4x4, stride 2."""
    net = mx.sym.var("data")
    for i, num_filter in enumerate((64, 128, 256, 512)):
        net = mx.sym.Convolution(
            net, num_filter=num_filter, kernel=(4, 4), stride=(2, 2), pad=(1, 1), no_bias=True
        )
        net = mx.sym.LeakyReLU(_norm(mx, net) if i else net, act_type="leaky", slope=0.2)
    net = mx.sym.Convolution(net, num_filter=1, kernel=(4, 4), no_bias=True)
    return mx.sym.LogisticRegressionOutput(mx.sym.Flatten(net), name="softmax")


def critic(mx):
    """A critic of Wasserstein GANs (Arjovsky and others, 2017): windows of 5x5, stride 2."""
    net = mx.sym.var("data")
    for num_filter in (64, 128, 256):
        net = _convolution(mx, net, num_filter, 5, 2)
        net = mx.sym.LeakyReLU(net, act_type="leaky", slope=0.2)
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=1)
    return mx.sym.MakeLoss(mx.sym.mean(net))


def image_autoencoder(mx):
    """Three convolutions with stride 2 and three deconvolutions back."""
    data = net = mx.sym.var("data")
    for num_filter in (32, 64, 128):
        net = _relu(mx, _convolution(mx, net, num_filter, 3, 2))
    for num_filter in (64, 32, 3):
        net = mx.sym.Deconvolution(
            net, num_filter=num_filter, kernel=(4, 4), stride=(2, 2), pad=(1, 1)
        )
        net = _relu(mx, net) if num_filter > 3 else mx.sym.sigmoid(net)
    data = mx.sym.BlockGrad(mx.sym.Flatten(data))
    return mx.sym.LinearRegressionOutput(mx.sym.Flatten(net), data, name="distance")


def attention(mx, width=256, heads=8):
    """Two encoder blocks of a transformer (Vaswani and others, 2017), the mean over positions."""

    def dense(x, units):
        return mx.sym.FullyConnected(x, num_hidden=units, flatten=False)

    def parted(x):
        x = mx.sym.transpose(mx.sym.reshape(x, shape=(0, 0, heads, -1)), axes=(0, 2, 1, 3))
        return mx.sym.reshape(x, shape=(-3, 0, 0))

    net = mx.sym.var("data")
    for _ in range(2):
        query, key, value = (parted(dense(net, width)) for _ in range(3))
        share = mx.sym.batch_dot(query * (width // heads) ** -0.5, key, transpose_b=True)
        inner = mx.sym.batch_dot(mx.sym.softmax(share), value)
        inner = mx.sym.reshape(inner, shape=(-4, -1, heads, 0, 0))
        inner = mx.sym.reshape(mx.sym.transpose(inner, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        net = mx.sym.LayerNorm(net + dense(inner, width))
        net = mx.sym.LayerNorm(net + dense(_relu(mx, dense(net, 4 * width)), width))
    net = mx.sym.FullyConnected(mx.sym.mean(net, axis=1), num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def factorization(mx, rows=20000, length=64):
    """Ratings as products of a user's and an item's row; dense gradients of both tables."""
    pairs, found = mx.sym.var("data"), []
    for i, name in enumerate(("user", "item")):
        index = mx.sym.squeeze(mx.sym.slice_axis(pairs, axis=1, begin=i, end=i + 1))
        found.append(mx.sym.Embedding(index, input_dim=rows, output_dim=length, name=name))
    return mx.sym.LinearRegressionOutput(mx.sym.sum(found[0] * found[1], axis=1), name="softmax")


def char_cnn(mx):
    """Convolutions over characters (Zhang and others, 2015), half as wide."""
    net = mx.sym.var("data")
    for k, pool in ((7, 3), (7, 3), (3, 0), (3, 0), (3, 3)):
        net = _relu(mx, mx.sym.Convolution(net, num_filter=128, kernel=(k,)))
        if pool:
            net = mx.sym.Pooling(net, pool_type="max", kernel=(pool,), stride=(pool,))
    net = mx.sym.Flatten(net)
    for _ in range(2):
        net = mx.sym.Dropout(_relu(mx, mx.sym.FullyConnected(net, num_hidden=512)), p=0.5)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")
