"""Memory: a block of pooled memory as a Python object."""

from .._storage cimport Handle, alloc, free
from .._typedefs cimport kGPU

from ..context import Context
from ..base.errors import CynetError, HostMemoryError


cdef class Memory:  # one block of pooled memory
    """One block of pooled memory, given back when the object dies; a writable buffer on the host.

    >>> from cynet.storage.block import Memory
    >>> block = Memory(100, Context("cpu"))
    >>> memoryview(block).nbytes
    100
    """

    cdef Handle handle
    cdef Py_ssize_t _length

    def __init__(self, size_t nbytes, ctx):
        if self.handle.ptr != NULL:
            raise CynetError("this Memory is made already")
        ctx = Context(ctx)
        alloc(nbytes, ctx.device_typeid, ctx.device_id, &self.handle)
        self._length = nbytes

    def __dealloc__(self):
        free(&self.handle)

    @property
    def data_ptr(self):
        """Address of the first byte."""
        return <size_t>self.handle.ptr

    @property
    def capacity(self):
        """Bytes of the block's size class."""
        return self.handle.capacity

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.handle.dev_type == kGPU or self.handle.ptr == NULL:
            raise HostMemoryError("this memory cannot be read from the host")
        view.buf = self.handle.ptr
        view.obj = self
        view.len = self._length
        view.itemsize = 1
        view.readonly = 0
        view.ndim = 1
        view.format = b"B"
        view.shape = &self._length
        view.strides = &view.itemsize
        view.suboffsets = NULL
        view.internal = NULL

    def __releasebuffer__(self, Py_buffer* view):
        pass
