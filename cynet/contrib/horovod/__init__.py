"""mx.contrib.horovod: the functions of ``horovod.mxnet``, for scripts written for Horovod.

``import cynet.contrib.horovod as hvd`` in place of ``import horovod.mxnet as hvd``.
"""

from .arrays import (
    Average,
    Compression,
    Max,
    Min,
    Product,
    ReduceOp,
    Sum,
    allgather,
    allreduce,
    allreduce_,
    alltoall,
    broadcast,
    broadcast_,
    grouped_allgather,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_reducescatter,
    reducescatter,
)
from .processes import (
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
)
from .sets import ProcessSet, add_process_set, barrier, global_process_set, remove_process_set
from .sharing import allgather_object, broadcast_object, broadcast_parameters
from .training import DistributedOptimizer, DistributedTrainer
from . import common_parameters  # imported last: inserts text into docstrings
