"""Discrete Fourier transforms of lines (fft.h)."""

from libc.stdint cimport int64_t

cdef extern from "contrib/fft.h" namespace "cynet" nogil:
    struct Complex:
        pass
    cppclass FourierTable:
        int64_t padded
        FourierTable()
        FourierTable(int64_t n)
        int64_t table_size()  # complex numbers that `fill_tables` fills
        void fill_tables(Complex* memory)
    # Lines [begin, end) of n real numbers to n complex ones, or with `back` the real parts the
    # other way; unscaled. `space`: `padded` complex numbers.
    void transform_lines[T](const FourierTable& table, bint back, const T* x, T* y, int64_t begin,
                            int64_t end, Complex* space, bint add) noexcept
