"""A script in the way of Horovod's mxnet_imagenet_resnet50.py, both of its modes: its calls in
their order, on 64 small pictures; only the import of Horovod is another."""

import argparse
import logging
import math
import os
import time

import numpy as np

import cynet as mx
import cynet.contrib.horovod as hvd
from cynet import autograd, gluon, lr_scheduler

parser = argparse.ArgumentParser()
parser.add_argument("--mode", choices=["gluon", "module"], default="gluon")
parser.add_argument("--rec-train", required=True)
parser.add_argument("--rec-train-idx", required=True)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--num-epochs", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--warmup-epochs", type=int, default=1)
parser.add_argument("--lr-decay-epoch", default="3")
parser.add_argument("--gradient-predivide-factor", type=float, default=2.0)
parser.add_argument("--use-rec", action="store_true", default=True)
parser.add_argument("--save-dir", required=True)
args = parser.parse_args()
logging.basicConfig(level=logging.INFO)

hvd.init()
num_workers, rank, local_rank = hvd.size(), hvd.rank(), hvd.local_rank()
classes, examples, shape = 4, 64, (3, 32, 32)
epoch_size = math.ceil(examples // num_workers / args.batch_size)
context = mx.cpu(local_rank)

warmup = lr_scheduler.MultiFactorScheduler(
    step=[epoch_size * int(each) for each in args.lr_decay_epoch.split(",")],
    factor=0.1,
    base_lr=args.lr * num_workers,
    warmup_steps=args.warmup_epochs * epoch_size,
    warmup_begin_lr=args.lr,
)


def get_data_rec(rec, idx, batch_size, training):
    """An iterator over this worker's part."""
    return mx.io.ImageRecordIter(
        path_imgrec=rec,
        path_imgidx=idx,
        preprocess_threads=1,
        shuffle=training,
        batch_size=batch_size,
        label_width=1,
        data_shape=shape,
        mean_r=123.68,
        mean_g=116.779,
        mean_b=103.939,
        std_r=58.395,
        std_g=57.12,
        std_b=57.375,
        rand_mirror=training,
        rand_crop=training,
        resize=36,
        num_parts=num_workers if training else 1,
        part_index=rank if training else 0,
    )


train_data = get_data_rec(args.rec_train, args.rec_train_idx, args.batch_size, True)
val_data = get_data_rec(args.rec_train, args.rec_train_idx, args.batch_size, False)
net = gluon.nn.HybridSequential()  # in place of ResNet-50
net.add(gluon.nn.Conv2D(8, 3, strides=2, use_bias=False), gluon.nn.BatchNorm(momentum=0.5))
net.add(gluon.nn.Activation("relu"), gluon.nn.GlobalAvgPool2D(), gluon.nn.Dense(classes))
net.cast("float32")
initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
optimizer_params = {"wd": 1e-4, "momentum": 0.9, "lr_scheduler": warmup}


def top_metrics():
    return mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.TopKAccuracy(3)])


def train_gluon():
    net.hybridize(static_alloc=True, static_shape=True)
    net.initialize(initializer, ctx=context)
    net(mx.nd.zeros((1, *shape), context))  # shapes are known before parameters are sent
    params = net.collect_params()
    hvd.broadcast_parameters(params, root_rank=0)
    trainer = hvd.DistributedTrainer(
        params,
        mx.optimizer.create("sgd", **optimizer_params),
        gradient_predivide_factor=args.gradient_predivide_factor,
    )
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    metric = mx.metric.Accuracy()
    for epoch in range(args.num_epochs):
        began = time.time()
        train_data.reset()
        metric.reset()
        for batch in train_data:
            data = gluon.utils.split_and_load(batch.data[0], ctx_list=[context], batch_axis=0)
            label = gluon.utils.split_and_load(batch.label[0], ctx_list=[context], batch_axis=0)
            with autograd.record():
                output = [net(x.astype("float32", copy=False)) for x in data]
                loss = [loss_fn(z, y) for z, y in zip(output, label)]
            for each in loss:
                each.backward()
            trainer.step(args.batch_size)
            metric.update(label, output)
        if rank == 0:
            logging.info("Epoch[%d] %s cost=%.1f", epoch, metric.get(), time.time() - began)
            net.save_parameters(os.path.join(args.save_dir, f"gluon-{epoch}.params"))
    metric = top_metrics()
    val_data.reset()
    for batch in val_data:
        metric.update(batch.label, [net(batch.data[0].as_in_context(context))])
    return metric.get()


def train_module():
    symbol = mx.sym.SoftmaxOutput(net(mx.sym.var("data")), name="softmax")
    mod = mx.mod.Module(symbol, context=context)
    mod.bind(data_shapes=train_data.provide_data, label_shapes=train_data.provide_label)
    mod.init_params(initializer)
    arg_params, aux_params = mod.get_params()
    if arg_params is not None:
        hvd.broadcast_parameters(arg_params, root_rank=0)
    if aux_params is not None:
        hvd.broadcast_parameters(aux_params, root_rank=0)
    mod.set_params(arg_params=arg_params, aux_params=aux_params)
    optimizer = mx.optimizer.create(
        "sgd", sym=symbol, rescale_grad=1.0 / args.batch_size, **optimizer_params
    )
    optimizer = hvd.DistributedOptimizer(
        optimizer, gradient_predivide_factor=args.gradient_predivide_factor
    )
    callbacks = None
    if rank == 0:
        callbacks = mx.callback.do_checkpoint(os.path.join(args.save_dir, "module"))
    mod.fit(
        train_data,
        eval_data=None,
        num_epoch=args.num_epochs,
        kvstore=None,
        batch_end_callback=mx.callback.Speedometer(args.batch_size, 2) if rank == 0 else None,
        epoch_end_callback=callbacks,
        optimizer=optimizer,
    )
    metric = top_metrics()
    mod.score(val_data, metric)
    return metric.get()


names, values = train_gluon() if args.mode == "gluon" else train_module()
together = hvd.allreduce(mx.nd.array(values), average=True, name="accuracy")
assert np.allclose(together.asnumpy(), values), "ranks have other weights"
print(f"rank {rank} of {num_workers}: accuracy {values[0]:.4f}")
