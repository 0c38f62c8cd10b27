// Mean and variance over some axes, of every dtype, computed in double.
#ifndef CYNET_MOMENTS_H
#define CYNET_MOMENTS_H

#include "common/by_dtype.h"
#include "parallel.h"

namespace cynet {

// An input whose axes are sorted: `kept` ones, which number the outputs, and `folded` ones. The
// last kept axis and the last folded one run innermost; strides are in elements.
struct MomentAxes {
  int n_kept, n_folded;
  int64_t kept[8], kept_strides[8], folded[8], folded_strides[8];
  int64_t outputs, each;  // products of the lengths

  int64_t place(int64_t output) const {
    int64_t at = 0;
    for (int i = n_kept - 1; i >= 0; --i) {
      at += output % kept[i] * kept_strides[i];
      output /= kept[i];
    }
    return at;
  }
  // body(offset) of each element that is folded into one output
  template <typename Body>
  void fold(Body body) const {
    int64_t index[8] = {0}, at = 0;
    const int last = n_folded - 1;
    for (;;) {
      for (int64_t i = 0; i < folded[last]; ++i) body(at + i * folded_strides[last]);
      int axis = last - 1;
      for (; axis >= 0; --axis) {
        at += folded_strides[axis];
        if (++index[axis] < folded[axis]) break;
        at -= folded[axis] * folded_strides[axis];
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }
};

enum { MOMENT_LANES = 16 };  // outputs side by side whose inputs are, too, or partial sums of one

// Sums of what `term(value, lane)` gives of the outputs [first, first + count) in `total`.
template <typename T, typename Term>
inline void moment_sums(const MomentAxes& axes, const T* x, int64_t count, double* total,
                        Term term) {
  for (int k = 0; k < MOMENT_LANES; ++k) total[k] = 0;
  if (count > 1) {
    axes.fold([&](int64_t at) {
      for (int64_t k = 0; k < count; ++k) total[k] += term(convert_one<double>(x[at + k]), k);
    });
    return;
  }
  int64_t i = 0;
  double parts[MOMENT_LANES] = {0};
  axes.fold([&](int64_t at) {
    parts[i++ % MOMENT_LANES] += term(convert_one<double>(x[at]), 0);
  });
  for (double part : parts) total[0] += part;
}

// work(place, first output, count) for each group of outputs
template <typename Work>
inline void moment_groups(const MomentAxes& axes, int threads, Work work) {
  const int last = axes.n_kept - 1;
  const bool beside = axes.n_kept && axes.kept_strides[last] == 1;
  const int64_t line = beside ? axes.kept[last] : 1, lines = axes.outputs / line;
  const int64_t groups = (line + MOMENT_LANES - 1) / MOMENT_LANES;
  parallel_for(threads, lines * groups, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = i % groups * MOMENT_LANES, output = i / groups * line + start;
      const int64_t left = line - start;
      work(axes.place(output), output, left < MOMENT_LANES ? left : int64_t(MOMENT_LANES));
    }
  });
}

inline void moments_forward(int dtype, int threads, const MomentAxes& axes, const void* x_,
                            void* mean_, void* variance_, bool add_mean, bool add_variance) {
  by_dtype(dtype, [=, &axes](auto zero) {
    typedef decltype(zero) T;
    auto put = [](void* to, int64_t i, double value, bool add) {
      if (add) add_element(static_cast<T*>(to) + i, convert_one<T>(value));
      else static_cast<T*>(to)[i] = convert_one<T>(value);
    };
    moment_groups(axes, threads, [&](int64_t at, int64_t output, int64_t count) {
      const T* x = static_cast<const T*>(x_) + at;
      double mean[MOMENT_LANES], square[MOMENT_LANES];
      moment_sums(axes, x, count, mean, [](double value, int64_t) { return value; });
      for (double& each : mean) each /= static_cast<double>(axes.each);
      if (variance_)
        moment_sums(axes, x, count, square, [&](double value, int64_t k) {
          return (value - mean[k]) * (value - mean[k]);
        });
      for (int64_t k = 0; k < count; ++k) {
        if (mean_) put(mean_, output + k, mean[k], add_mean);
        if (variance_)
          put(variance_, output + k, square[k] / static_cast<double>(axes.each), add_variance);
      }
    });
  });
}

// dx (+)= (dmean + 2 (x - mean) dvariance) / each
inline void moments_backward(int dtype, int threads, const MomentAxes& axes, const void* dmean_,
                             const void* dvariance_, const void* x_, void* dx_, bool add) {
  by_dtype(dtype, [=, &axes](auto zero) {
    typedef decltype(zero) T;
    const T *dmean = static_cast<const T*>(dmean_), *dvariance = static_cast<const T*>(dvariance_);
    moment_groups(axes, threads, [&](int64_t at, int64_t output, int64_t count) {
      const T* x = static_cast<const T*>(x_) + at;
      T* dx = static_cast<T*>(dx_) + at;
      double mean[MOMENT_LANES];
      moment_sums(axes, x, count, mean, [](double value, int64_t) { return value; });
      for (double& each : mean) each /= static_cast<double>(axes.each);
      axes.fold([&](int64_t place) {
        for (int64_t k = 0; k < count; ++k) {
          const double apart = convert_one<double>(x[place + k]) - mean[k];
          const double grad = convert_one<double>(dmean[output + k]) +
                              2 * apart * convert_one<double>(dvariance[output + k]);
          const T made = convert_one<T>(grad / static_cast<double>(axes.each));
          if (add) add_element(dx + place + k, made);
          else dx[place + k] = made;
        }
      });
    });
  });
}

}  // namespace cynet

#endif
