"""What a GPU provides to operators: temporary memory, and copies of small results to the host."""

from .._resource cimport get_device_workspace
from ._device cimport ReadFn, SpaceFn
from .driver cimport driver


cdef void* _device_workspace(int dev_id, int index, size_t nbytes, void* stream) except? NULL nogil:
    return get_device_workspace(dev_id, index, nbytes)


cdef int _copy_to_host(void* to, const void* source, size_t nbytes, void* stream) noexcept nogil:
    cdef int code = driver.to_host(to, <size_t>source, nbytes, stream)
    return code if code != 0 else driver.stream_synchronize(stream)


def workspace_function_address():
    """Address of a SpaceFn."""
    return <size_t><SpaceFn>_device_workspace


def read_fn_address():  # of a function that copies from a GPU
    """Address of a ReadFn."""
    return <size_t><ReadFn>_copy_to_host
