"""Networks of worker_mx.py written with Gluon, as those of networks_torch.py."""


def lenet(mx):
    """Two convolutions, two dense layers."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for channels in (20, 50):
        net.add(nn.Conv2D(channels, 5, activation="tanh"), nn.MaxPool2D(2, 2))
    net.add(nn.Dense(500, activation="tanh"), nn.Dense(10))
    return net


def resnet18(mx):
    """ResNet-18 with activations behind the convolutions."""
    nn = mx.gluon.nn
    unit = mx.gluon.model_zoo.vision.BasicBlockV1
    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, 7, 2, 3, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.MaxPool2D(3, 2, 1))
    before = 64
    for after in (64, 128, 256, 512):
        for number in range(2):
            stride = 2 if after > 64 and not number else 1
            net.add(unit(after, stride, downsample=not number, in_channels=before))
            before = after
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


def lstm(mx):
    """Two LSTM layers over the rows of an image."""

    class Rows(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.lstm = mx.gluon.rnn.LSTM(128, 2, layout="NTC", input_size=28)
                self.last = mx.gluon.nn.Dense(10)

        def hybrid_forward(self, F, x):
            rows = self.lstm(F.reshape(x, shape=(-1, 28, 28)))
            return self.last(F.slice_axis(rows, axis=1, begin=-1, end=None))

    return Rows()


def encoder(mx, width, heads, activation):
    """An encoder block of a transformer: attention, then two dense layers with an activation (an
    act_type of Activation, or "gelu") between them; norms behind the sums."""
    nn = mx.gluon.nn

    class Encoder(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.query, self.key, self.value, self.joined = (
                    nn.Dense(width, flatten=False, in_units=width) for _ in range(4)
                )
                self.wide = nn.Dense(4 * width, flatten=False, in_units=width)
                self.activation = nn.GELU() if activation == "gelu" else nn.Activation(activation)
                self.narrow = nn.Dense(width, flatten=False, in_units=4 * width)
                self.first = nn.LayerNorm(in_channels=width)
                self.second = nn.LayerNorm(in_channels=width)

        def hybrid_forward(self, F, x):
            def parted(x):
                x = F.transpose(F.reshape(x, shape=(0, 0, heads, -1)), axes=(0, 2, 1, 3))
                return F.reshape(x, shape=(-3, 0, 0))

            query, key, value = parted(self.query(x)), parted(self.key(x)), parted(self.value(x))
            share = F.batch_dot(query * (width // heads) ** -0.5, key, transpose_b=True)
            inner = F.batch_dot(F.softmax(share), value)
            inner = F.reshape(inner, shape=(-4, -1, heads, 0, 0))
            inner = F.reshape(F.transpose(inner, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
            x = self.first(x + self.joined(inner))
            return self.second(x + self.narrow(self.activation(self.wide(x))))

    return Encoder()


def attention(mx, width=256, heads=8):
    """Two encoder blocks of a transformer, the mean over positions."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(*(encoder(mx, width, heads, "relu") for _ in range(2)))
    net.add(nn.HybridLambda(lambda F, x: F.mean(x, axis=1)), nn.Dense(10))
    return net


# name: (network, batch size, shape of a sample, how often it is measured)
NETWORKS = {
    "lenet": (lenet, 128, (1, 28, 28), 20),
    "resnet18": (resnet18, 32, (3, 64, 64), 7),
    "lstm": (lstm, 64, (1, 28, 28), 20),
    "attention": (attention, 16, (64, 256), 15),
}


def train(mx, make, size, shape, hybridize):
    """A function that trains a network by one step of SGD, and waits for its end."""
    gluon, autograd = mx.gluon, mx.autograd
    net = make(mx)
    net.initialize(mx.init.Uniform(0.05))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.random.normal(shape=(size, *shape))
    y = mx.nd.array([i % 10 for i in range(size)])
    net(x)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step():
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(size)
        mx.nd.waitall()

    return step


def loader(mx, workers, threads):
    """A function that takes an epoch of 2,000 small samples from a DataLoader."""
    import numpy as np

    data = mx.gluon.data
    samples = [(np.full(100, i, "float32"), i % 10) for i in range(2000)]
    settings = {"num_workers": workers, "thread_pool": threads} if workers else {}
    batches = data.DataLoader(data.SimpleDataset(samples), 50, shuffle=True, **settings)

    def epoch():
        count = sum(len(x) for x, _ in batches)
        assert count == 2000

    return epoch
