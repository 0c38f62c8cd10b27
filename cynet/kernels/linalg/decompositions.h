// Decompositions of general matrices, equations with them, and their gradients.
//
// Gradients: Townsend: Differentiating the singular value decomposition (2016); Giles: Collected
// matrix derivative results (2008). Equal singular values or eigenvalues have no unique vectors;
// their contribution is left out.
#ifndef CYNET_LINALG_DECOMPOSITIONS_H
#define CYNET_LINALG_DECOMPOSITIONS_H

#include <algorithm>

#include "linalg/inverses.h"

namespace cynet {
namespace linalg {

enum { COMPLEX_VALUES = -1 };  // status of Eig for a matrix with complex eigenvalues

// op(A)^-1 b (size, columns) from an LU factorization of A; `work` has size * columns numbers.
template <typename T>
inline void solve_factorized(bool transposed, int64_t size, int64_t columns, const T* lu,
                             const int* pivots, T* b, T* work) {
  const int n = static_cast<int>(size), k = static_cast<int>(columns);
  int info = 0;
  transpose(size, columns, b, work);
  // LAPACK sees the transpose of a row-major matrix
  Lapack<T>::call.getrs(transposed ? "N" : "T", &n, &k, lu, &n, pivots, work, &n, &info);
  transpose(columns, size, work, b);
}

// A X = B, A (m, m) and B (m, n)
struct Solve {
  static int64_t workspace_elements(const Stack& s) {
    return s.m * s.m + numbers_for_ints(s.m) + 2 * s.m * s.n;
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    int* pivots = reinterpret_cast<int*>(work + s.m * s.m);
    copy(s.m * s.m, in[0], work);
    copy(s.m * s.n, in[1], out[0]);
    const int info = factorize(s.m, work, pivots);
    if (!info)
      solve_factorized(false, s.m, s.n, work, pivots, out[0],
                       work + s.m * s.m + numbers_for_ints(s.m));
    return info;
  }
  // dB = A'^-1 dX, dA = -dB X'
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in,
                          const T* const* out, T* const* in_grad, T* work) {
    int* pivots = reinterpret_cast<int*>(work + s.m * s.m);
    T* db = work + s.m * s.m + numbers_for_ints(s.m);
    copy(s.m * s.m, in[0], work);
    copy(s.m * s.n, grad[0], db);
    const int info = factorize(s.m, work, pivots);
    if (info) return info;
    solve_factorized(true, s.m, s.n, work, pivots, db, db + s.m * s.n);
    if (in_grad[0]) multiply(false, true, s.m, s.m, s.n, T(-1), db, out[0], in_grad[0]);
    if (in_grad[1]) copy(s.m * s.n, db, in_grad[1]);
    return 0;
  }
};

// The sign of the entry of largest magnitude in a column of `a` (rows, columns), 1 or -1; columns
// are multiplied by it, so their signs are unique.
template <typename T>
inline T sign_of_column(int64_t rows, int64_t columns, const T* a, int64_t column) {
  T maximum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const T each = a[i * columns + column];
    if (std::fabs(each) > std::fabs(maximum)) maximum = each;
  }
  return maximum < 0 ? T(-1) : T(1);
}

