"""A script in the way of MXNet's cifar10_dist.py: Gluon with a sampler of its own."""

import random

import numpy as np

import cynet as mx
from cynet import autograd, gluon

store = mx.kv.create("dist_sync")
batch_size, epochs = 8, 4


class SplitSampler(gluon.data.sampler.Sampler):
    """Split the dataset into `num_parts` parts and sample from the part with index `part_index`."""

    def __init__(self, length, num_parts=1, part_index=0):
        self.part_len = length // num_parts
        self.start = self.part_len * part_index
        self.end = self.start + self.part_len

    def __iter__(self):
        indices = list(range(self.start, self.end))
        random.shuffle(indices)
        return iter(indices)

    def __len__(self):
        return self.part_len


rng = np.random.RandomState(0)
x = rng.randn(192, 5).astype("float32")
y = (x[:, 0] > 0).astype("float32")
dataset = gluon.data.ArrayDataset(x, y)
train_data = gluon.data.DataLoader(
    dataset, batch_size, sampler=SplitSampler(len(x), store.num_workers, store.rank)
)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense(2))
net.initialize(mx.init.Xavier())
net.hybridize()
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(
    net.collect_params(), "adam", {"learning_rate": 0.02}, kvstore=store, update_on_kvstore=False
)
for _ in range(epochs):
    for data, label in train_data:
        with autograd.record():
            output = net(data)
            value = loss(output, label)
        value.backward()
        trainer.allreduce_grads()
        trainer.update(batch_size * store.num_workers)
accuracy = mx.metric.Accuracy()
accuracy.update([mx.nd.array(y)], [net(mx.nd.array(x))])
print(f"rank {store.rank} of {store.num_workers}: accuracy {accuracy.get()[1]:.4f}")
