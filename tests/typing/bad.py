"""Wrong calls: each line that ends in a marker is one that pyright, mypy or both must refuse.

It is checked, not run. ``# error`` means both.
"""

import cynet as mx

x = mx.nd.ones((2, 3))
s = mx.sym.Variable("data")

mx.nd.Convoluton(x)  # error
mx.nd.FullyConnected(x, x, num_hiden=10)  # error
mx.nd.Activation(x, act_type="rleu")  # error
mx.nd.clip(x, 0)  # error
mx.nd.relu([1, 2])  # error
mx.nd.array(x, dtype=3)  # error
mx.nd.zeros("3")  # error
x.reshpe((3, 2))  # error
x.sum(axis="0")  # error
x + "1"  # error
x["a"]  # error
x.shape.append(1)  # error
mx.sym.FullyConnected(s, num_hidden="ten")  # error
mx.sym.FullyConnected(x, num_hidden=10)  # error
mx.sym.Convolution(s, kernal=(3, 3))  # error
s.infer_shape(data=2)  # error
s.bind(mx.cpu())  # error
mx.mod.Module(x)  # error
mx.mod.Module(s).fit(x, num_epoch=1)  # error
mx.mod.Module(s).fitt()  # error
mx.opt.SGD(momentum="0.9")  # error
mx.init.Xavier(magnitud=2)  # error
mx.metric.TopKAccuracy(top_k="5")  # error
mx.callback.Speedometer()  # error
mx.io.NDArrayIter(x, batch_size="2")  # error
mx.lr_scheduler.MultiFactorScheduler(step=10)  # error
mx.kv.create(1)  # error
mx.gpu("0")  # error
mx.optimiser  # error
mx.np.onesz(2)  # error
mx.np.exp(y=x)  # error
mx.np.linalg.normm(x)  # error
mx.npx.relux(x)  # error
mx.npx.batch_dott(x, x)  # error
count: str = x.size  # error
mx.nd.linalg.gem2(x, x)  # error
mx.nd.linalg.gemm2(x, x, transpose=True)  # error
mx.sym.image.resize(s, sizes=3)  # error
mx.nd.contrib.ROIAlign(x, x, pooled_size=(2, 2), scale=1.0)  # error
mx.gluon.nn.Dense(unit=3)  # error
mx.gluon.nn.Dense(3)(x).no_such_method()  # error
mx.gluon.nn.Conv2D("3", 3)  # error
mx.gluon.data.DataLoader(x, batch_sizes=3)  # error
mx.autograd.recrod()  # error
mx.onnx.export_modell(s)  # error
mx.recordio.MXRecordIO("a.rec", mode="w")  # error
mx.image.imresize(x, "3", 4)  # error
mx.profiler.set_states("run")  # error