// A (m, n) = U diag(l) V: outputs U (m, k), l (k), descending, and V (k, n); k = min(m, n)
struct Svd {
  static int64_t smaller_side(const Stack& s) { return std::min(s.m, s.n); }
  static int64_t lapack_workspace_elements(const Stack& s) {
    const int64_t k = smaller_side(s);
    return 4 * k * k + 7 * k + (s.m + s.n) * BLOCK;
  }
  static int64_t workspace_elements(const Stack& s) {
    const int64_t k = smaller_side(s), maximum = std::max(s.m, s.n);
    const int64_t forward =
        s.m * s.n + (s.m + s.n + 1) * k + lapack_workspace_elements(s) + numbers_for_ints(8 * k);
    return std::max(forward, 3 * k * k + maximum * k);
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    const int64_t size = smaller_side(s);
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(size);
    const int lwork = static_cast<int>(lapack_workspace_elements(s));
    T *a = work, *free = work + s.m * s.n;
    T* u = out[0] ? out[0] : free;
    T* values = out[1] ? out[1] : free + s.m * size;
    T* v = out[2] ? out[2] : free + (s.m + 1) * size;
    T* space = free + (s.m + s.n + 1) * size;
    int info = 0;
    copy(s.m * s.n, in[0], a);
    // to LAPACK A is its transpose V' diag(l) U', and each factor its transpose
    Lapack<T>::call.gesdd("S", &n, &m, a, &n, values, v, &n, u, &k, space, &lwork,
                          reinterpret_cast<int*>(space + lwork), &info);
    for (int64_t j = 0; j < size; ++j) {
      if (sign_of_column(s.m, size, u, j) > 0) continue;
      for (int64_t i = 0; i < s.m; ++i) u[i * size + j] = -u[i * size + j];
      for (int64_t i = 0; i < s.n; ++i) v[j * s.n + i] = -v[j * s.n + i];
    }
    return info;
  }
  // dA = U (E . (S(U'dU) l_j + l_i S(dV V')') + diag(dl)) V, with S(X) = X - X' and
  // E_ij = 1 / (l_j^2 - l_i^2); beside the spaces of U and V (1 - U U') dU / l V, and
  // U / l dV (1 - V'V)
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t m = s.m, n = s.n, k = smaller_side(s);
    const T *u = out[0], *l = out[1], *v = out[2];
    T *of_u = work, *of_v = work + k * k, *inner = work + 2 * k * k, *rest = work + 3 * k * k;
    multiply(true, false, k, k, m, T(1), u, grad[0], of_u);   // U' dU
    multiply(false, true, k, k, n, T(1), v, grad[2], of_v);   // V dV'
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) {
        const T apart = (l[j] - l[i]) * (l[j] + l[i]);
        const T pu = of_u[i * k + j] - of_u[j * k + i], pv = of_v[i * k + j] - of_v[j * k + i];
        inner[i * k + j] = i == j       ? grad[1][i]
                           : apart == 0 ? T(0)
                                        : (pu * l[j] + l[i] * pv) / apart;
      }
    multiply(false, false, k, n, k, T(1), inner, v, rest);
    multiply(false, false, m, n, k, T(1), u, rest, in_grad[0]);
    if (m > k) {
      copy(m * k, grad[0], rest);
      multiply(false, false, m, k, k, T(-1), u, of_u, rest, true);
      for (int64_t i = 0; i < m * k; ++i) rest[i] = l[i % k] == 0 ? T(0) : rest[i] / l[i % k];
      multiply(false, false, m, n, k, T(1), rest, v, in_grad[0], true);
    }
    if (n > k) {
      copy(k * n, grad[2], rest);
      multiply(true, false, k, n, k, T(-1), of_v, v, rest, true);
      for (int64_t i = 0; i < k * n; ++i) rest[i] = l[i / n] == 0 ? T(0) : rest[i] / l[i / n];
      multiply(false, false, m, n, k, T(1), u, rest, in_grad[0], true);
    }
    return 0;
  }
};

// A V = V diag(l): outputs l and V (n, n), whose columns are eigenvectors of length 1
struct Eig {
  static int64_t lapack_workspace_elements(const Stack& s) { return s.n * (4 + BLOCK); }
  static int64_t workspace_elements(const Stack& s) {
    return std::max(2 * s.n * s.n + 2 * s.n + lapack_workspace_elements(s),
                    4 * s.n * s.n + numbers_for_ints(s.n));
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    const int64_t square = s.n * s.n;
    const int n = static_cast<int>(s.n), lwork = static_cast<int>(lapack_workspace_elements(s));
    T *a = work, *columns = a + square, *imaginary = columns + square;
    T *values = out[0] ? out[0] : imaginary + s.n, *space = imaginary + 2 * s.n;
    int info = 0;
    transpose(s.n, s.n, in[0], a);
    Lapack<T>::call.geev("N", "V", &n, a, &n, values, imaginary, a, &n, columns, &n, space, &lwork,
                         &info);
    if (info) return info;
    for (int64_t i = 0; i < s.n; ++i)
      if (imaginary[i] != 0) return COMPLEX_VALUES;
    if (!out[1]) return 0;
    transpose(s.n, s.n, columns, out[1]);
    for (int64_t j = 0; j < s.n; ++j)
      if (sign_of_column(s.n, s.n, out[1], j) < 0)
        for (int64_t i = 0; i < s.n; ++i) out[1][i * s.n + j] = -out[1][i * s.n + j];
    return 0;
  }
  // dA = V'^-1 (diag(dl) + E . (V'dV - V'V diag(V'dV))) V', E_ij = 1 / (l_j - l_i)
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t n = s.n;
    const T *l = out[0], *v = out[1];
    T *moved = work, *gram = moved + n * n, *lu = gram + n * n, *space = lu + n * n;
    int* pivots = reinterpret_cast<int*>(space + n * n);
    multiply(true, false, n, n, n, T(1), v, grad[1], moved);
    multiply(true, false, n, n, n, T(1), v, v, gram);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const T apart = l[j] - l[i], diagonal = moved[j * n + j];
        lu[i * n + j] = i == j       ? grad[0][i]
                        : apart == 0 ? T(0)
                                     : (moved[i * n + j] - gram[i * n + j] * diagonal) / apart;
      }
    multiply(false, true, n, n, n, T(1), lu, v, in_grad[0]);
    copy(n * n, v, lu);
    const int info = factorize(n, lu, pivots);
    if (info) return info;
    solve_factorized(true, n, n, lu, pivots, in_grad[0], space);
    return 0;
  }
};

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_DECOMPOSITIONS_H
