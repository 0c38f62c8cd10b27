"""What of Gluon, images, records and text tests/fuzz/public.py calls."""

import numpy as np

MODULES = [
    "autograd",
    "gluon",
    "gluon.nn",
    "gluon.rnn",
    "gluon.loss",
    "gluon.parameter",
    "gluon.utils",
    "gluon.data",
    "gluon.data.batchify",
    "gluon.data.vision",
    "gluon.data.vision.transforms",
    "gluon.contrib.nn",
    "gluon.contrib.rnn",
    "gluon.contrib.cnn",
    "gluon.contrib.data",
    "gluon.contrib.estimator",
    "image",
    "recordio",
    "onnx",
    "profiler",
    "contrib.text.utils",
    "contrib.text.vocab",
    "contrib.text.embedding",
    "contrib.amp",
    "util",
    "nd.contrib",
    "sym.contrib",
    "storage",
]
# What would reach for the network, or changes the process for good; what is called for each sample
# or step, which leaves the checks to what calls it.
INTERNAL = (
    r"|gluon\.utils\.download|gluon\.data\.vision\.(MNIST|FashionMNIST|CIFAR10+)"
    r"|contrib\.amp\.(init|amp)|contrib\.text\.embedding\.(GloVe|FastText|register)"
    r"|util\.(setenv|set_module|set_np.*|use_np.*|reset_np)|Block.*\.(save|load)|.*\.hybrid_forward"
    r"|batchify .*\.__call__|gluon\.data\.batchify\..*|.*Dataset\.__getitem__"
    r"|.*Cell\.(__call__|forward)|(RNN|LSTM|GRU|.*Loss)\.(__call__|forward)"
)


def _dense(mx):
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    return net


