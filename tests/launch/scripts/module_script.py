"""A script in the way of MXNet's train_mnist.py: Module with ``--kv-store dist_sync``."""

import argparse
import logging
import os

import numpy as np

import cynet as mx

parser = argparse.ArgumentParser()
parser.add_argument("--kv-store", default="device")
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--num-epochs", type=int, default=3)
parser.add_argument("--model-prefix")
args = parser.parse_args()

kv = mx.kvstore.create(args.kv_store)
logging.basicConfig(
    level=logging.INFO, format=f"%(asctime)-15s Node[{kv.rank}] %(message)s", force=True
)
np.random.seed(0)  # of shuffles
rng = np.random.RandomState(0)
x = rng.randn(192, 5).astype("float32")
y = (x[:, 0] > 0).astype("float32")
part = slice(kv.rank * len(x) // kv.num_workers, (kv.rank + 1) * len(x) // kv.num_workers)
train = mx.io.NDArrayIter(x[part], y[part], args.batch_size, shuffle=True)
val = mx.io.NDArrayIter(x[part], y[part], args.batch_size)

net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
net = mx.sym.Activation(net, act_type="relu")
net = mx.sym.FullyConnected(net, num_hidden=2, name="fc2")
net = mx.sym.SoftmaxOutput(net, name="softmax")

# as common/fit.py does: steps are those of one worker
epoch_size = len(x) // args.batch_size
if "dist" in args.kv_store:
    epoch_size //= kv.num_workers
prefix = args.model_prefix
if prefix and kv.rank > 0:
    prefix += f"-{kv.rank}"
model = mx.mod.Module(symbol=net, context=mx.cpu())
model.fit(
    train,
    eval_data=val,
    num_epoch=args.num_epochs,
    kvstore=kv,
    optimizer="sgd",
    optimizer_params={
        "learning_rate": 0.3,
        "momentum": 0.9,
        "lr_scheduler": mx.lr_scheduler.MultiFactorScheduler(step=[2 * epoch_size], factor=0.5),
    },
    initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
    batch_end_callback=[mx.callback.Speedometer(args.batch_size, 4)],
    epoch_end_callback=mx.callback.do_checkpoint(prefix) if prefix else None,
    allow_missing=True,
)
score = model.score(val, mx.metric.create("acc"))
print(f"rank {kv.rank} of {kv.num_workers}: accuracy {score[0][1]:.4f}")
if prefix and kv.rank == 0:
    print("files", sorted(os.listdir(os.path.dirname(prefix))))
