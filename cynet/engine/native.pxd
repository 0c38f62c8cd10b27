"""C and C++ functions that the engine uses, and code that cannot be written in Cython.

Nothing here keeps state: the verbatim block is compiled into every module that cimports this file.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libcpp.mutex cimport mutex

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState:
        pass
    ctypedef enum PyGILState_STATE:
        pass
    PyGILState_STATE PyGILState_Ensure()
    void PyGILState_Release(PyGILState_STATE)
    PyThreadState* PyGILState_GetThisThreadState()
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState*)

cdef extern from *:
    """
    #include <chrono>
    #include <condition_variable>
    #include <cstdint>
    #include <mutex>
    #include <new>
    #include <thread>
    #if defined(__x86_64__) || defined(_M_X64)
    #include <immintrin.h>
    #endif
    #ifndef _WIN32
    #include <pthread.h>
    #include <sys/mman.h>
    #endif

    namespace {
    // Whether this thread holds the GIL. PyGILState_Check() says so of every thread once there was
    // a sub-interpreter. Before Python 3.12 the current thread state is that of whoever holds it.
    inline bool holds_gil() noexcept {
    #if PY_VERSION_HEX >= 0x030d0000
        return PyThreadState_GetUnchecked() != nullptr;
    #elif PY_VERSION_HEX >= 0x030c0000
        return _PyThreadState_UncheckedGet() != nullptr;
    #else
        PyThreadState* holder = _PyThreadState_UncheckedGet();
        return holder != nullptr && holder == PyGILState_GetThisThreadState();
    #endif
    }
    // One breath of a thread that waits for another core.
    inline void cpu_relax() noexcept {
    #if defined(__x86_64__) || defined(_M_X64)
        _mm_pause();
    #elif defined(__aarch64__)
        asm volatile("yield");
    #endif
    }
    inline int64_t now_ns() noexcept {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    // A thread of its own for body(arg); false when the system has none left, or where it would
    // take the last of a limited address space: what runs needs some.
    inline bool start_thread(void (*body)(void*), void* arg) noexcept {
    #ifndef _WIN32
        const size_t LEFT = 64 << 20;
        void* const left = mmap(nullptr, LEFT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (left == MAP_FAILED) return false;
    #endif
        bool begun = true;
        try {
            std::thread(body, arg).detach();
        } catch (...) {
            begun = false;
        }
    #ifndef _WIN32
        munmap(left, LEFT);
    #endif
        return begun;
    }
    // Sleeps at most ns (negative: for ever) on a mutex the caller holds; may wake for nothing.
    inline void sleep_on(std::condition_variable* cv, std::mutex* held, int64_t ns) {
        std::unique_lock<std::mutex> lock(*held, std::adopt_lock);
        if (ns < 0)
            cv->wait(lock);
        else
            cv->wait_until(lock, std::chrono::system_clock::now() + std::chrono::nanoseconds(ns));
        lock.release();
    }
    // size is a multiple of alignment; NULL without memory.
    inline void* aligned_block(size_t alignment, size_t size) noexcept {
        return ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    inline void free_aligned_block(void* block, size_t alignment) noexcept {
        ::operator delete(block, std::align_val_t(alignment));
    }
    inline void sleep_ns(int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }
    // Registers what runs around every fork(); Windows has none.
    inline int at_fork(void (*before)(), void (*parent)(), void (*child)()) {
    #ifdef _WIN32
        (void)before; (void)parent; (void)child;
        return 0;
    #else
        return pthread_atfork(before, parent, child);
    #endif
    }
    }
    """
    bint holds_gil() noexcept nogil
    void cpu_relax() noexcept nogil
    int64_t now_ns() noexcept nogil
    bint start_thread(void (*body)(void*) noexcept nogil, void* arg) noexcept nogil
    void sleep_on(condition_variable* cv, mutex* held, int64_t ns) noexcept nogil
    void* aligned_block(size_t alignment, size_t size) noexcept nogil
    void free_aligned_block(void* block, size_t alignment) noexcept nogil
    void sleep_ns(int64_t ns) noexcept nogil
    int at_fork(
        void (*before)() noexcept nogil, void (*parent)() noexcept nogil,
        void (*child)() noexcept nogil) noexcept nogil

cdef extern from "<condition_variable>" namespace "std" nogil:
    cppclass condition_variable:
        void notify_one()

cdef extern from "<thread>" namespace "std::this_thread" nogil:
    void thread_yield "std::this_thread::yield"()
