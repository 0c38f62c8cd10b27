"""NVIDIA's shared libraries: opened when first needed, their functions put into a table.

A handle of such a library belongs to one device and stream: `Handles` finds it without a lock.
"""

from ..._typedefs cimport RunContext

cdef extern from *:
    """
    #include <atomic>
    // Handles by device and stream. add() needs the GIL; find() needs no lock.
    struct CynetHandles {
        static const int MOST = 256;
        struct Slot { int device; void* stream; void* handle; } slots[MOST];
        std::atomic<int> count{0};
        void* find(int device, void* stream) {
            const int n = count.load(std::memory_order_acquire);
            for (int i = 0; i < n; ++i)
                if (slots[i].device == device && slots[i].stream == stream)
                    return slots[i].handle;
            return nullptr;
        }
        bool add(int device, void* stream, void* handle) {
            const int n = count.load(std::memory_order_relaxed);
            if (n == MOST) return false;
            slots[n].device = device;
            slots[n].stream = stream;
            slots[n].handle = handle;
            count.store(n + 1, std::memory_order_release);
            return true;
        }
    };
    """
    cppclass Handles "CynetHandles":
        void* find(int device, void* stream) noexcept nogil
        bint add(int device, void* stream, void* handle) noexcept nogil

# Fill `slots` with the addresses of the functions `names` of the library that `open_library`
# returned.
cdef int load_functions(void** slots, object library, tuple names, str what) except -1
# Store a handle that was created for run's device and stream.
cdef int store_handle(Handles* handles, const RunContext* run, void* handle, str what) except -1
