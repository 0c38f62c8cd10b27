// Mean and variance over some axes, of every dtype, computed in double.
#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {
// The axes of the input: `preserved` ones, which index the outputs, and `folded` (reduced) ones.
// The last preserved axis and the last folded one run innermost; strides are in elements. `outputs`
// and `each`: products of the lengths.
#define MOMENT_AXES_FIELDS(field)                                          \
  field(int, n_preserved) field(int, n_folded) field(Int64s<8>, preserved) \
      field(Int64s<8>, preserved_strides) field(Int64s<8>, folded)         \
          field(Int64s<8>, folded_strides) field(int64_t, outputs) field(int64_t, each)
CYNET_PARAMS(MomentAxes, MOMENT_AXES_FIELDS)

static inline int64_t output_offset(const MomentAxes& a, int64_t output) {
  int64_t at = 0;
  for (int i = a.n_preserved - 1; i >= 0; --i) {
    at += output % a.preserved[i] * a.preserved_strides[i];
    output /= a.preserved[i];
  }
  return at;
}

// Calls body(offset) for each element that is reduced to one output.
template <typename Body>
static inline void for_reduced_elements(const MomentAxes& a, Body body) {
  int64_t index[8] = {0}, at = 0;
  const int last = a.n_folded - 1;
  const int64_t n = a.folded[last], step = a.folded_strides[last];
  for (;;) {
    for (int64_t i = 0; i < n; ++i) body(at + i * step);
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      at += a.folded_strides[axis];
      if (++index[axis] < a.folded[axis]) break;
      at -= a.folded[axis] * a.folded_strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

enum { MOMENT_LANES = 16 };  // adjacent outputs with adjacent inputs, or partial sums of one output

// Sums of `term(value, lane)` for the outputs [first, first + count), into `total`.
template <typename T, typename Term>
static inline void moment_sums(const MomentAxes& axes, const T* x, int64_t count, double* total,
                               Term term) {
  for (int k = 0; k < MOMENT_LANES; ++k) total[k] = 0;
  if (count > 1) {
    for_reduced_elements(axes, [&](int64_t at) {
      for (int64_t k = 0; k < count; ++k) total[k] += term(convert_one<double>(x[at + k]), k);
    });
    return;
  }
  int64_t i = 0;
  double parts[MOMENT_LANES] = {0};
  for_reduced_elements(
      axes, [&](int64_t at) { parts[i++ % MOMENT_LANES] += term(convert_one<double>(x[at]), 0); });
  for (double part : parts) total[0] += part;
}

// Calls work(offset, first output, count) for each group of outputs.
template <typename Work>
static inline void for_moment_groups(const MomentAxes& axes, int threads, Work work) {
  const int last = axes.n_preserved - 1;
  const bool beside = axes.n_preserved && axes.preserved_strides[last] == 1;
  const int64_t line = beside ? axes.preserved[last] : 1, lines = axes.outputs / line;
  const int64_t groups = (line + MOMENT_LANES - 1) / MOMENT_LANES;
  parallel_for(threads, lines * groups, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = i % groups * MOMENT_LANES, output = i / groups * line + start;
      const int64_t left = line - start;
      work(output_offset(axes, output), output, left < MOMENT_LANES ? left : int64_t(MOMENT_LANES));
    }
  });
}

template <typename T>
static inline void write_converted(T* to, int64_t i, double value, bool add) {
  if (!to) return;
  if (add) add_element(to + i, convert_one<T>(value));
  else to[i] = convert_one<T>(value);
}

template <typename T>
static inline void compute_means(const MomentAxes& axes, const T* x, int64_t count, double* mean) {
  moment_sums(axes, x, count, mean, [](double value, int64_t) { return value; });
  for (int k = 0; k < MOMENT_LANES; ++k) mean[k] /= static_cast<double>(axes.each);
}

template <typename T>
static void moments(const Args& args) {
  const MomentAxes& axes = args.as<MomentAxes>();
  for_moment_groups(axes, args.threads, [&](int64_t at, int64_t output, int64_t count) {
    const T* x = args.input<T>(0) + at;
    double mean[MOMENT_LANES], square[MOMENT_LANES];
    compute_means(axes, x, count, mean);
    if (args.wanted[1])
      moment_sums(axes, x, count, square,
                  [&](double value, int64_t k) { return (value - mean[k]) * (value - mean[k]); });
    for (int64_t k = 0; k < count; ++k) {
      write_converted(args.output<T>(0), output + k, mean[k], args.add[0]);
      if (args.wanted[1])
        write_converted(args.output<T>(1), output + k, square[k] / static_cast<double>(axes.each),
                        args.add[1]);
    }
  });
}

// dx (+)= (dmean + 2 (x - mean) dvariance) / each
template <typename T>
static void moments_grad(const Args& args) {
  const MomentAxes& axes = args.as<MomentAxes>();
  const T *dmean = args.input<T>(0), *dvariance = args.input<T>(1);
  for_moment_groups(axes, args.threads, [&](int64_t at, int64_t output, int64_t count) {
    const T* x = args.input<T>(2) + at;
    T* dx = args.output<T>(0) + at;
    const bool add = args.add[0];
    double mean[MOMENT_LANES];
    compute_means(axes, x, count, mean);
    const double each = static_cast<double>(axes.each);
    for_reduced_elements(axes, [&](int64_t place) {
      for (int64_t k = 0; k < count; ++k) {
        const double apart = convert_one<double>(x[place + k]) - mean[k];
        const double grad = convert_one<double>(dmean[output + k]) +
                            2 * apart * convert_one<double>(dvariance[output + k]);
        write_converted(dx, place + k, grad / each, add);
      }
    });
  });
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(moments, MomentAxes, 2, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(moments_grad, MomentAxes, 4, CYNET_NUMBERS)
