// Inverses and determinants of square matrices, by LU factorizations, and their gradients.
#ifndef CYNET_LINALG_INVERSES_H
#define CYNET_LINALG_INVERSES_H

#include <cmath>
#include <limits>

#include "linalg/triangular.h"

namespace cynet {
namespace linalg {

// Floats or doubles whose memory holds n ints.
inline int64_t numbers_for_ints(int64_t n) { return n; }  // elements of T that hold n ints

// Factorizes `lu` in place; returns LAPACK's info: the first pivot that is 0.
template <typename T>
inline int factorize(int64_t size, T* lu, int* pivots) {
  const int n = static_cast<int>(size);
  int info = 0;
  Lapack<T>::call.getrf(&n, &n, lu, &n, pivots, &info);
  return info;
}

// Computes the inverse from an LU factorization; `work` has n * BLOCK numbers.
template <typename T>
inline int invert(int64_t size, T* lu, const int* pivots, T* work) {
  const int n = static_cast<int>(size), lwork = n * BLOCK;
  int info = 0;
  Lapack<T>::call.getri(&n, lu, &n, pivots, work, &lwork, &info);
  return info;
}

template <typename T>
inline int determinant_sign(int64_t n, const T* lu, const int* pivots) {
  int sign = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] != i + 1) sign = -sign;
    if (lu[i * n + i] < 0) sign = -sign;
    if (lu[i * n + i] == 0) return 0;
  }
  return sign;
}

template <typename T>
inline double determinant(int64_t n, const T* lu, const int* pivots) {
  double det = 1;
  for (int64_t i = 0; i < n; ++i) det *= pivots[i] != i + 1 ? -lu[i * n + i] : lu[i * n + i];
  return det;
}

struct Inverse {
  static int64_t workspace_elements(const Stack& s) {
    return s.n * BLOCK + numbers_for_ints(s.n) + s.n * s.n;
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    int* pivots = reinterpret_cast<int*>(work + s.n * BLOCK);
    copy(s.n * s.n, in[0], out[0]);
    const int info = factorize(s.n, out[0], pivots);
    return info ? info : invert(s.n, out[0], pivots, work);
  }
  // dA = -B' dB B'
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    multiply(true, false, s.n, s.n, s.n, T(-1), out[0], grad[0], work);
    multiply(false, true, s.n, s.n, s.n, T(1), work, out[0], in_grad[0]);
    return 0;
  }
};

// The cofactors of a singular matrix, from A = U S V: det(U) det(V) U C V with C_ii the product of
// the other singular values. `work`: 7 n^2 + 16 n numbers.
template <typename T>
inline int compute_cofactors(int64_t size, const T* a, T* out, T* work) {
  const int n = static_cast<int>(size);
  const int64_t square = size * size;
  T *u = work, *v = u + square, *copied = v + square, *values = copied + square;
  int* integers = reinterpret_cast<int*>(values + size);  // gesdd's 8 n
  T* space = values + size + numbers_for_ints(8 * size);
  const int lwork = static_cast<int>(4 * square + 7 * size);
  int info = 0;
  copy(square, a, copied);  // LAPACK sees its transpose, whose cofactors obey the same formula
  Lapack<T>::call.gesdd("A", &n, &n, copied, &n, values, u, &n, v, &n, space, &lwork, integers,
                        &info);
  if (info) return info;
  double sign = 1;
  for (const T* each : {u, v}) {
    copy(square, each, copied);
    factorize(size, copied, integers);
    sign *= determinant_sign(size, copied, integers);
  }
  for (int64_t i = 0; i < size; ++i) {  // column i of U, which LAPACK has as a row
    double others = sign;
    for (int64_t j = 0; j < size; ++j) others *= j == i ? 1.0 : static_cast<double>(values[j]);
    for (int64_t j = 0; j < size; ++j) u[i * size + j] *= static_cast<T>(others);
  }
  multiply(false, false, size, size, size, T(1), v, u, out);  // product of the transposes
  return 0;
}

// The determinant, or with LOG its sign and the logarithm of its magnitude.
template <bool LOG>
struct Determinant {
  static int64_t workspace_elements(const Stack& s) {
    return s.n * s.n + numbers_for_ints(s.n) + 7 * s.n * s.n + s.n * (BLOCK + 16);
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    int* pivots = reinterpret_cast<int*>(work + s.n * s.n);
    copy(s.n * s.n, in[0], work);
    factorize(s.n, work, pivots);
    if (!LOG) {
      out[0][0] = static_cast<T>(determinant(s.n, work, pivots));
      return 0;
    }
    if (out[0]) out[0][0] = static_cast<T>(determinant_sign(s.n, work, pivots));
    if (out[1]) {
      double log = 0;
      for (int64_t i = 0; i < s.n; ++i)
        log += std::log(std::fabs(static_cast<double>(work[i * s.n + i])));
      out[1][0] = static_cast<T>(log);
    }
    return 0;
  }
  // dA = g det A'^-1, or g A'^-1 of the logarithm; zeros where that is -inf
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in, const T* const*,
                          T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t n = s.n;
    int* pivots = reinterpret_cast<int*>(work + n * n);
    T* space = work + n * n + numbers_for_ints(n);
    T* da = in_grad[0];
    copy(n * n, in[0], work);
    const int info = factorize(n, work, pivots);
    double factor = grad[LOG ? 1 : 0][0];
    if (info && LOG) {
      std::fill(da, da + n * n, T(0));
      return 0;
    }
    if (info) {
      const int failed = compute_cofactors(n, in[0], da, space);
      if (failed) return failed;
    } else {
      if (!LOG) factor *= determinant(n, work, pivots);
      invert(n, work, pivots, space);
      transpose(n, n, work, da);
    }
    for (int64_t i = 0; i < n * n; ++i) da[i] = static_cast<T>(da[i] * factor);
    return 0;
  }
};

// The sum of the logarithms of the diagonal
struct SumLogDiag {
  static int64_t workspace_elements(const Stack&) { return 0; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    double sum = 0;
    for (int64_t i = 0; i < s.n; ++i) sum += std::log(static_cast<double>(in[0][i * s.n + i]));
    out[0][0] = static_cast<T>(sum);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in, const T* const*,
                          T* const* in_grad, T*) {
    if (!in_grad[0]) return 0;
    std::fill(in_grad[0], in_grad[0] + s.n * s.n, T(0));
    for (int64_t i = 0; i < s.n; ++i) in_grad[0][i * s.n + i] = grad[0][0] / in[0][i * s.n + i];
    return 0;
  }
};

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_INVERSES_H
