"""Log likelihood of marked Hawkes processes: events of K kinds that excite more of their own kind.

The rate of kind k at time t is ``lda[n, k] + alpha[k] * beta[k] * s``, where the state ``s`` grows
by 1 with an event of the kind and decays as ``exp(-beta[k] * t)``. Laub, Taimre and Pollett,
https://arxiv.org/abs/1507.02822.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..property import OperatorProperty, ResourceRequest, merge_shapes


cdef extern from "rnn/hawkes.h" namespace "cynet" nogil:
    struct HawkesMark:
        double s
        double s_beta
        double s_start
        double lda
        double alpha
        double beta
        double start
    struct HawkesFloat "cynet::Hawkes<float>":
        int64_t samples
        int64_t steps
        int64_t marks
        const float* lda
        const float* alpha
        const float* beta
        const float* state
        const float* lags
        const int32_t* mark
        const float* length
        const float* end
    struct HawkesDouble "cynet::Hawkes<double>":
        int64_t samples
        int64_t steps
        int64_t marks
        const double* lda
        const double* alpha
        const double* beta
        const double* state
        const double* lags
        const int32_t* mark
        const double* length
        const double* end
    int64_t wrong_float "cynet::hawkes_wrong<float>"(const HawkesFloat& h) noexcept
    int64_t wrong_double "cynet::hawkes_wrong<double>"(const HawkesDouble& h) noexcept
    void run_float "cynet::hawkes<float>"(int threads, const HawkesFloat& h, HawkesMark* found,
                                          double* ll) noexcept
    void run_double "cynet::hawkes<double>"(int threads, const HawkesDouble& h, HawkesMark* found,
                                            double* ll) noexcept


class HawkesProperty(OperatorProperty):
    """Log likelihood of marked Hawkes processes with exponential decay, and states at the end.

    For N samples of at most T events of K kinds: `lda` (N, K) background rates, `alpha` (K,) and
    `beta` (K,) strength and decay of the excitement, `state` (N, K) at time 0, `lags` (N, T) times
    between events, `marks` (N, T) their kinds as int32, `valid_length` (N,) how many events there
    are, `max_time` (N,) the end. Gives the log likelihoods (N,) and the states (N, K) at
    `max_time`.
    lda, alpha, beta and state get gradients.
    """

    inputs_doc = {
        "lda": "Background rates (N, K).", "alpha": "Strength of the excitement (K,).",
        "beta": "Its decay (K,).", "state": "States at time 0 (N, K).",
        "lags": "Times between events (N, T).", "marks": "Kinds of the events (N, T), int32.",
        "valid_length": "How many events there are (N,).", "max_time": "Ends of time (N,).",
    }

    def list_arguments(self):
        return list(self.inputs_doc)

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        def length(*places):
            found = None
            for shape, axis, ndim in places:
                if shape is not None:
                    padded = [0] * ndim
                    if len(shape) == ndim:
                        padded = shape
                    found = merge_shapes(found, (padded[axis],))
            return found[0] if found else 0

        lda, alpha, beta, state, lags, marks, valid, end = in_shapes
        ll, last = out_shapes
        n = length((lda, 0, 2), (state, 0, 2), (lags, 0, 2), (marks, 0, 2), (valid, 0, 1),
                   (end, 0, 1), (ll, 0, 1), (last, 0, 2))
        k = length((lda, 1, 2), (alpha, 0, 1), (beta, 0, 1), (state, 1, 2), (last, 1, 2))
        t = length((lags, 1, 2), (marks, 1, 2))
        wanted = [(n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,), (n,)]
        ins = [merge_shapes(*pair) for pair in zip(in_shapes, wanted)]
        return ins, [merge_shapes(ll, (n,)), merge_shapes(last, (n, k))], []

    def infer_type(self, in_types, out_types):
        floats = [*in_types[:5], *in_types[6:]]
        ins, outs, _ = super().infer_type(floats, out_types)
        if in_types[5] not in (None, "int32"):
            raise ArgumentError(f"'marks' is {in_types[5]}, expected int32")
        return [*ins[:5], "int32", *ins[5:]], outs, []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        names = self.list_arguments()
        floats = [i for i in range(8) if i != 5]
        require_float_cpu(self, ctx, [names[i] for i in floats], [in_types[i] for i in floats])
        return HawkesOperator()


cdef class HawkesOperator(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t samples = in_data[0].shape[0], marks = in_data[0].shape[1], i
        cdef HawkesMark* found = NULL
        cdef double* ll = NULL
        run(ctx, in_data, &found, &ll)
        for i in range(samples):
            put(out_data, req[0], i, ll[i])
        for i in range(samples * marks):
            put(out_data + 1, req[1], i, found[i].s)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t samples = in_data[0].shape[0], marks = in_data[0].shape[1], i, k, n
        cdef HawkesMark* found = NULL
        cdef double* ll = NULL
        cdef double alpha, beta, g, of_state
        run(ctx, in_data, &found, &ll)
        for k in range(marks):
            alpha = beta = 0
            for n in range(samples):
                i = n * marks + k
                g, of_state = get(out_grad, n), get(out_grad + 1, i)
                alpha += g * found[i].alpha
                beta += g * found[i].beta + of_state * found[i].s_beta
                put(in_grad, req[0], i, g * found[i].lda)
                put(in_grad + 3, req[3], i, g * found[i].start + of_state * found[i].s_start)
            put(in_grad + 1, req[1], k, alpha)
            put(in_grad + 2, req[2], k, beta)
        for n in range(4, 8):
            if req[n] != kNullOp and req[n] != kAddTo:
                memset(in_grad[n].data, 0, in_grad[n].size * dtype_size(in_grad[n].dtype))
        return 0


cdef int run(OpContext* ctx, const TBlob* x, HawkesMark** found, double** ll) except -1 nogil:
    cdef int64_t samples = x[0].shape[0], steps = x[4].shape[1], marks = x[0].shape[1], wrong
    cdef int threads = threads_for(samples * (steps + marks) * 64)
    cdef char* space = <char*>get_space(
        &ctx.requested[0], samples * (marks * sizeof(HawkesMark) + sizeof(double)))
    cdef HawkesFloat f
    cdef HawkesDouble d
    found[0], ll[0] = <HawkesMark*>space, <double*>(space + samples * marks * sizeof(HawkesMark))
    if x[0].dtype == kFloat32:
        f.samples, f.steps, f.marks = samples, steps, marks
        f.lda, f.alpha = <const float*>x[0].data, <const float*>x[1].data
        f.beta, f.state = <const float*>x[2].data, <const float*>x[3].data
        f.lags, f.mark = <const float*>x[4].data, <const int32_t*>x[5].data
        f.length, f.end = <const float*>x[6].data, <const float*>x[7].data
        wrong = wrong_float(f)
        if wrong < 0:
            run_float(threads, f, found[0], ll[0])
    else:
        d.samples, d.steps, d.marks = samples, steps, marks
        d.lda, d.alpha = <const double*>x[0].data, <const double*>x[1].data
        d.beta, d.state = <const double*>x[2].data, <const double*>x[3].data
        d.lags, d.mark = <const double*>x[4].data, <const int32_t*>x[5].data
        d.length, d.end = <const double*>x[6].data, <const double*>x[7].data
        wrong = wrong_double(d)
        if wrong < 0:
            run_double(threads, d, found[0], ll[0])
    if wrong >= 0:
        with gil:
            raise ArgumentError(
                f"operator _contrib_hawkesll: sample {wrong} has a valid_length beyond"
                f" 0 to {steps} or marks beyond 0 to {marks - 1}")
    return 0


cdef inline double get(const TBlob* x, int64_t i) noexcept nogil:
    if x.data == NULL:
        return 0
    return (<float*>x.data)[i] if x.dtype == kFloat32 else (<double*>x.data)[i]


cdef inline void put(TBlob* x, int req, int64_t i, double value) noexcept nogil:
    if req == kNullOp:
        return
    if x.dtype == kFloat32:
        (<float*>x.data)[i] = <float>value + ((<float*>x.data)[i] if req == kAddTo else 0)
    else:
        (<double*>x.data)[i] = value + ((<double*>x.data)[i] if req == kAddTo else 0)


register_operator("_contrib_hawkesll", HawkesProperty)
