"""A training whose checkpoints find no room in the folder argv[2]: where argv[1] is 'limit' because
no file may be larger than 2,000 bytes, else because the folder's file system is full."""

import os
import resource
import sys

import training

import cynet as mx

HOW, FOLDER = sys.argv[1:]
kv = mx.kv.create("dist_sync")
if HOW == "limit" and kv.rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
x, y = training.data(2)
module = mx.mod.Module(training.symbol())
module.fit(
    mx.io.NDArrayIter(x, y, 4),
    num_epoch=2,
    kvstore=kv,
    verbose=False,
    resume=os.path.join(FOLDER, "net"),
)
