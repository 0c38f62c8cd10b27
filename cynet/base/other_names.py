"""Names and keywords of PyTorch, Keras and NumPy -> their names in cynet, for errors. In the
suggested code, `x` stands for the array and `net` for the Block."""

from collections.abc import Iterable
from typing import NoReturn

from .errors import ArgumentTypeError, shown

_NDARRAY_HINTS = {  # name in another library -> what to write here
    "add_": "x += y",
    "bool": "x != 0",
    "byte": "x.astype('uint8')",
    "chunk": "x.split(num_outputs)",
    "clamp": "x.clip(low, high)",
    "clone": "x.copy()",
    "contiguous": "every NDArray is contiguous; x.copy() is a copy",
    "cpu": "x.as_in_context(mx.cpu())",
    "cuda": "x.as_in_context(mx.gpu())",
    "device": "x.context",
    "dim": "x.ndim",
    "div_": "x /= y",
    "double": "x.astype('float64')",
    "eq": "x == y",
    "fill_": "x[:] = value",
    "float": "x.astype('float32')",
    "gather": "mx.nd.pick(x, index, axis) or mx.nd.gather_nd",
    "ge": "x >= y",
    "gt": "x > y",
    "half": "x.astype('float16')",
    "index_select": "x.take(index, axis)",
    "int": "x.astype('int32')",
    "is_cuda": "x.context",
    "le": "x <= y",
    "long": "x.astype('int64')",
    "lt": "x < y",
    "masked_fill": "mx.nd.where(mask, value, x)",
    "matmul": "x @ y, or mx.nd.dot and mx.nd.batch_dot",
    "mm": "mx.nd.dot(x, y)",
    "bmm": "mx.nd.batch_dot(x, y)",
    "mul_": "x *= y",
    "ne": "x != y",
    "nelement": "x.size",
    "numel": "x.size",
    "numpy": "x.asnumpy()",
    "permute": "x.transpose(axes)",
    "pow": "x ** y",
    "ravel": "x.reshape((-1,))",
    "requires_grad": "x.attach_grad()",
    "requires_grad_": "x.attach_grad()",
    "scatter_": "mx.nd.scatter_nd, or x[index] = value",
    "sub_": "x -= y",
    "t": "x.T",
    "to": "x.as_in_context(context) or x.astype(dtype)",
    "type": "x.astype(dtype), x.dtype",
    "unsqueeze": "x.expand_dims(axis)",
    "view_as": "x.reshape_like(y)",
    "zero_": "x[:] = 0",
}
_BLOCK_HINTS = {  # method of another library -> what to write here
    "add_module": "net.register_child(block)",
    "children": "net._children.values()",
    "compile": "gluon.Trainer and a loop, or mx.mod.Module(net(mx.sym.var('data'))).fit",
    "cuda": "net.collect_params().reset_ctx(mx.gpu())",
    "eval": "outside of autograd.record() a network predicts; autograd.predict_mode() inside of it",
    "evaluate": "a metric of mx.metric over a loop, or gluon.contrib.estimator.Estimator",
    "fit": "gluon.contrib.estimator.Estimator(net, loss).fit, or mx.mod.Module.fit for Symbols",
    "half": "net.cast('float16')",
    "load_state_dict": "net.load_parameters(file)",
    "load_weights": "net.load_parameters(file)",
    "modules": "net._children.values(), net.apply(function)",
    "named_parameters": "net.collect_params().items()",
    "parameters": "net.collect_params()",
    "predict": "net(x)",
    "register_forward_pre_hooks": "net.register_forward_pre_hook(hook)",
    "register_full_backward_hook": "net.register_backward_hook(hook)",
    "requires_grad_": "net.collect_params().setattr('grad_req', 'null')",
    "save_weights": "net.save_parameters(file)",
    "state_dict": "net.save_parameters(file), net.collect_params()",
    "to": "net.collect_params().reset_ctx(context) or net.cast(dtype)",
    "train": "autograd.record(), or autograd.train_mode()",
    "trainable_weights": "net.collect_params()",
    "zero_grad": "net.collect_params().zero_grad(), where grad_req is 'add'",
}
_LAYER_HINTS = {  # layer of another library -> the layer here
    "AdaptiveAvgPool2d": "nn.GlobalAvgPool2D, mx.nd.contrib.AdaptiveAvgPooling2D",
    "AvgPool1d": "nn.AvgPool1D",
    "AvgPool2d": "nn.AvgPool2D",
    "AveragePooling2D": "nn.AvgPool2D",
    "BCELoss": "gluon.loss.SigmoidBCELoss(from_sigmoid=True)",
    "BCEWithLogitsLoss": "gluon.loss.SigmoidBCELoss",
    "BatchNorm1d": "nn.BatchNorm",
    "BatchNorm2d": "nn.BatchNorm",
    "BatchNormalization": "nn.BatchNorm",
    "CTCLoss": "gluon.loss.CTCLoss",
    "Conv1d": "nn.Conv1D",
    "Conv2d": "nn.Conv2D",
    "Conv3d": "nn.Conv3D",
    "ConvTranspose2d": "nn.Conv2DTranspose",
    "CrossEntropyLoss": "gluon.loss.SoftmaxCrossEntropyLoss",
    "Dropout2d": "nn.Dropout(rate, axes=(2, 3))",
    "GRU": "gluon.rnn.GRU",
    "GlobalAveragePooling2D": "nn.GlobalAvgPool2D",
    "InstanceNorm2d": "nn.InstanceNorm",
    "L1Loss": "gluon.loss.L1Loss",
    "LSTM": "gluon.rnn.LSTM",
    "Linear": "nn.Dense",
    "LogSoftmax": "mx.nd.log_softmax",
    "MSELoss": "gluon.loss.L2Loss, which is half of it",
    "MaxPool1d": "nn.MaxPool1D",
    "MaxPool2d": "nn.MaxPool2D",
    "MaxPooling2D": "nn.MaxPool2D",
    "Module": "nn.HybridBlock, nn.Block",
    "MultiheadAttention": "nn.MultiHeadAttention",
    "ModuleList": "nn.HybridSequential, nn.Sequential",
    "NLLLoss": "gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)",
    "Parameter": "gluon.Parameter",
    "RNN": "gluon.rnn.RNN",
    "ReLU": "nn.Activation('relu')",
    "Sigmoid": "nn.Activation('sigmoid')",
    "Softmax": "mx.nd.softmax",
    "Tanh": "nn.Activation('tanh')",
    "functional": "mx.nd",
    "spectral_norm": "nn.SpectralNorm(net)",
    "weight_norm": "nn.WeightNorm(net)",
}
_ARRAY_FUNCTION_HINTS = {  # function of another library -> the function here
    "Tensor": "mx.nd.NDArray",
    "amax": "mx.nd.max",
    "amin": "mx.nd.min",
    "as_tensor": "mx.nd.array",
    "asarray": "mx.nd.array",
    "astype": "mx.nd.cast",
    "bmm": "mx.nd.batch_dot",
    "cat": "mx.nd.concat(x, y, dim=axis)",
    "clamp": "mx.nd.clip",
    "exp2": "2 ** x",
    "float32": "the text 'float32', or numpy.float32",
    "hstack": "mx.nd.concat(x, y, dim=1)",
    "isclose": "mx.nd.contrib.allclose",
    "isfinite": "mx.nd.contrib.isfinite",
    "isinf": "mx.nd.contrib.isinf",
    "isnan": "mx.nd.contrib.isnan",
    "matmul": "x @ y, or mx.nd.dot and mx.nd.batch_dot",
    "meshgrid": "mx.nd.broadcast_to of two reshaped arrays",
    "mm": "mx.nd.dot",
    "permute": "mx.nd.transpose",
    "rand": "mx.nd.random.uniform(shape=shape)",
    "randint": "mx.nd.random.randint",
    "randn": "mx.nd.random.randn",
    "randperm": "mx.nd.shuffle(mx.nd.arange(n))",
    "scatter": "mx.nd.scatter_nd",
    "tensor": "mx.nd.array",
    "unsqueeze": "mx.nd.expand_dims",
    "vstack": "mx.nd.concat(x, y, dim=0)",
}
OTHER_NAMES = {  # module -> {name in another library: hint}
    "mx": {
        **_ARRAY_FUNCTION_HINTS,
        "DataLoader": "mx.gluon.data.DataLoader",
        "device": "mx.cpu(), mx.gpu()",
        "from_numpy": "mx.nd.array or mx.nd.from_numpy",
        "is_grad_enabled": "mx.autograd.is_recording()",
        "load": "mx.nd.load",
        "manual_seed": "mx.random.seed",
        "nn": "mx.gluon.nn",
        "no_grad": "mx.autograd.pause()",
        "ones": "mx.nd.ones",
        "optim": "mx.optimizer, mx.gluon.Trainer",
        "save": "mx.nd.save",
        "seed": "mx.random.seed",
        "set_grad_enabled": "mx.autograd.set_recording",
        "zeros": "mx.nd.zeros",
    },
    "mx.autograd": {
        "enable_grad": "mx.autograd.record()",
        "inference_mode": "mx.autograd.pause()",
        "no_grad": "mx.autograd.pause()",
    },
    "mx.gluon": {
        "DataLoader": "gluon.data.DataLoader",
        "Module": "gluon.HybridBlock, gluon.Block",
        "optim": "gluon.Trainer",
    },
    "mx.callback": {
        "CSVLogger": "mx.callback.HistoryFile",
        "ModelCheckpoint": "mx.callback.BestCheckpoint, mx.callback.do_checkpoint",
        "ReduceLROnPlateau": "mx.callback.ReduceOnPlateau",
        "StochasticWeightAveraging": "mx.callback.SWA",
        "TerminateOnNaN": "mx.callback.StopOnNaN",
        "WandbLogger": "mx.callback.WeightsAndBiases",
    },
    "mx.gluon.data": {
        "Subset": "dataset.sample(sampler), dataset.take(count), gluon.data.random_split",
        "TensorDataset": "gluon.data.ArrayDataset",
        "WeightedRandomSampler": "gluon.data.WeightedSampler",
    },
    "mx.gluon.utils": {"clip_grad_norm_": "gluon.utils.clip_global_norm"},
    "mx.lr_scheduler": {
        "CosineAnnealingLR": "mx.lr_scheduler.CosineScheduler",
        "CyclicLR": "mx.lr_scheduler.CyclicScheduler",
        "LinearLR": "warmup_steps=... of every schedule",
        "MultiStepLR": "mx.lr_scheduler.MultiFactorScheduler",
        "OneCycleLR": "mx.lr_scheduler.OneCycleScheduler",
        "PolynomialLR": "mx.lr_scheduler.PolyScheduler",
        "ReduceLROnPlateau": "mx.callback.ReduceOnPlateau",
        "StepLR": "mx.lr_scheduler.FactorScheduler",
    },
    "mx.gluon.block.Block": _BLOCK_HINTS,
    "mx.gluon.nn": _LAYER_HINTS,
    "mx.gluon.loss": {
        name: _LAYER_HINTS[name]
        for name in ("BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "MSELoss", "NLLLoss")
    },
    "mx.gluon.Trainer": {
        "zero_grad": "net.collect_params().zero_grad(), where grad_req is 'add'",
        "state_dict": "trainer.save_states(file)",
        "load_state_dict": "trainer.load_states(file)",
    },
    "mx.module.BaseModule": {
        "compile": "fit(optimizer=..., eval_metric=...)",
        "evaluate": "score(eval_data, eval_metric)",
        "predict_proba": "predict(eval_data)",
        "load_weights": "load_params(file)",
        "save_weights": "save_params(file)",
        "summary": "mx.viz.print_summary(module.symbol, shape=shapes)",
    },
    "mx.ndarray": {
        name: there
        for name, there in _ARRAY_FUNCTION_HINTS.items()
        if name not in ("isnan", "matmul", "meshgrid")
    },
    "mx.ndarray.NDArray": _NDARRAY_HINTS,
    "mx.optimizer": {
        "AveragedModel": "gluon.EMA, gluon.SWA; in fit mx.callback.EMA, mx.callback.SWA",
        "ExponentialMovingAverage": "gluon.EMA; in fit mx.callback.EMA",
        "lr_scheduler": "mx.lr_scheduler",
        "swa_utils": "gluon.SWA; in fit mx.callback.SWA",
    },
    "mx.symbol": {
        "Input": "mx.sym.var",
        **{
            name: there.replace("mx.nd.", "mx.sym.")
            for name, there in _ARRAY_FUNCTION_HINTS.items()
            if name not in ("isfinite", "isinf", "isnan", "matmul", "randn", "randperm")
        },
        "matmul": "mx.sym.dot or mx.sym.batch_dot",
        "Tensor": "mx.sym.Symbol",
        **dict.fromkeys(("as_tensor", "asarray", "tensor"), "mx.sym.var, bound to an NDArray"),
    },
}

# keyword of another package -> list of parameters that are suggested if the function has them;
# (parameter, text) suggests the text
_KEYWORD_HINTS: dict[str, list[str | tuple[str, str]]] = {
    "affine": ["scale"],
    "axis": ["dim"],
    "batch_first": [("layout", "layout='NTC'")],
    "betas": [("beta1", "beta1 and beta2")],
    "bias": ["use_bias"],
    "callbacks": [("batch_end_callback", "batch_end_callback and epoch_end_callback")],
    "class_weight": [
        (
            "eval_metric",
            "a weight for each sample: mx.sym.MakeLoss of the weighted loss, or sample_weight of a "
            "loss of Gluon",
        ),
        ("sparse_label", "sample_weight in the call, a number for each sample"),
    ],
    "collate_fn": ["batchify_fn"],
    "data_format": [("layout", "layout='NCHW' or 'NHWC'")],
    "decay": ["wd"],
    "descending": [("is_ascend", "is_ascend, which is its opposite")],
    "device": ["ctx", "context"],
    "dilation": ["dilate"],
    "dilation_rate": ["dilation", "dilate"],
    "dim": ["axis"],
    "dims": ["axes", "axis"],
    "drop_last": [
        ("last_batch", "last_batch='discard'"),
        ("last_batch_handle", "last_batch_handle='discard'"),
    ],
    "embedding_dim": ["output_dim"],
    "epochs": ["num_epoch"],
    "eps": ["epsilon"],
    "epsilon": ["eps"],
    "filters": ["channels", "num_filter"],
    "from_logits": [("from_sigmoid", "from_sigmoid, which is its opposite")],
    "grad_clip": ["clip_gradient"],
    "groups": ["num_group"],
    "ignore_index": [
        ("ignore_label", "ignore_label, with use_ignore"),
        ("sparse_label", "sample_weight in the call, 0 for samples that do not count"),
    ],
    "in_features": ["in_units", "in_channels"],
    "input": ["data"],
    "input_shape": [
        ("in_units", "in_units, or nothing, as the first batch tells it"),
        ("in_channels", "in_channels, or nothing, as the first batch tells it"),
    ],
    "keepdim": ["keepdims"],
    "kernel_initializer": ["weight_initializer"],
    "kernel_size": ["kernel", "pool_size"],
    "largest": [("is_ascend", "is_ascend, which is its opposite")],
    "learning_rate": [("optimizer_params", "optimizer_params={'learning_rate': ...}")],
    "loss": [("eval_metric", "the network's last operator, as mx.sym.SoftmaxOutput")],
    "lr": ["learning_rate", ("optimizer_params", "optimizer_params={'learning_rate': ...}")],
    "max_iter": ["num_epoch"],
    "metrics": ["eval_metric"],
    "mom": ["momentum"],
    "n_epochs": ["num_epoch"],
    "negative_slope": ["alpha", "slope"],
    "nonlinearity": ["activation"],
    "num_classes": ["depth"],
    "num_embeddings": ["input_dim"],
    "num_features": ["in_channels"],
    "out_channels": ["channels", "num_filter"],
    "out_features": ["units", "num_hidden"],
    "output_dim": ["units"],
    "p": ["rate", "ord"],
    "padding": ["pad"],
    "padding_idx": [("input_dim", "a row of the weight that is set to 0, as is its gradient")],
    "persistent_workers": [("num_workers", "num_workers, which stay as long as the DataLoader")],
    "random_state": [("shuffle", "mx.random.seed(...), with shuffle=True")],
    "rate": ["learning_rate", "p"],
    "reduction": [("batch_axis", ".mean() or .sum() of the result, a number for each sample")],
    "return_sequences": [("layout", "out[-1] of the result, which has all steps")],
    "sample_weight": [("eval_metric", "sample_weight of a loss of Gluon")],
    "scheduler": ["lr_scheduler"],
    "shuffle": [("eval_metric", "mx.io.NDArrayIter(data, label, batch_size, shuffle=True)")],
    "size": ["shape"],
    "steps_per_epoch": [("eval_metric", "mx.io.ResizeIter(iterator, size)")],
    "stride": ["strides"],
    "strides": ["stride"],
    "track_running_stats": [("use_global_stats", "use_global_stats, which is its opposite")],
    "validation_data": ["eval_data"],
    "validation_split": [("eval_data", "eval_data=(x, y) of the rows that are kept apart")],
    "weight_decay": ["wd", ("optimizer_params", "optimizer_params={'wd': ...}")],
    "worker_init_fn": [("num_workers", "mx.random.seed, which seeds workers, too")],
    "x": ["train_data"],
    "y": ["label"],
}
_MAX_NAME_CHARS = 60  # longest name that gets a hint
OTHER_KEYWORDS = {  # keyword -> [(parameter, hint)]
    name: [each if isinstance(each, tuple) else (each, each) for each in others]
    for name, others in _KEYWORD_HINTS.items()
}


def refuse_keywords(where: str, given: Iterable[str], known: Iterable[str]) -> NoReturn:
    """Raise ArgumentTypeError for the first unknown keyword of a call."""
    name = next(iter(given))
    raise ArgumentTypeError(
        f"{where}() got an unexpected keyword argument {shown(name)}{keyword_hint(name, known)}"
    )


def keyword_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown keyword, as the end of a sentence.

    name: The keyword.
    known: The keywords that the call accepts.

    Examples
    --------
    >>> keyword_hint("epochs", ["eval_metric", "num_epoch"])
    "; did you mean 'num_epoch'?"
    >>> keyword_hint("kernal", ["kernel", "pad"]), keyword_hint("xyz", ["kernel", "pad"])
    ("; did you mean 'kernel'?", '')
    """
    from difflib import get_close_matches  # imported late: rarely needed

    known, name = list(known), str(name)[:_MAX_NAME_CHARS]
    for needed, suggestion in OTHER_KEYWORDS.get(name.lower(), ()):
        if needed in known:
            return f"; did you mean {repr(suggestion) if suggestion == needed else suggestion}?"
    near = get_close_matches(name, known, 3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
