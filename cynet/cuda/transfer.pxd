"""Copies to, from, between and within GPUs, ordered by streams; the thread that waits for a GPU.

Promises:
- `upload` has read the host's memory when it returns, and nobody waited for the GPU, unless all
  pieces of pinned memory are on their way.
- `upload_pinned` returns while the host's memory is still being read.
- Memory that is given back to a GPU's pool may be handed out at once: all that uses it is ordered
  by the GPU's one stream for computing, or has been waited for.
"""

from libc.stdint cimport int64_t

from ..kernels.movement.strided_copy cimport StridedCopy

cdef struct Strides:  # argument of kernels/strided.cu
    int64_t n
    int ndim
    int64_t shape[16]
    int64_t to[16]
    int64_t frm "from"[16]

# Copy nbytes from the host to the GPU, before all work queued on its stream from now on.
cdef int upload(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil
# `upload` from pinned memory, which the GPU reads directly. Returns an event that is reached when
# the GPU has read the bytes; the caller owns it.
cdef void* upload_pinned(int dev_id, void* to, const void* source,
                         size_t nbytes) except NULL nogil
# Copy nbytes from the GPU to the host, after all work queued on its stream; waits for the copy.
cdef int download(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil
# Copy bytes within one GPU's memory.
cdef int copy_on_gpu(int dev_id, void* to, const void* source, size_t nbytes) except -1 nogil
# Copy bytes from one GPU to another, in the order of both streams; the host does not wait.
cdef int copy_between_devices(int to_id, void* to, int from_id, const void* source,
                              size_t nbytes) except -1 nogil
# Fill nbytes with `value`, an element of `width` bytes: 1, 2 or 4.
cdef int fill(int dev_id, void* to, unsigned value, int width, size_t nbytes) except -1 nogil

# The callback of a job, called by the GPU's thread when the job is done.
ctypedef void (*Finish)(void* arg, void* error) noexcept nogil
# Queue a job: when the GPU's stream has come to this point, nbytes at `source` are copied to
# `what`'s target (on the host, with strides and change of dtype). Then `finish(arg, error)` is
# called on that thread; `error` is a borrowed exception (with the GIL held) or NULL.
cdef int download_later(int dev_id, const void* source, size_t nbytes, const StridedCopy* what,
                        Finish finish, void* arg) except -1 nogil
# `download_later` into pinned memory, which the GPU writes directly.
cdef int download_pinned(int dev_id, void* to, const void* source, size_t nbytes, Finish finish,
                         void* arg) except -1 nogil
# The GPU's thread calls `finish(arg, error)` after the event `reached`, which it then destroys.
cdef int call_after(int dev_id, void* reached, Finish finish, void* arg) except -1 nogil
