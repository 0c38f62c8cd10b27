// count_sketch: adds each number of a line, with a sign, to the sum that an index array names.
#include "elementwise/convert.h"
#include "kernel.h"

namespace cynet {
namespace {

inline int64_t sketch_workspace_bytes(const Args& args) {
  return args.in[1]->size * sizeof(int64_t);
}

// Reads the sum index of each number into the workspace; nullptr if one is not in [0, n).
template <typename T>
const int64_t* read_sum_indices(const Args& args, int64_t n) {
  int64_t* sums = static_cast<int64_t*>(args.space);
  for (int64_t i = 0; i < args.in[1]->size; ++i) {
    sums[i] = saturate<int64_t>(args.input<T>(1)[i], INT64_MIN);
    if (sums[i] >= 0 && sums[i] < n) continue;
    args.fail(i);
    return nullptr;
  }
  return sums;
}

// reads data, h, s
template <typename T>
void count_sketch(const Args& args) {
  const int64_t n_in = args.in[1]->size, n_out = args.out[0]->shape[args.out[0]->ndim - 1];
  const int64_t* h = read_sum_indices<T>(args, n_out);
  const T *x = args.input<T>(0), *s = args.input<T>(2);
  T* y = args.output<T>(0);
  if (!h) return;
  parallel_for(args.threads, args.in[0]->size / n_in, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      T* sums = y + line * n_out;
      if (!args.add[0]) std::fill(sums, sums + n_out, T(0));
      for (int64_t i = 0; i < n_in; ++i) sums[h[i]] += s[i] * x[line * n_in + i];
    }
  });
}

// reads d_output, h, s
template <typename T>
void count_sketch_grad(const Args& args) {
  const int64_t n_in = args.in[1]->size, n_out = args.in[0]->shape[args.in[0]->ndim - 1];
  const int64_t* h = read_sum_indices<T>(args, n_out);
  const T *g = args.input<T>(0), *s = args.input<T>(2);
  T* dx = args.output<T>(0);
  if (!h) return;
  parallel_for(args.threads, args.in[0]->size / n_out, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      for (int64_t i = 0; i < n_in; ++i) {
        T& to = dx[line * n_in + i];
        to = (args.add[0] ? to : T(0)) + s[i] * g[line * n_out + h[i]];
      }
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_SPACE_KERNEL(count_sketch, NoParams, 1, sketch_workspace_bytes, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(count_sketch_grad, NoParams, 1, sketch_workspace_bytes, CYNET_FLOATS)
