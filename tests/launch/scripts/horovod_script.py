"""A script in the way of Horovod's mxnet_mnist.py: only the import of Horovod is another."""

import numpy as np

import cynet as mx
import cynet.contrib.horovod as hvd
from cynet import autograd, gluon

hvd.init()
context = mx.cpu(0)
num_workers = hvd.size()
batch_size, epochs, learning_rate = 8, 4, 0.05

rng = np.random.RandomState(0)
x = rng.randn(192, 5).astype("float32")
y = (x[:, 0] > 0).astype("float32")
part = slice(hvd.rank(), None, num_workers)
train_iter = mx.io.NDArrayIter(x[part], y[part], batch_size, shuffle=True)

model = gluon.nn.HybridSequential()
model.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense(2))
model.hybridize()
model.initialize(mx.init.Xavier(), ctx=context)
params = model.collect_params()
hvd.broadcast_parameters(params, root_rank=0)
optimizer = mx.optimizer.create("sgd", learning_rate=learning_rate * num_workers, momentum=0.5)
trainer = hvd.DistributedTrainer(params, optimizer)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
metric = mx.metric.Accuracy()
for _ in range(epochs):
    train_iter.reset()
    metric.reset()
    for batch in train_iter:
        data, label = batch.data[0].as_in_context(context), batch.label[0].as_in_context(context)
        with autograd.record():
            output = model(data.astype("float32", copy=False))
            loss = loss_fn(output, label)
        loss.backward()
        trainer.step(batch_size)
        metric.update([label], [output])
if hvd.rank() == 0:
    print("train accuracy", metric.get()[1])
metric.reset()
metric.update([mx.nd.array(y)], [model(mx.nd.array(x))])
print(f"rank {hvd.rank()} of {hvd.size()}: accuracy {metric.get()[1]:.4f}")