def _net(mx, hybrid):
    kind = mx.gluon.nn.HybridSequential if hybrid else mx.gluon.nn.Sequential
    net = kind()
    net.add(
        mx.gluon.nn.Dense(3, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dropout(0.5)
    )
    net.initialize()
    if hybrid:
        net.hybridize()
    return net


def _trainer(mx, stepped):
    net = _dense(mx)
    made = mx.gluon.Trainer(net.collect_params(), "adam")
    if stepped:
        with mx.autograd.record():
            loss = net(mx.nd.ones((2, 4))).sum()
        loss.backward()
        made.step(2)
    return made


def _dataset(mx):
    return mx.gluon.data.ArrayDataset(np.arange(24, dtype="f").reshape(6, 4), np.arange(6) % 3)


def _estimator(mx):
    return mx.gluon.contrib.estimator.Estimator(
        _dense(mx), mx.gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=mx.metric.Accuracy()
    )


def _loader(mx):
    return mx.gluon.data.DataLoader(_dataset(mx), 2, last_batch="keep")


def _recorded(mx):
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        return (x * x).sum()


def subjects(mx, files):
    """name -> what makes the thing whose methods are called."""
    gluon = mx.gluon
    nn, rnn, data = gluon.nn, gluon.rnn, gluon.data
    found = {
        "NDArray recorded": lambda: _recorded(mx),
        "Dense": lambda: _dense(mx),
        "Dense deferred": lambda: nn.Dense(3),
        "Sequential": lambda: _net(mx, False),
        "HybridSequential": lambda: _net(mx, True),
        "Embedding": lambda: _initialized(nn.Embedding(4, 3)),
        "Lambda": lambda: nn.Lambda("tanh"),
        "HybridLambda": lambda: nn.HybridLambda("relu"),
        "SymbolBlock": lambda: gluon.SymbolBlock(
            mx.sym.Variable("data") * 2, [mx.sym.Variable("data")]
        ),
        "Parameter": lambda: _initialized(gluon.Parameter("w", shape=(3, 4))),
        "Parameter deferred": lambda: gluon.Parameter("w", shape=(3, 0), allow_deferred_init=True),
        "Constant": lambda: gluon.Constant("c", [1, 2]),
        "ParameterDict": lambda: _dense(mx).collect_params(),
        "Trainer": lambda: _trainer(mx, False),
        "Trainer stepped": lambda: _trainer(mx, True),
        "DataLoader": lambda: _loader(mx),
        "ArrayDataset": lambda: _dataset(mx),
        "SimpleDataset": lambda: data.SimpleDataset([1, 2, 3]),
        "SequentialSampler": lambda: data.SequentialSampler(5),
        "RandomSampler": lambda: data.RandomSampler(5),
        "BatchSampler": lambda: data.BatchSampler(data.SequentialSampler(5), 2, "rollover"),
        "IntervalSampler": lambda: gluon.contrib.data.IntervalSampler(9, 2),
        "batchify Stack": lambda: data.batchify.Stack(),
        "batchify Pad": lambda: data.batchify.Pad(),
        "batchify Group": lambda: data.batchify.Group(data.batchify.Stack(), data.batchify.Pad()),
        "Estimator": lambda: _estimator(mx),
        "CheckpointHandler": lambda: gluon.contrib.estimator.CheckpointHandler(files.at("kept")),
        "EarlyStopping": lambda: gluon.contrib.estimator.EarlyStoppingHandler(mx.metric.Accuracy()),
        "StoppingHandler": lambda: gluon.contrib.estimator.StoppingHandler(1),
        "LoggingHandler": lambda: gluon.contrib.estimator.LoggingHandler(),
        "MXRecordIO": lambda: mx.recordio.MXRecordIO(files.at("out.rec"), "w"),
        "MXIndexedRecordIO": lambda: mx.recordio.MXIndexedRecordIO(
            files.at("out.idx"), files.at("out.rec"), "w"
        ),
        "Vocabulary": lambda: mx.contrib.text.vocab.Vocabulary(),
        "LossScaler": lambda: mx.contrib.amp.LossScaler(),
        "profiler Task": lambda: mx.profiler.Task(mx.profiler.Domain("d"), "t"),
        "profiler Counter": lambda: mx.profiler.Counter(mx.profiler.Domain("d"), "c", 3),
        "BucketSentenceIter": lambda: mx.rnn.BucketSentenceIter(
            [[1, 2], [2, 3, 1], [3]], 2, buckets=[2, 4]
        ),
        "sym FusedRNNCell": lambda: mx.rnn.FusedRNNCell(3, num_layers=2, mode="lstm"),
    }
    losses = (
        "L1Loss",
        "L2Loss",
        "SigmoidBCELoss",
        "SoftmaxCELoss",
        "KLDivLoss",
        "HuberLoss",
        "HingeLoss",
        "CTCLoss",
        "TripletLoss",
        "PoissonNLLLoss",
        "CosineEmbeddingLoss",
        "SDMLLoss",
        "LogisticLoss",
        "SigmoidFocalLoss",
        "SoftmaxFocalLoss",
        "DiceLoss",
    )
    for name in losses:
        found[name] = lambda name=name: getattr(gluon.loss, name)()
    for name in ("RNNCell", "LSTMCell", "GRUCell"):
        found[name] = lambda name=name: _initialized(getattr(rnn, name)(3, input_size=4))
        found[f"sym {name}"] = lambda name=name: getattr(mx.rnn, name)(3)
    for name in ("RNN", "LSTM", "GRU"):
        found[name] = lambda name=name: _initialized(getattr(rnn, name)(3, 2, input_size=4))
    layers = {
        "Conv2D": (3, 2),
        "Conv1DTranspose": (3, 2),
        "Conv3D": (2, 1),
        "MaxPool2D": (),
        "GlobalAvgPool1D": (),
        "LayerNorm": (),
        "GroupNorm": (),
        "InstanceNorm": (),
        "PReLU": (),
        "ReflectionPad2D": (1,),
        "Flatten": (),
        "GELU": (),
        "BatchNorm": (),
    }
    for name, args in layers.items():
        found[name] = lambda name=name, args=args: _initialized(getattr(nn, name)(*args))
    transforms = {
        "Cast": (),
        "ToTensor": (),
        "Normalize": (0.5, 0.5),
        "Resize": (4,),
        "CenterCrop": (3,),
        "RandomResizedCrop": (4,),
        "RandomFlipLeftRight": (),
        "RandomColorJitter": (0.5, 0.5, 0.5, 0.5),
        "RandomLighting": (0.1,),
    }
    for name, args in transforms.items():
        kind = getattr(data.vision.transforms, name)
        found[f"transform {name}"] = lambda kind=kind, args=args: kind(*args)
    augmenters = {
        "ResizeAug": (4,),
        "RandomCropAug": ((3, 3),),
        "HueJitterAug": (0.5,),
        "ColorNormalizeAug": ([1, 1, 1], [2, 2, 2]),
        "CastAug": (),
        "DetRandomCropAug": (),
        "DetRandomPadAug": (),
        "DetHorizontalFlipAug": (0.5,),
    }
    for name, args in augmenters.items():
        found[name] = lambda name=name, args=args: getattr(mx.image, name)(*args)
    return found


def _initialized(thing):
    thing.initialize()
    return thing


def examples(mx, files):
    """name of a parameter -> what makes a good value of it."""
    image = lambda: mx.nd.array(np.arange(60).reshape(4, 5, 3) % 255, dtype="uint8")  # noqa: E731
    return {
        "net": lambda: _dense(mx),
        "block": lambda: _dense(mx),
        "x": lambda: mx.nd.ones((2, 4)),
        "inputs": lambda: mx.nd.ones((2, 4)),
        "dataset": lambda: _dataset(mx),
        "params": lambda: _dense(mx).collect_params(),
        "loader": lambda: _loader(mx),
        "train_loader": lambda: _loader(mx),
        "val_data": lambda: _loader(mx),
        "trainer": lambda: _trainer(mx, True),
        "loss": lambda: mx.gluon.loss.L2Loss(),
        "estimator": lambda: _estimator(mx),
        "heads": lambda: [_recorded(mx)],
        "variables": lambda: [mx.nd.ones(2)],
        "src": image,
        "img": image,
        "image": image,
        "size": lambda: (3, 3),
        "w": lambda: 3,
        "h": lambda: 2,
        "units": lambda: 3,
        "channels": lambda: 3,
        "kernel_size": lambda: 2,
        "hidden_size": lambda: 3,
        "sampler": lambda: mx.gluon.data.SequentialSampler(4),
        "length": lambda: 4,
        "filename": lambda: files.at("out"),
        "root": lambda: files.at("."),
        "model_dir": lambda: files.at("kept"),
        "uri": lambda: files.at("out.rec"),
        "f": lambda: lambda a: a,
        "fn": lambda: lambda a: a,
        "func": lambda: mx.nd.zeros,
        "header": lambda: mx.recordio.IRHeader(0, 1.0, 0, 0),
        "s": lambda: bytes(40),
        "body": lambda: lambda a, b: (a, b),
        "init_states": lambda: mx.nd.ones(3),
        "input_shape": lambda: (2, 4, 4),
        "begin_state": lambda: None,
    }
