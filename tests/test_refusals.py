"""What is refused, and the words that say why: checks that no other test goes through."""
# ruff: noqa: E501 (a table, an expression a line)

import re

import numpy as np
import pytest

import cynet as mx

REFUSED = {
    # arrays
    "nd.histogram(nd.ones(3), nd.ones(2), range=(0, 1))": "range has no meaning beside edges",
    "nd.histogram(nd.ones(3), 'x')": "bins must be an int or an NDArray",
    "nd.histogram(nd.ones(3), 0)": "bins must be at least 1",
    "nd.histogram(nd.zeros((0,)), 3)": "without elements has no range",
    "nd.contrib.boolean_mask(nd.ones(3), 5)": "index must be an NDArray",
    "nd.contrib.boolean_mask(nd.ones(3), nd.ones(2))": r"index has shape \(2,\)",
    "nd.contrib.rand_zipfian(nd.ones(3), 0, 5)": "must be an int >= 1",
    "nd.contrib.foreach(lambda x, s: (x, s), [], [nd.ones(2)])": "data has no array",
    "nd.contrib.foreach(lambda x, s: (x[0], s), [nd.ones(2), nd.ones(3)], [nd.ones(2)])": "array 1 of data has 3 rows",
    "nd.contrib.foreach(lambda x, s: (x, [s, s]), nd.ones(2), nd.ones(2))": "states of the structure",
    "nd.contrib.foreach(lambda x, s: x, nd.ones((2, 3)), nd.ones(2))": "two things",
    "nd.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [nd.ones(1)])": "max_iterations is not given",
    "nd.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [nd.ones(1)], 'x')": "max_iterations must be an int",
    "nd.contrib.while_loop(lambda: 1, lambda: ([], []), [], 2)": "loop_vars has no element",
    "nd.contrib.while_loop(lambda x: x, lambda x: (x, [x, x]), [nd.ones(1)], 2)": "func gives 2 loop variables",
    "nd.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [nd.ones(2)], 2)": "must be one number",
    "nd.ones(2).tostype('csr')": "storage type 'csr'",
    "nd.ones(2).__setattr__('_fresh_grad', True)": "without a gradient has no fresh one",
    "nd.ones(2).reshape((2,), shape=(1, 2))": "shape is given twice",
    "nd.arange(3, infer_range=True)": "infer_range has no meaning",
    "nd.from_numpy([1])": "from_numpy takes a NumPy array",
    "nd.zeros(2, stype='csr')": "storage type 'csr'",
    "nd.multi_sgd_update(lrs=(), wds=(), num_weights=0)": "",
    "nd.load_frombuffer(memoryview(np.ones((4, 4)))[::2])": "contiguous bytes",
    # symbols
    "sym.var('x', shape=(2**63,))": "shape must be a tuple of int",
    "sym.histogram(sym.var('a'), sym.var('b'), range=(0, 1))": "range has no meaning beside edges",
    "sym.histogram(sym.var('a'), 'x')": "bins must be an int or a Symbol",
    "sym.histogram(sym.var('a'), 3)": "give a range",
    "sym.contrib.boolean_mask(sym.var('a'), sym.var('b'))": "depends on values",
    "sym.contrib.rand_zipfian(sym.var('a'), 0, 5)": "must be an int >= 1",
    "sym.contrib.foreach(lambda x, s: (x, [s, s]), sym.var('a'), sym.var('b'))": "states of the structure",
    "sym.contrib.foreach(lambda x, s: (s * 2, s), sym.var('a'), sym.var('b'))": "does not use",
    "sym.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [sym.var('a')])": "max_iterations is not given",
    "sym.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [], 2)": "loop_vars has no element",
    "sym.contrib.while_loop(lambda x: 1, lambda x: (x, [x]), [sym.var('a')], 2)": "cond must give a Symbol",
    "sym.contrib.while_loop(lambda x: x, lambda x: (x, [x, x]), [sym.var('a')], 2)": "func gives 2 loop variables",
    "sym.contrib.while_loop(lambda x: x, lambda x: (x, [x]), [sym.var('a')], 'x')": "max_iterations must be an int",
    "sym.contrib.cond(sym.var('p'), lambda: [sym.var('a'), sym.var('b')], lambda: [sym.var('a')])": "then_func gives 2 outputs, else_func 1",
    "sym.contrib.foreach(lambda x, s: x, sym.var('a'), sym.var('b'))": "two things",
    "net()(data=3)": "",
    "sym.var('x', attr={1: 'a'})": "attribute names must be str",
    "sym.FullyConnected(sym.var('a'), weight=sym.var('b'), num_hidden=1, attr={'a': 1})": "",
    "net().bind(mx.cpu(), 3)": "bind: args must be a list or dict|must be a list or dict",
    "net().simple_bind(mx.cpu(), grad_req=['write'], data=(2, 3))": "grad_req has 1 words, expected 4",
    "net().simple_bind(mx.cpu(), grad_req=3, data=(2, 3))": "grad_req must be a str, list or dict",
    "bound().backward([nd.ones((2, 2))] * 3)": "3 out_grads for 1 outputs",
    "bound().backward([5])": "must be an NDArray",
    "mx.viz.print_summary(net(), positions=[0.1, 0.2])": "positions must have 4 items",
    # autograd
    "mx.autograd.get_symbol(3)": "get_symbol takes an NDArray",
    "mx.autograd.backward([])": "heads must not be an empty list",
    "mx.autograd.backward(3)": "must be an NDArray or a list",
    "mx.autograd.mark_variables([nd.ones(1)], [])": "lists of the same length",
    "mx.autograd.grad(nd.ones(1), [3])": "variable 0 must be an NDArray",
    "mx.autograd.Function()(nd.ones(1))": "defines no forward",
    "give(mx.autograd.Function, forward=lambda self, x: 3)()(nd.ones(1))": "forward returned 3",
    # modules
    "mx.mod.Module(net(), context=[mx.cpu(0)] * 2, work_load_list=[1])": "work_load_list has 1 entries for 2",
    "module(0).bind([('data', (2, 3))], shared_module=module(0))": "must be a Module that is bound",
    "module(0).bind([('data', (2, 3))], [('softmax_label', (2,))], grad_req=['write'])": "grad_req has 1 words for",
    "module(0).bind([('data', (2, 3))], [('softmax_label', (2,))], grad_req=3)": "grad_req must be a str, list or dict",
    "module(0).bind([mx.io.DataDesc('data', (2,), layout='CN')], [('softmax_label', (2,))])": "has no batch axis 1",
    "mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)]).bind([('data', (2, 3))], [('softmax_label', (4,))])": "batch size",
    "module(2).borrow_optimizer(module(2))": "has no optimizer yet",
    "mx.mod.BaseModule().forward(None)": "forward",
    "mx.mod.BaseModule().bind([])": "bind",
    "mx.mod.BaseModule().data_names": "data_names",
    "mx.mod.BaseModule().output_names": "output_names",
    "mx.mod.BaseModule().data_shapes": "data_shapes",
    "mx.mod.BaseModule().label_shapes": "label_shapes",
    "mx.mod.BaseModule().output_shapes": "output_shapes",
    "mx.mod.BaseModule().get_params()": "get_params",
    "mx.mod.BaseModule().init_params()": "init_params",
    "mx.mod.BaseModule().init_optimizer()": "init_optimizer",
    "mx.mod.BaseModule().backward()": "backward",
    "mx.mod.BaseModule().update()": "update",
    "mx.mod.BaseModule().get_outputs()": "get_outputs",
    "mx.mod.BaseModule().get_input_grads()": "get_input_grads",
    "mx.mod.BaseModule().update_metric(None, None)": "update_metric",
    "mx.mod.BaseModule().install_monitor(None)": "install_monitor",
    "module(2, for_training=False).backward()": "for_training=False",
    "mx.mod.BucketingModule(lambda k: (net(), ['data'], ['softmax_label']), 3).bind([('data', (2, 3))], shared_module=module(1))": "shared_module is not supported",
    "mx.mod.SequentialModule().bind([('data', (2, 3))])": "add modules first",
    "mx.mod.SequentialModule().add(module(0)).bind([('data', (2, 3))], shared_module=module(1))": "shared_module is not supported",
    "mx.mod.Module(net(), group2ctxs=3).bind([('data', (2, 3))], [('softmax_label', (2,))])": "group2ctxs must be a dict",
    "mx.mod.Module(net(), context=[mx.cpu()] * 2, group2ctxs=[{}]).bind([('data', (2, 3))], [('softmax_label', (2,))])": "group2ctxs has 1 entries for 2|1 entries",
    "mx.model.FeedForward(net()).save('x')": "epoch is missing",
    "mx.misc.FactorScheduler(3, 1.5)": "factor must be below 1",
    "mx.misc.LearningRateScheduler()(1)": "defines no __call__",
    "mx.lr_scheduler.LRScheduler()(1)": "defines no curve|defines no",
    # metrics, initializers, stores, registries
    "mx.metric.CustomMetric(3)": "feval must be a function",
    "mx.metric.CrossEntropy().update([nd.ones(2)], [nd.ones((3, 2))])": "",
    "mx.metric.Perplexity(None, axis=3).update([nd.ones(2)], [nd.ones((2, 2))])": "have no axis 3",
    "mx.metric.F1().update([nd.ones(2)], [nd.ones(3)])": "",
    "mx.metric.PCC().update([nd.array([-1, 0])], [nd.ones((2, 2))])": "classes must be 0 or more",
    "mx.metric.TopKAccuracy(2).update([nd.ones(3)], [nd.ones((2, 4))])": "",
    "mx.init.register(int)": "subclass of Initializer",
    "mx.init.create(3)": "created from a name",
    "mx.init.One()(3, nd.ones(2))": "takes the parameter's name",
    "mx.init.Load(3)": "",
    "mx.kv.KVStoreBase().broadcast(1, 2, 3)": "broadcast",
    "mx.kv.KVStoreBase().pushpull(1, 2)": "pushpull",
    "mx.kv.KVStoreBase().set_optimizer(1)": "set_optimizer",
    "mx.kv.KVStoreBase().is_capable('optimizer')": "is_capable",
    "mx.kv.KVStoreBase().save_optimizer_states('x')": "save_optimizer_states",
    "mx.kv.KVStoreBase().load_optimizer_states('x')": "load_optimizer_states",
    "mx.kv.KVStoreBase().rank": "rank", "mx.kv.KVStoreBase().num_workers": "num_workers",
    "mx.kv.create('local').set_gradient_compression({'type': '2bit', 'threshold': 0})": "threshold",
    "mx.kv.create('local').set_gradient_compression({'type': '2bit', 'threshold': -0.5})": "threshold",
    "mx.kv.create('local').set_gradient_compression({'type': '3bit'})": "",
    "mx.mod.PythonLossModule(grad_func=3)": "", "mx.recordio.pack(mx.recordio.IRHeader(0, 1, 2, 0), 'x')": "pack: s is bytes",
    "mx.registry.get_register_func(3, 'x')": "registry is of a base class",
    "mx.registry.get_register_func(int, 3)": "named by a str",
    "mx.registry.get_create_func(mx.init.Initializer, 'initializer')(mx.init.One(), 3)": "takes no arguments",
    "mx.name.NameManager().get(3, 'x')": "a name must be a str or None", "mx.name.NameManager().get(None, 3)": "hint must be a str",
    "mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(memoryview(np.ones((4, 4)))[::2])": "contiguous bytes",
    # iterators, records, images
    "mx.rnn.BucketSentenceIter([[1, 2]], 1, layout='XX')": "layout must be 'NT' or 'TN'",
    "mx.recordio.pack_img(mx.recordio.IRHeader(0, 1, 2, 0), np.ones((2, 2, 3), 'uint8'), img_fmt='.bmp')": "img_fmt is '.jpg' or '.png'",
    "mx.image.imdecode(b'x', flag=5)": "flag is 1 for colors or 0",
    "mx.image.imrotate(nd.ones((2, 3)), 20)": r"\(C, H, W\) or \(N, C, H, W\)",
    "mx.image.imrotate(nd.ones((2, 3, 3)), nd.ones(2))": "rotation_degrees of one image",
    "mx.image.imrotate(nd.ones((2, 1, 3, 3)), nd.ones(3))": "angles for 2 images",
    "mx.image.fixed_crop(nd.ones((4, 4, 3), dtype='uint8'), -1, 0, 2, 2)": "a crop of 2 x 2",
    "mx.image.copyMakeBorder(nd.ones((4, 4, 3), dtype='uint8'), -1, 0, 2, 2)": "0 pixels or more",
    "mx.image.resize_short([1], 3)": "an image is an NDArray",
    "mx.image.Augmenter()(nd.ones((2, 2, 3)))": "defines neither __call__ nor apply",
    "mx.image.DetAugmenter()(nd.ones((2, 2, 3)), np.ones((1, 5)))": "defines neither __call__ nor apply",
    "mx.image.DetRandomPadAug(aspect_ratio_range=(1, 2, 3))": "a number or a pair",
    "mx.image.CreateAugmenter((3, 4, 4), mean=np.ones(2))": "1 number or 3",
    "mx.image.CreateAugmenter(3)": r"data_shape is \(channels, height, width\)",
    "mx.image.ImageIter(0, (3, 4, 4), imglist=[[1, 'a.png']], path_root='.')": "are 1 or more",
    "mx.image.ImageIter(2, (3, 4, 4), imglist=[[1, 'a.png']], path_root='.', aug_list=[], resize=3)": "no other augmenters",
    "mx.image.ImageIter(2, (3, 4, 4), imglist=[['a.png']], path_root='.')": r"items \[label, path\]",
    "mx.io.ImageRecordIter(data_shape=(3, 4, 4), batch_size=2, path_imgrec='x', mean_r='x')": "",
    "mx.io.ImageRecordIter(batch_size=2, path_imgrec='x')": "needs data_shape",
    "mx.io.ImageRecordIter(data_shape=(3, 4, 4), batch_size=0, path_imgrec='x')": "batch_size is 1 or more",
    "mx.test_utils.DummyIter(3)": "takes a DataIter",
    "mx.test_utils.random_uniform_arrays((2,), bad=1)": "unknown arguments bad",
    "mx.test_utils.assign_each2(np.ones(2), np.ones(3), max)": "differ",
    "mx.test_utils.gen_buckets_probs_with_ppf(lambda q: q, 0)": "nbuckets must be 1 or more",
    "mx.test_utils.check_numeric_gradient(sym.Group([sym.var('a') * 1, sym.var('a') * 2]), [np.ones(2)] * 2)": "takes one output",
    # Gluon
    "gluon.Trainer(params(), 'sgd', kvstore=3)": "kvstore must be a KVStore",
    "gluon.Trainer([params()['d_bias'], gluon.Parameter('d_bias', shape=(2,))], 'sgd')": "several Parameters are named",
    "mx.gluon.loss.L1Loss(weight='x')(nd.ones(2), nd.ones(2))": "weight must be a number",
    "gluon.Parameter(3)": "name must be a str", "gluon.Parameter('w', shape='x')": "",
    "gluon.Parameter('w', shape=(-2,))": "negative size", "gluon.Parameter('w', shape=(2,), init=3).initialize()": "an initializer is expected",
    "gluon.Parameter('w', shape=(2,)).initialize(ctx=3)": "ctx must be a Context",
    "gluon.Parameter('w', shape=(2,)).initialize(ctx=[mx.cpu(), None])": "ctx must be a Context or a list",
    "gluon.ParameterDict(3)": "prefix must be a str", "nn.Dense(2, prefix=3)": "prefix must be a str",
    "nn.Sequential().register_child(3)": "a child must be a Block", "nn.HybridSequential().register_child(nn.Sequential())": "has HybridBlocks for children", "nn.HybridSequential().register_child(3)": "a child must be a HybridBlock",
    "nn.Dense(2).collect_params(3)": "select must be a str", "nn.Dense(2).hybridize(backend='x')": "no backend 'x'",
    "nn.Dense(2).hybridize(static_shape=True)": "static_shape", "nn.Activation(3)": "a name is expected", "nn.LeakyReLU(-1)": "alpha is 0 or more",
    "nn.Lambda(3)": "a function or the name of one", "nn.HybridLambda(3)": "a function or the name of one", "nn.ReflectionPad2D((1, 2))": "an int or 8",
    "gluon.rnn.RNN(3, activation='x')": "'relu' or 'tanh'", "ready(gluon.rnn.LSTM(3))(nd.ones((2, 3)))": "must have 3 axes",
    "ready(gluon.rnn.RNNCell(3)).unroll(2, nd.ones((2, 2, 3)), layout='XX')": "layout must be one of", "ready(gluon.rnn.RNNCell(3)).unroll(3, [nd.ones((2, 3))])": "1 inputs for length 3",
    "gluon.rnn.RNNCell(3).unroll(None, sym.var('x'))": "a symbol needs a length", "gluon.rnn.RecurrentCell().state_info()": "defines no state_info",
    "gluon.rnn.ResidualCell(gluon.rnn.ResidualCell(gluon.rnn.RNNCell(3)).base_cell)": "inside of a modifier already", "mx.rnn.ResidualCell(3)": "expected a cell", "mx.rnn.BaseRNNCell().state_info": "defines no state_info",
    "mx.rnn.BidirectionalCell(mx.rnn.RNNCell(3), mx.rnn.RNNCell(3))(sym.var('a'), [])": "use unroll",
    "gluon.data.DataLoader([1], 1, batchify_fn=3)": "batchify_fn must be a function", "gluon.data.Dataset()[0]": "defines no __getitem__", "len(gluon.data.Dataset())": "defines no __len__",
    "iter(gluon.data.Sampler())": "defines no __iter__", "len(gluon.data.Sampler())": "defines no __len__", "gluon.data.SimpleDataset([1]).take(-1)": "count must be 0 or more",
    "gluon.data.SimpleDataset([1]).transform(3)": "transform takes a function", "gluon.data.vision.transforms.Compose([3])": "Blocks and functions", "gluon.data.vision.transforms.RandomBrightness(-1)": "from 0 on",
    "gluon.data.vision.transforms.Resize(3)(np.ones((2, 2, 3)))": "takes an NDArray", "gluon.data.vision.transforms.CenterCrop(3)(nd.ones((2, 2)))": r"\(H, W, C\) or \(N, H, W, C\)",
    "gluon.data.vision.transforms.RandomRotation(30)": r"\(low, high\), got 30; \(-30, 30\) turns to both sides", "mx.image.random_rotate(nd.ones((3, 4, 4)), [1, 2, 3])": r"\(low, high\), got \[1, 2, 3\]$",
    "gluon.model_zoo.vision.get_model('resnet50')": "did you mean 'resnet50_v1' or 'resnet50_v2'", "gluon.model_zoo.vision.get_model('MobileNetV3-1.0')": "did you mean 'mobilenetv2_1.0'",
    "gluon.loss.SoftmaxCELoss()(nd.ones((4, 3)), nd.ones((4, 3)))": "sparse_label=False", "nd.pick(nd.ones((4, 3)), nd.ones((4, 3)), axis=0)": r"one for each row, \(3,\)",
    "gluon.loss.SoftmaxCELoss()(nd.ones((2, 3)), nd.array([0, 5])).asnumpy()": "index 5 is out of bounds for an axis of length 3; there are 0 to 2",
    "ready(nn.Dense(2))(np.ones((2, 3)))": r"mx.nd.array\(x\) makes one",
    "module(2).predict([np.ones(3), np.ones(3)])": r"NDArrayIter\(eval_data, batch_size=batch_size\)", "module(2).predict([[1, 2, 3]])": r"NDArrayIter\(numpy.array\(eval_data\), batch",
    "gluon.data.batchify.Group(3)": "takes functions", "gluon.utils.download(3)": "a URL is a str", "gluon.utils.download('http://x/y', retries=-1)": "retries is 0 or more",
    "gluon.contrib.rnn.rnn_cell.dynamic_unroll(ready(gluon.rnn.RNNCell(3)), nd.ones((2, 2, 3)), [], layout='XX')": "layout must be",
    "mx.contrib.amp.convert_symbol(3)": "takes a Symbol", "mx.contrib.amp.convert_hybrid_block(3)": "takes a HybridBlock", "mx.contrib.amp.init_trainer(3)": "gluon Trainer",
    "mx.contrib.text.embedding.CompositeEmbedding(3, [])": "takes a Vocabulary",
}  # fmt: skip


def net():
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def bound():
    executor = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True)
    return executor


def module(stage, **options):
    made = mx.mod.Module(net())
    if stage > 0:
        made.bind([("data", (2, 3))], [("softmax_label", (2,))], **options)
    if stage > 1:
        made.init_params()
    return made


def ready(block):
    block.initialize()
    return block


def params():
    return ready(mx.gluon.nn.Dense(2, in_units=3, prefix="d_")).collect_params()


def give(base, **methods):
    return type("Own", (base,), methods)


NAMES = {"mx": mx, "nd": mx.nd, "sym": mx.sym, "gluon": mx.gluon, "nn": mx.gluon.nn, "np": np}
NAMES |= {f.__name__: f for f in (net, bound, module, ready, params, give)}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    with pytest.raises((mx.base.MXNetError, TypeError, ValueError, StopIteration)) as raised:
        eval(text, dict(NAMES))
    assert isinstance(raised.value, mx.base.MXNetError), raised.value
    assert re.search(REFUSED[text], str(raised.value)), raised.value
