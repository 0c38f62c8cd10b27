// The gradient that moves each unit's mean activation to a target, and the running mean.
#include "kernel.h"

namespace cynet {
#define KL_SPARSE_FIELDS(field)                                                       \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(double, target) \
      field(double, penalty) field(double, momentum)
CYNET_PARAMS(KLSparse, KL_SPARSE_FIELDS)

// Copies x to y, and updates the running means in training.
template <typename T>
static void kl_sparse(const Args& args) {
  const KLSparse& p = args.as<KLSparse>();
  const T* x = args.input<T>(0);
  T *y = args.output<T>(0), *mean = args.output<T>(1);
  if (args.training)
    parallel_for(args.threads, p.n, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        double total = 0;
        for (int64_t o = 0; o < p.outer; ++o)
          for (int64_t i = 0; i < p.inner; ++i) total += x[(o * p.n + k) * p.inner + i];
        mean[k] = T(p.momentum * mean[k] + (1 - p.momentum) * total / (p.outer * p.inner));
      }
    });
  if (!y) return;
  parallel_for(args.threads, args.out[0]->size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = args.add[0] ? y[i] + x[i] : x[i];
  });
}

// Computes dx from dy and the running means.
template <typename T>
static void kl_sparse_grad(const Args& args) {
  const KLSparse& p = args.as<KLSparse>();
  const T *dy = args.input<T>(0), *mean = args.input<T>(1);
  T* dx = args.output<T>(0);
  parallel_for(args.threads, p.outer * p.n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double r = mean[row % p.n];
      const T push = T(p.penalty * ((1 - p.target) / (1 - r) - p.target / r));
      for (int64_t i = row * p.inner; i < (row + 1) * p.inner; ++i)
        dx[i] = (args.add[0] ? dx[i] : T(0)) + dy[i] + push;
    }
  });
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(kl_sparse, KLSparse, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(kl_sparse_grad, KLSparse, 1, CYNET_FLOATS)
