// Convolutions of the simulated libcudnn. Of the algorithms it offers each direction runs the one it
// is given, if the workspace and the descriptor's math are those that it said.
#include <cstddef>

#include "cudnn.h"

struct Perf {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

enum { FORWARD, TO_DATA, TO_WEIGHT };
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3 };
static const int SLOW = 0, FAST = 1, REFUSED = 5;  // numbers of algorithms
static const int64_t SCRATCH = 640;  // bytes of workspace that FAST wants

static long long fast_runs = 0, timed = 0;
static int last_math = -1;

static int64_t output_size(const Tensor* x, const Filter* w, const Convolution* c, int axis) {
  return 1 +
         (x->dims[axis + 2] + 2 * c->pad[axis] - ((w->dims[axis + 2] - 1) * c->dilate[axis] + 1)) /
             c->stride[axis];
}

static const char* misfit(const Tensor* x, const Filter* w, const Convolution* c, const Tensor* y) {
  if (!x || !w || !c || !y) return "descriptor";
  if (x->rank < 4 || x->rank != w->rank || x->rank != y->rank || x->rank != c->axes + 2)
    return "rank";
  if (x->type != w->type || x->type != y->type) return "types";
  if (c->compute != (x->type == 1 ? 1 : 0)) return "compute type";
  if (x->dims[1] != w->dims[1] * c->groups || w->dims[0] % c->groups) return "channels";
  if (y->dims[0] != x->dims[0] || y->dims[1] != w->dims[0]) return "output channels";
  for (int i = 0; i < c->axes; ++i)
    if (y->dims[i + 2] != output_size(x, w, c, i)) return "output size";
  return nullptr;
}

static int offer(int direction, bool by_timing, void* handle, void* a, void* b, void* conv,
                 void* out, int asked, int* found, Perf* results) {
  if (handles.find(handle) == nullptr) return NOT_INITIALIZED;
  if (asked < 1 || !found || !results) return refuse(BAD_PARAM, "results");
  const Convolution* c = convolutions.find(conv);
  const char* wrong =
      direction == FORWARD   ? misfit(tensors.find(a), filters.find(b), c, tensors.find(out))
      : direction == TO_DATA ? misfit(tensors.find(out), filters.find(a), c, tensors.find(b))
                             : misfit(tensors.find(a), filters.find(out), c, tensors.find(b));
  if (wrong) return refuse(BAD_PARAM, wrong);
  const int fast_math = c->math == FMA_MATH ? FMA_MATH : TENSOR_OP_MATH;
  const Perf all[4] = {
      {REFUSED, NOT_SUPPORTED, -1, 0, 1, DEFAULT_MATH, {0, 0, 0}},
      {FAST, by_timing ? NO_MEMORY : SUCCESS, 0.5, size_t(1) << 40, 1, TENSOR_OP_MATH, {0, 0, 0}},
      {FAST, SUCCESS, 1, SCRATCH, 1, fast_math, {0, 0, 0}},
      {SLOW, SUCCESS, 2, 0, 1, c->math, {0, 0, 0}}};
  *found = 0;
  for (int i = 0; i < 4 && i < asked; ++i) results[(*found)++] = all[i];
  return SUCCESS;
}

// f(value of x's place, of w's place, of y's place) for everything that one output sums
template <typename F>
static void walk(const Tensor& x, const Filter& w, const Convolution& c, const Tensor& y, F f) {
  const int64_t filters_of_group = w.dims[0] / c.groups;
  each(y.rank, y.dims, [&](const int64_t* at) {
    int64_t of_filter[8];
    of_filter[0] = 1;
    for (int i = 1; i < w.rank; ++i) of_filter[i] = w.dims[i];
    each(w.rank, of_filter, [&](const int64_t* k) {
      int64_t from[8], tap[8];
      from[0] = at[0];
      from[1] = at[1] / filters_of_group * w.dims[1] + k[1];
      tap[0] = at[1];
      tap[1] = k[1];
      for (int i = 0; i < c.axes; ++i) {
        tap[i + 2] = k[i + 2];
        from[i + 2] = at[i + 2] * c.stride[i] - c.pad[i] + k[i + 2] * c.dilate[i];
        if (from[i + 2] < 0 || from[i + 2] >= x.dims[i + 2]) return;
      }
      f(x.place(from), w.place(tap), y.place(at));
    });
  });
}

