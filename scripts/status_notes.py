"""What docs/operators.md and docs/api_status.md say that signatures cannot show."""

import cynet as mx

_NUMPY = "`mx.np` and `mx.npx`, NumPy's second face"
_PLUGINS = "plugins and notebooks (`mx.library`, `mx.notebook`, TVM, TensorRT)"
_LIBRARY = "helpers around MXNet's C library and its own processes"
_FAILS = "`mx.nd.imdecode`, of which every call fails in MXNet 1.9.1: use `mx.image.imdecode`"
_RAISES = "methods that do nothing in MXNet but raise"

# (pattern of a path, why it is not asked for)
NOT_ASKED = [
    (r"numpy|\bnp\b|np_array|use_np|\.npx\b|_np_|set_np\b|reset_np|np_ufunc", _NUMPY),
    (r"dgl_", "sampling of graphs (`dgl_*`)"),
    (r"\.backward_", "gradients of operators under names of their own (`backward_*`)"),
    (r"mx\.(notebook|library|torch|th|tvmop|error)|tensorrt|optimize_for|tvm", _PLUGINS),
    (r"_op_fallback|_dispatch_protocol|classproperty|with_metaclass|check_call|_LIB", _LIBRARY),
    (r"get_indexing_dispatch_code|get_oshape_of_gather_nd_op|indexing_key_expand", _LIBRARY),
    (r"c_array|Handle$|libinfo\.find|mx_uint|c_str|build_param_doc|_kvstore_handle", _LIBRARY),
    (
        r"ConnectionWrapper|DataLoaderV1|\.(Simple)?Queue|_loop_v1|(rebuild|reduce)_ndarray",
        _LIBRARY,
    ),
    (r"mx\.ndarray\.imdecode", _FAILS),
    (r"Symbol\.(as_in_context|asscalar|asnumpy|backward|copy|detach|wait_to_read)$", _RAISES),
    (r"Symbol\.gradient$|Optimizer\.set_lr_scale$", _RAISES),
    (r"get_backend_symbol", _PLUGINS),
    (r"apache_repo_url|tensor_types|SKLEARN_INSTALLED|lr_scheduler\.pi$", _LIBRARY),
]

# paths whose call is the same although the signatures look otherwise
SAME_CALL = set()

# path: how it differs
_CONSTRUCTOR = "made by functions, not by its constructor"
DIFFERS = {
    "mx.executor.Executor": _CONSTRUCTOR,
    "mx.kvstore.KVStore": _CONSTRUCTOR,
    "mx.rtc.CudaKernel": _CONSTRUCTOR,
    "mx.io.MXDataIter": "a base class of the iterators; it takes no handle",
    "mx.symbol.contrib.boolean_mask": "refused: its shape depends on values",
    "mx.contrib.text.embedding.FastText": "reads local files; there is no table of them",
    "mx.contrib.text.embedding.GloVe": "reads local files; nothing is downloaded",
}


def _estimator():
    net = mx.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    loss = mx.gluon.loss.L2Loss()
    return mx.gluon.contrib.estimator.Estimator(net, loss, trainer=trainer, context=mx.cpu())


# path of a class: a function that makes an object, for attributes that the class does not show
INSTANCES = {
    "mx.executor.Executor": lambda: mx.sym.relu(mx.sym.var("x")).simple_bind(mx.cpu(), x=(1,)),
    "mx.gluon.contrib.estimator.Estimator": _estimator,
    "mx.contrib.amp.loss_scaler.LossScaler": mx.contrib.amp.LossScaler,
    "mx.metric.PCC": mx.metric.PCC,
}
