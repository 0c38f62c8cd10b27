"""What is refused, and the words that say why: checks that no other test goes through."""
# ruff: noqa: E501 (a table, an expression a line)


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
    "nd.ones(2).tostype('csr')": r"csr matrix has 2 axes.*\(2,\)",
    "nd.ones(2).__setattr__('_fresh_grad', True)": "without a gradient has no fresh one",
    "nd.ones(2).reshape((2,), shape=(1, 2))": "shape is given twice",
    "nd.arange(3, infer_range=True)": "infer_range has no meaning",
    "nd.from_numpy([1])": "from_numpy takes a NumPy array",
    "nd.zeros(2, stype='csr')": r"zeros: expected 2 sizes \(of a csr matrix\).*\(2,\)",
    "nd.multi_sgd_update(lrs=(), wds=(), num_weights=0)": "'num_weights' takes an int >= 1",
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
    "net()(data=3)": "must be a Symbol, got int 3",
    "sym.var('x', attr={1: 'a'})": "attribute names must be str",
    "sym.FullyConnected(sym.var('a'), weight=sym.var('b'), num_hidden=1, attr={'a': 1})":
        "two underscores",
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
    "mx.metric.CrossEntropy().update([nd.ones(2)], [nd.ones((3, 2))])": "do not fit predictions",
    "mx.metric.Perplexity(None, axis=3).update([nd.ones(2)], [nd.ones((2, 2))])": "have no axis 3",
    "mx.metric.F1().update([nd.ones(2)], [nd.ones(3)])": "labels 2 does not match",
    "mx.metric.PCC().update([nd.array([-1, 0])], [nd.ones((2, 2))])": "classes must be 0 or more",
    "mx.metric.TopKAccuracy(2).update([nd.ones(3)], [nd.ones((2, 4))])": "for 3 labels",
    "mx.init.register(int)": "subclass of Initializer",
    "mx.init.create(3)": "created from a name",
    "mx.init.One()(3, nd.ones(2))": "takes the parameter's name",
    "mx.init.Load(3)": "takes a dict of arrays, got int",
    "mx.kv.KVStoreBase().broadcast(1, 2, 3)": "broadcast",
    "mx.kv.KVStoreBase().pushpull(1, 2)": "pushpull",
    "mx.kv.KVStoreBase().set_optimizer(1)": "set_optimizer",
    "mx.kv.KVStoreBase().is_capable('optimizer')": "is_capable",
    "mx.kv.KVStoreBase().save_optimizer_states('x')": "save_optimizer_states",
    "mx.kv.KVStoreBase().load_optimizer_states('x')": "load_optimizer_states",
    "mx.kv.KVStoreBase().rank": "rank", "mx.kv.KVStoreBase().num_workers": "num_workers",
    "mx.kv.create('local').set_gradient_compression({'type': '2bit', 'threshold': 0})": "threshold",
    "mx.kv.create('local').set_gradient_compression({'type': '2bit', 'threshold': -0.5})": "threshold",
    "mx.kv.create('local').set_gradient_compression({'type': '3bit'})": "does not compress",
    "mx.mod.PythonLossModule(grad_func=3)": "must be callable, got 3", "mx.recordio.pack(mx.recordio.IRHeader(0, 1, 2, 0), 'x')": "pack: s is bytes",
    "mx.registry.get_register_func(3, 'x')": "registry is of a base class",
    "mx.registry.get_register_func(int, 3)": "named by a str",
    "mx.registry.get_create_func(mx.init.Initializer, 'initializer')(mx.init.One(), 3)": "expected no arguments beside an instance",
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
    "mx.io.ImageRecordIter(data_shape=(3, 4, 4), batch_size=2, path_imgrec='x', mean_r='x')":
        "mean_r='x'",
    "mx.io.ImageRecordIter(batch_size=2, path_imgrec='x')": "needs data_shape",
    "mx.io.ImageRecordIter(data_shape=(3, 4, 4), batch_size=0, path_imgrec='x')": "batch_size is 1 or more",
    "mx.test_utils.DummyIter(3)": "takes a DataIter",
    "mx.test_utils.random_uniform_arrays((2,), bad=1)": "unknown arguments bad",
    "mx.test_utils.assign_each2(np.ones(2), np.ones(3), max)": "differ",
    "mx.test_utils.gen_buckets_probs_with_ppf(lambda q: q, 0)": "nbuckets must be 1 or more",
    "mx.test_utils.check_numeric_gradient(sym.Group([sym.var('a') * 1, sym.var('a') * 2]), [np.ones(2)] * 2)": "takes one output",
    # Gluon
    "gluon.Trainer(params(), 'sgd', kvstore=3)": "kvstore must be a KVStore",
    "mx.gluon.loss.L1Loss(weight='x')(nd.ones(2), nd.ones(2))": "weight must be a number",
    "gluon.Parameter(3)": "name must be a str",
    "gluon.Parameter('w', shape='x')": "tuple of ints, got 'x'",
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
    "gluon.model_zoo.vision.get_model('resnet50')": "did you mean 'resnet50_v1'", "gluon.model_zoo.vision.get_model('MobileNetV3-1.0')": "did you mean 'mobilenetv2_1.0'",
    "gluon.loss.SoftmaxCELoss()(nd.ones((4, 3)), nd.ones((4, 3)))": "sparse_label=False", "nd.pick(nd.ones((4, 3)), nd.ones((4, 3)), axis=0)": r"one for each row, \(3,\)",
    "gluon.loss.SoftmaxCELoss()(nd.ones((2, 3)), nd.array([0, 5])).asnumpy()": "index 5 is out of bounds for an axis of length 3; there are 0 to 2",
    "ready(nn.Dense(2))(np.ones((2, 3)))": r"mx.nd.array\(x\) makes one",
    "module(2).predict([np.ones(3), np.ones(3)])": r"NDArrayIter\(eval_data, batch_size=batch_size\)", "module(2).predict([['1', '2', '3']])": r"NDArrayIter\(eval_data, batch_size=batch_size\)",
    "gluon.data.batchify.Group(3)": "takes functions", "gluon.utils.download(3)": "a URL is a str", "gluon.utils.download('http://x/y', retries=-1)": "retries is 0 or more",
    "gluon.contrib.rnn.rnn_cell.dynamic_unroll(ready(gluon.rnn.RNNCell(3)), nd.ones((2, 2, 3)), [], layout='XX')": "layout must be",
    "mx.contrib.amp.convert_symbol(3)": "takes a Symbol", "mx.contrib.amp.convert_hybrid_block(3)": "takes a HybridBlock", "mx.contrib.amp.init_trainer(3)": "gluon Trainer",
    "mx.contrib.text.embedding.CompositeEmbedding(3, [])": "takes a Vocabulary",
    # with the values found
    "mx.autograd.value_and_grad(lambda x: x)(3)": "value_and_grad: input 0 must be an NDArray, got 3",
    "next(iter(mx.contrib.io.DataLoaderIter(gluon.data.DataLoader([nd.ones(2)], 1))))": "DataLoaderIter: the loader's batches must be pairs of data and label",
    "bound().set_monitor_callback(3)": "set_monitor_callback: 3 is not callable",
    "bound().reshape(y=(2, 3))": "reshape: unknown argument 'y'",
    "mx.contrib.text.embedding.CustomEmbedding(3)": "a file name is expected, got int",
    "gluon.contrib.data.text.WikiText2(root='.', seq_len=0)": "WikiText2: seq_len must be at least 1, got 0",
    "gluon.data.batchify.Stack()(['a', 'b'])": "no NDArray has dtype <U1",
    "gluon.data.SimpleDataset([1, 2]).take(1)[5]": "index 5 of a dataset of 1 samples",
    "gluon.Parameter('w', shape=(2,), grad_req='null').grad()": "parameter 'w' is not initialized",
    "ready(gluon.Parameter('w', shape=(2,), grad_req='null')).grad()": "parameter 'w' has no gradient: its grad_req is 'null'",
    "gluon.Parameter('w', shape=(2,))._load_init(nd.ones(2), None, dtype_source='x')": "dtype_source must be 'current' or 'saved', got 'x'",
    "gluon.Parameter('w', shape=(2,)).set_data(nd.ones(2))": "parameter 'w' is not initialized",
    "gluon.Parameter('w', shape=(2,)).reset_ctx(mx.cpu())": "parameter 'w' is not initialized: there is nothing to move",
    "gluon.Parameter('w', shape=(2,)).list_ctx()": "parameter 'w' is not initialized",
    "deferred().collect_params().load_dict({'d_weight': nd.ones((2, 3)), 'd_bias': nd.ones(2)}, ctx=mx.cpu(1))": r"parameter 'd_weight' cannot be loaded to \[cpu\(1\)\]: it is to be on \[cpu\(0\)\]",
    "params().load_dict({'d_weight': nd.ones((2, 3)), 'd_bias': nd.ones(2)}, ctx=mx.cpu(1))": r"parameter 'd_weight' cannot be loaded to \[cpu\(1\)\]: it is on \[cpu\(0\)\]",
    "params().load_dict({'d_weight': nd.ones((2, 4)), 'd_bias': nd.ones(2)})": r"parameter 'd_weight' has shape \(2, 3\), the saved one \(2, 4\)",
    "params().load_dict({'d_weight': nd.ones((2, 3))})": "parameter 'd_bias' is missing, which has 'd_weight'",
    "params().load_dict({'d_weight': nd.ones((2, 3)), 'd_bias': nd.ones(2), 'x': nd.ones(1)})": "expected names of the parameters 'd_weight', 'd_bias'",
    "params().load('x', restore_prefix='y_')": "load: parameter 'd_weight' does not begin with restore_prefix 'y_'",
    "params().update({'d_bias': gluon.Parameter('d_bias')})": "two different parameters are named 'd_bias'",
    "gluon.rnn.RecurrentCell()(nd.ones(1), [])": "RecurrentCell defines no forward",
    "ready(gluon.rnn.LSTM(3, use_sequence_length=True))(nd.ones((2, 3, 4)))": "use_sequence_length=True, and there is no sequence_length in this call, an array of the length of each",
    "ready(gluon.rnn.LSTM(3))(nd.ones((2, 3, 4)), [nd.ones((1, 3, 3)), nd.ones((1, 2, 3))])": r"states of shapes \[\(1, 3, 3\), \(1, 3, 3\)\] are expected, got \[\(1, 3, 3\), \(1, 2, 3\)\]",
    "ready(gluon.rnn.LSTM(3))(nd.ones((2, 3, 4)), nd.ones((1, 3, 3)))": r"states of shapes \[\(1, 3, 3\), \(1, 3, 3\)\] are expected, got \[\(1, 3, 3\)\]",
    "ready(gluon.rnn.BidirectionalCell(gluon.rnn.RNNCell(2), gluon.rnn.RNNCell(2)))(nd.ones((2, 3)), [])": "a BidirectionalCell has no single steps, only unroll",
    "gluon.Trainer(params(), 'sgd', kvstore=None, update_on_kvstore=True).step(1)": "Trainer: update_on_kvstore=True needs a kvstore",
    "gluon.Trainer(spread(), 'sgd', kvstore='local', update_on_kvstore=True, clip_global_norm=1.0).step(1)": "Trainer: clip_global_norm needs update_on_kvstore=False on several contexts",
    "gluon.Trainer(params(), 'sgd').step('x')": "Trainer: the batch size must be a number, got 'x'",
    "gluon.Trainer(params(), 'sgd').step(0)": "Trainer: the batch size must not be 0",
    "gluon.Trainer(params(), 'sgd').step(1)": r"the gradient of parameter 'd_weight' on cpu\(0\) is that of an earlier step: no backward has set it since\.",
    "mx.io.NDArrayIter(np.float32(3), batch_size=1)": r"NDArrayIter: 'data' needs an axis of examples, got shape \(\)",
    "mx.optimizer.Updater(True)": "Updater: expected an Optimizer, got True",
    "mx.io.PrefetchingIter([])": "PrefetchingIter needs one or more iterators, got none",
    "mx.io.MNISTIter(image='x', label='y', num_parts=0)": "MNISTIter: part_index 0 must be from 0 to num_parts - 1 = -1",
    "mx.metric.EvalMetric('x').update([], [])": "EvalMetric defines no update",
    "mx.metric.F1().update([nd.array([1, 0, 1])], [nd.array([0.2, 0.3])])": "Shape of labels 3 does not match shape of predictions 2",
    "mx.metric.MCC().update([nd.array([1, 0, 1])], [nd.ones((2, 2))])": "Shape of labels 3 does not match shape of predictions 2",
    "mx.kv.KVStoreBase().type": "KVStoreBase defines no type",
    "[kv.init('w', nd.ones(2)) for kv in [mx.kv.create('dist_sync')] * 2]": "kvstore init: key 'w' has a value already",
    "mx.io.MixIter(mx.io.NDArrayIter(nd.ones((4, 2)), nd.ones(4), 2), 'mixup')": "MixIter: mixing must be a MixUp or CutMix of mx.gluon.data, got 'mixup'",
    "mx.io.MixIter(mx.io.NDArrayIter(nd.ones((4, 2)), None, 2), mx.gluon.data.MixUp(classes=3))": "MixIter: the iterator must have one label array",
    "mx.io.MixIter(mx.io.NDArrayIter([nd.ones((4, 2))] * 2, nd.ones(4), 2), mx.gluon.data.MixUp(classes=3))": "MixIter: the iterator must have one data array",
    "mx.contrib.quantization.CalibrationCollector().collect('a', nd.ones(1))": r"CalibrationCollector must define collect\(name, arr\)",
    "mx.contrib.quantization.CalibrationCollector().post_collect()": r"CalibrationCollector must define post_collect\(\)",
    "mx.contrib.quantization.calib_graph(net(), {}, {}, None, calib_mode='naive')": "calib_graph needs a collector",
    "mx.contrib.quantization.calib_graph(net(), {}, {}, mx.contrib.quantization.LayerOutputMinMaxCollector('int8'), calib_mode='none')": "calib_graph needs a collector, which calib_mode 'none' has none of",
    "mx.model.FeedForward(net(), ctx=mx.cpu()).score(['1'])": "FeedForward takes a DataIter or an array, got list",
    "nd.arange(0, 2**70)": r"arange has shape \(1180591620717411303424, 1\), more than any memory holds",
    "nd.arange(0, 10, 0)": "arange: from 0 to 10 by 0 is an empty or endless range",
    "nd.ones((2, 3)) @ nd.ones(4)": r"@: shapes \(2, 3\) and \(4,\) do not fit: 3 columns, 4 rows",
    "nd.contrib.cond(nd.ones(2), lambda: nd.ones(1), lambda: nd.ones(1))": r"cond: pred must be one number, its shape is \(2,\)",
    "nd.contrib.multi_adamw_update([nd.ones(2)], [], [nd.ones(2)], [nd.ones(2)], 1.0, [1.0], [1.0], [0.0])": "multi_adamw_update: the lists must be equally long, got 1 weights, 0 grads, 1 mean, 1 var",
    "nd.contrib.multi_adamw_update([], [], [], [], 1.0, [], [], [])": "multi_adamw_update: the list of weights is empty",
    "nd.contrib.multi_adamw_update([nd.ones(2)], [3], [nd.ones(2)], [nd.ones(2)], 1.0, [1.0], [1.0], [0.0])": "multi_adamw_update: grads must be a list of NDArray, it holds int",
    "nd.contrib.multi_lamb_update([nd.ones(2)], [], [nd.ones(2)], [nd.ones(2)], [1], [1.0], [0.0])": "multi_lamb_update: the lists must be equally long, got 1 weights, 0 grads, 1 mean, 1 var",
    "nd.diag(nd.ones((2, 2)), axis1=1, axis2=-1)": "diag: axis1 and axis2 are both axis 1",
    "nd.reshape_like(nd.ones((2, 3)), nd.ones((3, 2)), lhs_begin=2, lhs_end=1)": "reshape_like: axes 2 to 1 do not fit 2 axes",
    "nd.slice_like(nd.ones((2, 3)), nd.ones(2))": r"slice_like: shapes \(2, 3\) and \(2,\) differ in their axes",
    "nd.batch_take(nd.ones((2, 3, 4)), nd.ones(2))": r"shapes \(2,\) and \(2, 3\) do not agree",
    "nd.broadcast_axis(nd.ones((1, 2)), axis=(0, 1), size=(3,))": r"broadcast_axis: axis \(0, 1\) and size \(3,\) must have one length",
    "nd.broadcast_axis(nd.ones((1, 2)), axis=1, size=3)": r"broadcast_axis: expected length 1 at axis 1, got shape \(1, 2\)",
    "nd.split_v2(nd.ones(5), 2)": "_split_v2: expected a multiple of 2 as the length, got 5",
    "nd.split_v2(nd.ones((4, 2)), 2, squeeze_axis=True)": r"_split_v2: squeeze_axis needs pieces of length 1, got \[\(2, 2\), \(2, 2\)\]",
    "nd.batch_dot(nd.ones((2, 3)), nd.ones((2, 3)))": r"batch_dot takes two arrays of one ndim >= 3, got \(2, 3\) and \(2, 3\)",
    "nd.take(nd.ones(3), nd.zeros(1), axis=1)": "axis 1 is out of range for an array of 1 axes",
    "nd.slice(nd.ones(3), begin=(0,), end=(3,), step=(0,))": r"slice: parameter 'step' must not be 0, got \(0,\)",
    "nd.Concat(nd.ones((2, 3)), nd.ones((3, 2)), dim=1)": r"shapes \(2, 0\) and \(3, 0\) do not agree",
    "sym.relu(sym.var('a'), out=nd.ones(2))": "operator relu: expected no 'out'",
    "sym.relu('a')": "operator relu: argument 'data' must be a Symbol, got str 'a'",
    "mx.optimizer.Optimizer().update(0, nd.ones(2), nd.ones(2), None)": "Optimizer defines no update",
    "mx.optimizer.create(3)": "an optimizer is created from its name, got 3",
    "mx.profiler.set_state('x')": r"profiler\.set_state: state must be 'run' or 'stop', got 'x'",
    "mx.random.seed('x')": "seed must be an int, got 'x'",
    "mx.random.seed(1, ctx=3)": "ctx must be a Context or 'all', got 3",
    "mx.recordio.MXRecordIO('x', 'a')": "flag is 'r' or 'w', got 'a'",
    "mx.registry.get_alias_func(int, 'x')('a')(str)": "a x is a subclass of int, got <class 'str'>",
    "mx.registry.get_create_func(mx.init.Initializer, 'initializer')('[1')": r"initializer: expected JSON, got '\[1': Expecting ',' delimiter: line 1 column 3 \(char 2\)",
    "mx.rnn.ModifierCell(mx.rnn.RNNCell(3))(sym.var('x'), [])": "ModifierCell defines no __call__",
    "mx.visualization.plot_network(3)": "symbol must be a Symbol, got int",
    "mx.callback.Speedometer(1, 0)": "Speedometer: frequent must be at least 1, got 0",
    "mx.initializer.Mixed(['a'], [])": "Mixed: 1 patterns for 0 initializers",
    "mx.initializer.Mixed(['a'], [mx.init.One()])('b', nd.ones(1))": "Mixed: the name 'b' matches no pattern",
    "mx.initializer.Xavier(factor_type='x')('w_weight', nd.ones((2, 2)))": "factor_type must be 'in', 'out' or 'avg', got 'x'",
    "mx.initializer.Xavier(rnd_type='x')('w_weight', nd.ones((2, 2)))": "rnd_type must be 'uniform' or 'gaussian', got 'x'",
    "mx.initializer.Xavier()('w_weight', nd.ones(2))": r"Xavier needs 2 or more axes, 'w_weight' has shape \(2,\)",
    "mx.initializer.Initializer()('w_weight', nd.ones(2))": "Initializer defines no _init_weight",
    "mx.init.One()('what', nd.ones(2))": "no initialization is known for the name 'what': names end with weight, bias, gamma, beta, moving_mean or",
    "mx.lr_scheduler.PolyScheduler(0)": "max_update must be at least 1, got 0",
    "mx.lr_scheduler.MultiFactorScheduler([3, 2])": r"step must rise from entry to entry, got \[3, 2\]",
    "mx.lr_scheduler.FactorScheduler(0)": "step must be at least 1, got 0",
    "mx.lr_scheduler.LRScheduler(warmup_steps=3, warmup_mode='x')": "warmup_mode must be 'linear' or 'constant', got 'x'",
    "mx.lr_scheduler.LRScheduler(base_lr=1, warmup_steps=3, warmup_begin_lr=2)": "warmup_begin_lr 2 must not be above base_lr 1",
    "mx.image.imresize(nd.ones((2, 2, 3)), 0, 2)": "width and height are from 1 to 65536, got 0 x 2",
    "mx.image.imresize(nd.ones((4, 4, 3), dtype='uint8'), 2, 2, interp=99)": "interp is 0 to 4, 9 or 10, got 99",
    "mx.image.imdecode(b'')": "an image has no bytes that OpenCV knows: b''",
    "mx.image.random_rotate(nd.ones((3, 4, 4)), 'x')": r"angle_limits are \(low, high\), got 'x'",
    "mx.nd.image.crop(nd.ones((4, 4, 3)), x=0, y=0, width=9, height=2)": "_image_crop: x 0 and width 9 go beyond the 4 columns of the image",
    "mx.nd.image.to_tensor(nd.ones((4, 4)))": r"_image_to_tensor takes \(H, W, C\) or \(N, H, W, C\), got shape \(4, 4\)",
    "mx.nd.image.normalize(nd.ones((4, 4, 4)), mean=(1, 2), std=(1,))": r"_image_normalize takes \(C, H, W\) or \(N, C, H, W\) of 1 or 3 channels, got shape \(4, 4, 4\)",
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


def deferred():
    return ready(mx.gluon.nn.Dense(2, prefix="d_"))


def spread():
    dense = mx.gluon.nn.Dense(2, in_units=3)
    dense.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    return dense.collect_params()


def give(base, **methods):
    return type("Own", (base,), methods)


NAMES = {"mx": mx, "nd": mx.nd, "sym": mx.sym, "gluon": mx.gluon, "nn": mx.gluon.nn, "np": np}
NAMES |= {f.__name__: f for f in (net, bound, module, ready, params, deferred, spread, give)}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    kinds = (mx.base.MXNetError, TypeError, ValueError, StopIteration)
    with pytest.raises(kinds, match=REFUSED[text]) as raised:
        eval(text, dict(NAMES))
    assert isinstance(raised.value, mx.base.MXNetError), raised.value
