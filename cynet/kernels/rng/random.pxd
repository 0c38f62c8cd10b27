"""Random numbers on the CPU: arrays from a Philox stream, the same with any number of threads."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "rng/philox.h" namespace "cynet" nogil:
    cppclass Philox:
        Philox(uint64_t seed, uint64_t stream) noexcept
        void block(uint64_t number, uint32_t* words) noexcept

cdef extern from "rng/random_fill.h" namespace "cynet" nogil:
    cdef enum Distribution:
        kUniform
        kNormal
        kExponential
        kGamma
        kPoisson
        kNegativeBinomial
        kGeneralizedNegativeBinomial
    cdef struct Draw:
        int distribution
        uint64_t seed
        uint64_t stream
        double a
        double b
        const void* a_data  # NULL: `a` and `b` hold for all elements
        const void* b_data
        int param_dtype
        int64_t each        # elements for each pair of parameters
    double load_number(const void* data, int dtype, int64_t i) noexcept

cdef extern from "common/exact_math.h" namespace "cynet" nogil:
    # log(part / whole), of which the first may be 0.
    double log_share(double part, double whole) noexcept

cdef extern from "rng/random_choice.h" namespace "cynet" nogil:
    # A random order of 0 .. n - 1.
    void permutation(uint64_t seed, uint64_t stream, int64_t* out, int64_t n) noexcept
    # out row i = in row order[i]; rows of `bytes` bytes
    void gather_rows(const char* src, char* out, const int64_t* order, int64_t n, int64_t bytes,
                     int threads) noexcept
    # Running sums of rows of k weights; the first row that is no table of weights, or -1.
    int64_t running_sums[T](const T* weights, double* sums, int64_t rows, int64_t k) noexcept
    # `each` draws from every row: choices[i] is the entry that draw i falls on.
    void choose(uint64_t seed, uint64_t stream, const double* sums, int64_t rows, int64_t k,
                int64_t each, int64_t* choices, int threads) noexcept

# out[i] = (+=, with add) element i of the draw, rounded to dtype; 0, or -1 for a dtype that is no
# float.
cdef int fill(const Draw* draw, void* out, int dtype, int64_t n, bint add) noexcept nogil
# Integers in [low, low + range); dtype int32 or int64.
cdef int fill_integers(uint64_t seed, uint64_t stream, int64_t low, uint64_t range, void* out,
                       int dtype, int64_t n, bint add) noexcept nogil