static int convolve(int direction, void* handle, const void* alpha, void* a_desc, const void* a,
                    void* b_desc, const void* b, void* conv, int algorithm, void* space,
                    size_t bytes, const void* beta, void* out_desc, void* out) {
  Handle* h = handles.find(handle);
  if (h == nullptr) return NOT_INITIALIZED;
  if (!a || !b || !out || !alpha || !beta) return refuse(BAD_PARAM, "data");
  const Tensor* x = tensors.find(direction == TO_DATA ? out_desc : a_desc);
  const Tensor* y = tensors.find(direction == FORWARD ? out_desc : b_desc);
  const Filter* w = filters.find(direction == FORWARD   ? b_desc
                                 : direction == TO_DATA ? a_desc
                                                        : out_desc);
  const Convolution* c = convolutions.find(conv);
  const char* wrong = misfit(x, w, c, y);
  if (wrong) return refuse(BAD_PARAM, wrong);
  if (algorithm != FAST && algorithm != SLOW) return refuse(NOT_SUPPORTED, "algorithm");
  if (algorithm == FAST) {
    if (c->math == DEFAULT_MATH) return refuse(NOT_SUPPORTED, "math of the algorithm");
    if (bytes < SCRATCH || !space) return refuse(SPACE_TOO_SMALL, "workspace");
    ++fast_runs;
  }
  last_math = c->math;
  const Tensor x_shape = *x, y_shape = *y;
  const Filter w_shape = *w;
  const Convolution shape = *c;
  const double by = scalar(alpha, x->type == 1), keep = scalar(beta, x->type == 1);
  return run(h, [=] {
    if (algorithm == FAST) memset(space, 0xee, SCRATCH);
    const Tensor result = direction == FORWARD   ? y_shape
                          : direction == TO_DATA ? x_shape
                                                 : static_cast<Tensor>(w_shape);
    int64_t size = 1;
    for (int i = 0; i < result.rank; ++i) size *= result.dims[i];
    double* sums = new double[size]();
    with_type(x_shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      const T *first = static_cast<const T*>(a), *second = static_cast<const T*>(b);
      walk(x_shape, w_shape, shape, y_shape, [=](int64_t i, int64_t j, int64_t k) {
        if (direction == FORWARD) sums[k] += double(first[i]) * double(second[j]);
        if (direction == TO_DATA) sums[i] += double(first[j]) * double(second[k]);
        if (direction == TO_WEIGHT) sums[j] += double(first[i]) * double(second[k]);
      });
      for (int64_t i = 0; i < size; ++i) put(static_cast<T*>(out) + i, by * sums[i], keep);
    });
    delete[] sums;
  });
}

extern "C" {
int cudnnSetConvolutionNdDescriptor(void* d, int axes, const int* pad, const int* stride,
                                    const int* dilate, int mode, int compute) {
  Convolution* c = convolutions.find(d);
  if (c == nullptr || mode != 1) return refuse(BAD_PARAM, "descriptor or mode");
  if (axes < 2 || axes > 3) return refuse(NOT_SUPPORTED, "axes");
  c->axes = axes;
  c->compute = compute;
  for (int i = 0; i < axes; ++i) {
    if (pad[i] < 0 || stride[i] < 1 || dilate[i] < 1) return refuse(BAD_PARAM, "window");
    c->pad[i] = pad[i];
    c->stride[i] = stride[i];
    c->dilate[i] = dilate[i];
  }
  return SUCCESS;
}

int cudnnSetConvolutionGroupCount(void* d, int groups) {
  Convolution* c = convolutions.find(d);
  if (c == nullptr || groups < 1) return refuse(BAD_PARAM, "groups");
  c->groups = groups;
  return SUCCESS;
}

int cudnnSetConvolutionMathType(void* d, int math) {
  Convolution* c = convolutions.find(d);
  if (c == nullptr || math < 0 || math > 3) return refuse(BAD_PARAM, "math");
  c->math = math;
  return SUCCESS;
}

int cudnnGetConvolutionNdForwardOutputDim(void* conv, void* x_desc, void* w_desc, int rank,
                                          int* dims) {
  const Convolution* c = convolutions.find(conv);
  const Tensor* x = tensors.find(x_desc);
  const Filter* w = filters.find(w_desc);
  if (!c || !x || !w || rank != x->rank || rank != c->axes + 2) return refuse(BAD_PARAM, "rank");
  if (x->dims[1] != w->dims[1] * c->groups) return refuse(BAD_PARAM, "channels");
  dims[0] = static_cast<int>(x->dims[0]);
  dims[1] = static_cast<int>(w->dims[0]);
  for (int i = 0; i < c->axes; ++i) dims[i + 2] = static_cast<int>(output_size(x, w, c, i));
  return SUCCESS;
}

#define DIRECTION(direction, get, find, compute)                                                   \
  int get(void* handle, void* a, void* b, void* conv, void* out, int asked, int* found,            \
          Perf* results) {                                                                         \
    return offer(direction, false, handle, a, b, conv, out, asked, found, results);                \
  }                                                                                                \
  int find(void* handle, void* a, void* b, void* conv, void* out, int asked, int* found,           \
           Perf* results) {                                                                        \
    ++timed;                                                                                       \
    return offer(direction, true, handle, a, b, conv, out, asked, found, results);                 \
  }                                                                                                \
  int compute(void* handle, const void* alpha, void* a_desc, const void* a, void* b_desc,          \
              const void* b, void* conv, int algorithm, void* space, size_t bytes,                 \
              const void* beta, void* out_desc, void* out) {                                       \
    return convolve(direction, handle, alpha, a_desc, a, b_desc, b, conv, algorithm, space, bytes, \
                    beta, out_desc, out);                                                          \
  }
DIRECTION(FORWARD, cudnnGetConvolutionForwardAlgorithm_v7, cudnnFindConvolutionForwardAlgorithm,
          cudnnConvolutionForward)
DIRECTION(TO_DATA, cudnnGetConvolutionBackwardDataAlgorithm_v7,
          cudnnFindConvolutionBackwardDataAlgorithm, cudnnConvolutionBackwardData)
DIRECTION(TO_WEIGHT, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
          cudnnFindConvolutionBackwardFilterAlgorithm, cudnnConvolutionBackwardFilter)
#undef DIRECTION

// For the tests: runs of the algorithm that needs workspace, and searches by timing.
long long simulated_fast_runs() { return fast_runs; }
long long simulated_timed() { return timed; }
// The math of the last convolution's descriptor.
int simulated_math() { return last_math; }
}
