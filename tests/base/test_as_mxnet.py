"""Every module that MXNet 1.9.1 has for dense arrays is found under its name, with its names."""

import json
import subprocess
import sys

# module: names that scripts take from it
FROM = {
    "contrib.amp.amp": "init_trainer scale_loss convert_model convert_bucketing_module",
    "contrib.amp.loss_scaler": "LossScaler",
    "contrib.onnx": "import_model_ export_model",
    "contrib.svrg_optimization.svrg_module": "SVRGModule",
    "contrib.text.embedding": "GloVe register",
    "executor_manager": "_split_input_slice _load_general _bind_exec _check_arguments",
    "gluon.block": "HybridBlock _BlockScope _flatten _regroup",
    "gluon.contrib.data.text": "WikiText2",
    "gluon.contrib.estimator.event_handler": "TrainBegin",
    "gluon.contrib.nn.basic_layers": "HybridConcurrent",
    "gluon.contrib.rnn.conv_rnn_cell": "Conv2DLSTMCell",
    "gluon.contrib.rnn.rnn_cell": "VariationalDropoutCell",
    "gluon.data.dataset": "_DownloadedDataset _LazyTransformDataset ArrayDataset",
    "gluon.data.sampler": "BatchSampler",
    "gluon.data.vision.datasets": "MNIST",
    "gluon.data.vision.transforms": "Compose",
    "gluon.loss": "_apply_weighting _reshape_like",
    "gluon.model_zoo.vision.densenet": "densenet_spec DenseNet",
    "gluon.model_zoo.vision.inception": "make_aux",
    "gluon.model_zoo.vision.resnet": "resnet_spec resnet_net_versions resnet_block_versions",
    "gluon.model_zoo.vision.vgg": "vgg_spec",
    "gluon.nn.activations": "Activation",
    "gluon.nn.basic_layers": "Dense BatchNorm Sequential",
    "gluon.nn.conv_layers": "Conv2D MaxPool2D GlobalAvgPool2D _Conv",
    "gluon.parameter": "ParameterDict",
    "gluon.rnn.rnn_cell": "LSTMCell _format_sequence _get_begin_state",
    "gluon.rnn.rnn_layer": "LSTM _RNNLayer",
    "gluon.utils": "split_and_load",
    "image.detection": "CreateDetAugmenter ImageDetIter",
    "image.image": "imdecode ImageIter copyMakeBorder",
    "initializer": "InitDesc",
    "io.io": "DataDesc NDArrayIter PrefetchingIter",
    "io.utils": "_init_data",
    "kvstore.base": "KVStoreBase create",
    "kvstore.kvstore": "KVStore",
    "kvstore.kvstore_server": "KVStoreServer",
    "kvstore_server": "KVStoreServer",
    "model": "_create_kvstore _multiple_callbacks _update_params BatchEndParam load_checkpoint",
    "module.base_module": "BaseModule _as_list _check_input_names _parse_data_desc",
    "module.bucketing_module": "BucketingModule",
    "module.executor_group": "DataParallelExecutorGroup _merge_multi_context _prepare_group2ctxs",
    "module.module": "Module",
    "module.python_module": "PythonLossModule",
    "ndarray.ndarray": "NDArray array zeros ones concatenate",
    "ndarray.random": "uniform",
    "ndarray.utils": "load save",
    "optimizer.contrib": "GroupAdaGrad",
    "optimizer.optimizer": "Optimizer SGD get_updater",
    "rnn.rnn": "save_rnn_checkpoint",
    "rnn.rnn_cell": "LSTMCell FusedRNNCell",
    "symbol.op": "Convolution",
    "symbol.symbol": "Symbol Variable Group var",
}


def test_modules():
    code = f"""
import importlib, json
import cynet
cynet.install_as_mxnet()
lacking = []
for module, names in json.loads({json.dumps(json.dumps(FROM))}).items():
    try:
        found = importlib.import_module("mxnet." + module)
    except ImportError as error:
        lacking.append(str(error))
        continue
    lacking += [f"{{module}}.{{name}}" for name in names.split() if not hasattr(found, name)]
print(json.dumps(lacking))
import mxnet.symbol.symbol, mxnet.ndarray.ndarray
print(mxnet.symbol.symbol.Variable is cynet.sym.Variable, mxnet.symbol.symbol.__name__)
for wrong in ("contrib.amp.nothing", "module.module.Module"):
    try:
        importlib.import_module("mxnet." + wrong)
    except ImportError as error:
        print(error)
try:
    from mxnet.module.module import Modul
except ImportError as error:
    print("ImportError")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:1] == ["[]"], done.stdout + done.stderr
    assert lines[1] == "True mxnet.symbol.symbol"
    assert lines[2] == "mx.contrib.amp has no attribute 'nothing'"
    assert lines[3:] and lines[-1] == "ImportError"


def test_the_version_that_scripts_see_is_not_cynets():
    code = """
