"""Six epochs of fit(resume=...).

Arguments: the kind of module, the prefix of the files, after which epoch to kill itself (-1:
never).
"""

import os
import random
import signal
import sys

import numpy as np

import cynet as mx

kind, prefix, kill_after = sys.argv[1], sys.argv[2], int(sys.argv[3])
mx.random.seed(5)
np.random.seed(5)
random.seed(5)
rng = np.random.RandomState(0)


class Kill(mx.callback.FitCallback):
    # the next epoch has begun when the process dies
    def batch_end(self, state):
        if state.epoch == kill_after and state.nbatch == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def dense():
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=8), act_type="relu")
    net = mx.sym.BatchNorm(mx.sym.Dropout(net, p=0.3))
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3), name="softmax")
    rows = rng.randn(38, 4).astype("float32")
    handle = "roll_over" if kind == "roll_over" else "pad"
    batches = mx.io.NDArrayIter(rows, rng.randint(0, 3, 38), 8, True, handle)
    context = [mx.cpu(0), mx.cpu(1)] if kind == "two" else mx.cpu()
    return mx.mod.Module(net, context=context), batches, "acc"


def buckets():
    sentences = [list(rng.randint(1, 9, n)) for n in rng.randint(2, 6, 60)]
    batches = mx.rnn.BucketSentenceIter(sentences, 4, buckets=[3, 5], invalid_label=0)
    cell = mx.rnn.FusedRNNCell(6, 1, "gru", prefix="f_")

    def symbol_of(length):
        embed = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=9, output_dim=4)
        embed = mx.sym.Dropout(embed, p=0.2)
        outputs, _ = cell.unroll(length, embed, merge_outputs=True)
        rows = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 6)), num_hidden=9)
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(rows, label, name="softmax"), ("data",), ("softmax_label",)

    with mx.name.NameManager():
        module = mx.mod.BucketingModule(symbol_of, batches.default_bucket_key)
    return module, batches, mx.metric.Perplexity(0)


module, batches, metric = buckets() if kind == "buckets" else dense()
steps = mx.lr_scheduler.FactorScheduler(7, 0.9)
history = module.fit(
    batches,
    batches if kind == "dense" else None,
    metric,
    num_epoch=6,
    optimizer="adam",
    optimizer_params={"learning_rate": 0.05, "lr_scheduler": steps},
    initializer=mx.init.Xavier(),
    callbacks=[Kill()],
    resume=prefix,
    verbose=False,
)
arg_params, aux_params = module.get_params()
mx.nd.save(prefix + ".result", {**arg_params, **aux_params})
print(history.epochs, list(history.metrics.items()))
