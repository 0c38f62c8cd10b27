// Khatri-Rao products: columns of the product are Kronecker products of the factors' columns.
#include "kernel.h"

namespace cynet {
namespace {
enum { MAX_FACTORS = 64 };

// The factors: matrices (rows[i], columns) in in[first] and the inputs behind it.
template <typename T>
struct Factors {  // the matrices of a Khatri-Rao product
  int count = 0;
  int64_t rows[MAX_FACTORS], columns, product = 1;  // rows of each factor and of the product
  const T* at[MAX_FACTORS];

  Factors(const Args& args, int first) : columns(args.in[first]->shape[1]) {
    for (; args.in[first + count]; ++count) {
      rows[count] = args.in[first + count]->shape[0];
      at[count] = args.input<T>(first + count);
      product *= rows[count];
    }
  }
  // Finds the line of each factor whose product is row `row`.
  void find_factor_rows(int64_t row, const T** lines) const {
    for (int i = count - 1; i >= 0; --i) {
      lines[i] = at[i] + row % rows[i] * columns;
      row /= rows[i];
    }
  }
};

// out (product, columns) (+)= the product of the factors
template <typename T>
void khatri_rao(const Args& args) {
  const Factors<T> k(args, 0);
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, k.product, [=, &k](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* lines[MAX_FACTORS];
      k.find_factor_rows(row, lines);
      T* to = out + row * k.columns;
      for (int64_t c = 0; c < k.columns; ++c) {
        T value = lines[0][c];
        for (int i = 1; i < k.count; ++i) value *= lines[i][c];
        to[c] = add ? to[c] + value : value;
      }
    }
  });
}

// dx (rows[which], columns) (+)= the gradient of factor `which`
template <typename T>
void factor_gradient(const Factors<T>& k, int threads, int which, const T* grad, T* dx, bool add) {
  int64_t inner = 1;
  for (int i = which + 1; i < k.count; ++i) inner *= k.rows[i];
  parallel_for(threads, k.rows[which], [=, &k](int64_t begin, int64_t end) {
    const int64_t own = k.rows[which], others = k.product / own;
    for (int64_t r = begin; r < end; ++r) {
      T* to = dx + r * k.columns;
      if (!add)
        for (int64_t c = 0; c < k.columns; ++c) to[c] = 0;
      for (int64_t other = 0; other < others; ++other) {
        const int64_t row = (other / inner * own + r) * inner + other % inner;
        const T *lines[MAX_FACTORS], *g = grad + row * k.columns;
        k.find_factor_rows(row, lines);
        for (int64_t c = 0; c < k.columns; ++c) {
          T value = g[c];
          for (int i = 0; i < k.count; ++i)
            if (i != which) value *= lines[i][c];
          to[c] += value;
        }
      }
    }
  });
}

// Gradients of the factors. in[0] is the gradient of the product, the factors are behind it.
template <typename T>
void khatri_rao_grad(const Args& args) {
  const Factors<T> k(args, 1);
  for (int i = 0; i < k.count; ++i)
    if (args.wanted[i])
      factor_gradient(k, args.threads, i, args.input<T>(0), args.output<T>(i), args.add[i]);
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(khatri_rao, NoParams, 2, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(khatri_rao_grad, NoParams, 2, CYNET_FLOATS)