import cynet
cynet.install_as_mxnet()
import mxnet, mxnet.libinfo
from mxnet.libinfo import __version__ as seen
assert mxnet.__version__ == mxnet.libinfo.__version__ == seen == "1.9.1"
assert cynet.__version__ == cynet.libinfo.__version__ != seen
assert mxnet.libinfo.__file__ == cynet.libinfo.__file__
"""
    subprocess.run([sys.executable, "-c", code], check=True)


FUNCTIONS = """
import cynet
cynet.install_as_mxnet()
SOURCE = '''
import {0} as mx
from {0} import {1}
class Net(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        self.seen = (F is mx.nd, F is mx.ndarray, F is mx.sym, F is mx.symbol)
        return self.relu(F, x)
    def relu(self, F, x):
        return F.relu(x)
class Loss(mx.gluon.loss.SoftmaxCELoss):
    def hybrid_forward(self, F, pred, label, sample_weight=None):
        self.seen = F is mx.nd
        return super().hybrid_forward(F, pred, label, sample_weight)
'''
for package in ("mxnet", "cynet"):
    for more in ("nd", "gluon"):
        scope = {"__name__": "a_script"}
        exec(SOURCE.format(package, more), scope)
        net, mx = scope["Net"](), scope["mx"]
        net(mx.nd.ones((2,)))
        assert net.seen == (True, True, False, False), (package, net.seen)
        net.hybridize()
        net(mx.nd.ones((2,)))
        assert net.seen == (False, False, True, True), (package, net.seen)
        net(mx.sym.var("x"))
        assert net.seen == (False, False, True, True), (package, net.seen)
        # a class that takes another's hybrid_forward sees what that one's module does
        class Child(scope["Net"]):
            pass
        child = Child()
        child(mx.nd.ones((2,)))
        assert child.seen == (True, True, False, False), package
        loss = scope["Loss"]()
        one, weight = mx.nd.ones((2, 1)), mx.nd.ones((2,))
        assert loss(mx.nd.zeros((2, 3)), one, one).shape == (2,) and loss.seen
        try:
            loss(mx.nd.zeros((2, 3, 1)), mx.nd.ones((2, 1, 1)), mx.nd.ones((3,)))
        except mx.base.MXNetError:
            pass
        else:
            raise SystemExit("weights of another shape were taken")
"""


def test_hybrid_forward_gets_the_modules_that_its_script_imports():
    done = subprocess.run([sys.executable, "-c", FUNCTIONS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


RAGGED = """
import io, pickle, warnings
import cynet
import numpy as np
before = np.array
cynet.install_as_mxnet(numpy_names=False)
assert np.array is before
cynet.install_as_mxnet()
cynet.install_as_mxnet()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    lists = [np.array([[1, 2], [3]]), np.asarray([(1,), ()]), np.asanyarray([np.ones(2), [1]])]
assert [(each.dtype, each.shape) for each in lists] == [(np.dtype(object), (2,))] * 3
assert lists[0].tolist() == [[1, 2], [3]] and np.array([[1, 2], [3]], object)[1] == [3]
assert [each.category for each in seen] == [np.exceptions.VisibleDeprecationWarning] * 3
assert {each.filename for each in seen} == {"<string>"}
warnings.simplefilter("ignore")
file = io.BytesIO()
np.save(file, [np.ones(2), np.ones(3)])
file.seek(0)
assert [each.tolist() for each in np.load(file, allow_pickle=True)] == [[1, 1], [1, 1, 1]]
assert np.array([[1, 2], [3, 4]], "float32", ndmin=3).shape == (1, 2, 2)
assert pickle.loads(pickle.dumps(np.array)) is np.array and np.array.__name__ == "array"
warnings.simplefilter("error")
for wrong in (
    lambda: np.array([[1, 2], [3]], dtype="float32"),
    lambda: np.array([[1, 2], [3]], "float32"),
    lambda: np.array([1, "x"], dtype="float32"),
    lambda: cynet.nd.array([[1, 2], [3]]),
):
    try:
        wrong()
    except (ValueError, TypeError):
        pass
    else:
        raise SystemExit("taken")
"""


def test_lists_of_different_lengths_are_arrays_of_objects_for_scripts_of_mxnet():
    done = subprocess.run([sys.executable, "-c", RAGGED], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
