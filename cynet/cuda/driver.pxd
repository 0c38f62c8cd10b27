"""The functions of NVIDIA's driver for native code, and the GPUs that pycuda has opened.

The library is the one that pycuda has loaded: its functions are looked up by name, so that nothing
here needs a toolkit to build. Every function takes and gives what the driver's manual says.
"""

from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic

cdef enum:
    MAX_DEVICES = 64  # maximum number of devices, as in storage/pools.pxd

# The driver's functions: a member for each name of driver.pyx's _FUNCTION_NAMES, in that order.
cdef struct Driver:  # functions of the CUDA driver
    int (*set_current)(void* context) noexcept nogil
    int (*error_name)(int code, const char** text) noexcept nogil
    int (*error_string)(int code, const char** text) noexcept nogil
    int (*module_load)(void** module, const void* image) noexcept nogil
    int (*module_function)(void** function, void* module, const char* name) noexcept nogil
    int (*function_attribute)(int* value, int attribute, void* function) noexcept nogil
    int (*set_function_attribute)(void* function, int attribute, int value) noexcept nogil
    int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned shared, void* stream, void** params, void** extra) noexcept nogil
    int (*to_device)(size_t to, const void* source, size_t nbytes, void* stream) noexcept nogil
    int (*to_host)(void* to, size_t source, size_t nbytes, void* stream) noexcept nogil
    int (*on_device)(size_t to, size_t source, size_t nbytes, void* stream) noexcept nogil
    int (*between)(size_t to, void* to_context, size_t source, void* source_context, size_t nbytes,
                   void* stream) noexcept nogil
    int (*fill8)(size_t to, unsigned char value, size_t n, void* stream) noexcept nogil
    int (*fill16)(size_t to, unsigned short value, size_t n, void* stream) noexcept nogil
    int (*fill32)(size_t to, unsigned value, size_t n, void* stream) noexcept nogil
    int (*event_create)(void** event, unsigned flags) noexcept nogil
    int (*event_destroy)(void* event) noexcept nogil
    int (*event_record)(void* event, void* stream) noexcept nogil
    int (*event_synchronize)(void* event) noexcept nogil
    int (*stream_wait)(void* stream, void* event, unsigned flags) noexcept nogil
    int (*stream_synchronize)(void* stream) noexcept nogil
    int (*begin_capture)(void* stream, int mode) noexcept nogil
    int (*end_capture)(void* stream, void** graph) noexcept nogil
    int (*instantiate)(void** executable, void* graph, unsigned long long flags) noexcept nogil
    int (*graph_launch)(void* executable, void* stream) noexcept nogil
    int (*graph_destroy)(void* graph) noexcept nogil
    int (*executable_destroy)(void* executable) noexcept nogil

cdef struct OpenGpu:  # context and streams of an opened GPU
    void* context
    void* stream       # computes
    void* in_stream    # copies from the host
    void* out_stream   # copies to the host
    void* side_stream  # records graphs

cdef Driver driver
cdef OpenGpu gpus[64]
cdef atomic[bint] opened[64]  # set once the OpenGpu is complete

# Make the GPU's context current in this thread; store its stream in `stream`, unless that is NULL.
# The first call opens the GPU.
cdef int enter_gpu(int dev_id, void** stream) except -1 nogil
# Launch a kernel on a stream (LaunchFn of _device.pxd).
cdef int launch(void* kernel, const unsigned* grid, const unsigned* block, unsigned shared,
                void* stream, void** params) noexcept nogil
# Raise a CynetError with the failed call and the driver's name of `code`, unless that is 0.
cdef int check(int code, int dev_id, const char* what) except -1 nogil  # raises the driver's error
# Create an event without timing; NULL with an exception set.
cdef void* new_event(int dev_id) except NULL nogil
