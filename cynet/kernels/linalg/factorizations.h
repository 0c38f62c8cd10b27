// Factorizations of matrices and their gradients: Cholesky, LQ, eigenvectors of symmetric ones.
//
// Gradients: Seeger, Hetzel, Dai, Lawrence: Auto-differentiating linear algebra (2017).
#ifndef CYNET_LINALG_FACTORIZATIONS_H
#define CYNET_LINALG_FACTORIZATIONS_H

#include <cmath>

#include "linalg/triangular.h"

namespace cynet {
namespace linalg {

// The lower factor: `factor` itself, or its transpose, written to `work`.
template <typename T>
inline const T* as_lower(const Stack& s, const T* factor, T* work) {  // or its transpose
  if (s.lower) return factor;
  transpose(s.n, s.n, factor, work);
  return work;
}

// A = L L', or with !lower A = U' U; only that triangle of A is read
struct Potrf {
  static int64_t workspace_elements(const Stack& s) { return 2 * s.n * s.n; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    const int n = static_cast<int>(s.n);
    int info = 0;
    copy(s.n * s.n, in[0], out[0]);
    Lapack<T>::call.potrf(s.lower ? "U" : "L", &n, out[0], &n, &info);  // LAPACK is column-major
    keep_triangle(s.lower, s.n, out[0]);
    return info;
  }
  // dA = L'^-1 P L^-1 with P the symmetric half of the lower triangle of L' dL; L is U'
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t n = s.n;
    const T* lower = as_lower(s, out[0], work + n * n);
    T* da = in_grad[0];
    if (s.lower) copy(n * n, grad[0], work);
    else transpose(n, n, grad[0], work);
    keep_triangle(true, n, work);
    multiply_triangular({false, true, true}, n, n, T(1), lower, work);
    for (int64_t i = 0; i < n; ++i) {
      da[i * n + i] = work[i * n + i] / 2;
      for (int64_t j = 0; j < i; ++j) da[i * n + j] = da[j * n + i] = work[i * n + j] / 2;
    }
    solve_triangular({false, true, true}, n, n, T(1), lower, da);
    solve_triangular({true, true, false}, n, n, T(1), lower, da);
    add_transpose(n, da, da);  // makes da exactly symmetric
    for (int64_t i = 0; i < n * n; ++i) da[i] /= 2;
    return 0;
  }
};

// (L L')^-1, or with !lower (U' U)^-1; only that triangle of the factor is read
struct Potri {
  static int64_t workspace_elements(const Stack& s) { return 2 * s.n * s.n; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    const int n = static_cast<int>(s.n);
    int info = 0;
    copy(s.n * s.n, in[0], out[0]);
    Lapack<T>::call.potri(s.lower ? "U" : "L", &n, out[0], &n, &info);
    if (s.lower) mirror_lower(s.n, out[0]);
    else mirror_upper(s.n, out[0]);
    return info;
  }
  // dL = the lower triangle of -B (dB + dB') L'^-1; dU is its transpose
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t n = s.n;
    add_transpose(n, grad[0], work);
    multiply(false, false, n, n, n, T(-1), out[0], work, in_grad[0]);
    solve_triangular({true, true, true}, n, n, T(1), as_lower(s, in[0], work + n * n), in_grad[0]);
    keep_triangle(true, n, in_grad[0]);
    if (!s.lower) {
      copy(n * n, in_grad[0], work);
      transpose(n, n, work, in_grad[0]);
    }
    return 0;
  }
};

// A (m, n) = L Q with m <= n: outputs Q (m, n), whose rows are orthonormal, and L (m, m)
struct Gelqf {
  static int64_t workspace_elements(const Stack& s) {
    return s.m * (BLOCK + 1) + s.m * s.n + 2 * s.m * s.m;
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), lwork = m * BLOCK;
    T *q = out[0] ? out[0] : work + s.m * (BLOCK + 1), *tau = work + lwork;
    int info = 0;
    copy(s.m * s.n, in[0], q);
    Lapack<T>::call.geqrf(&n, &m, q, &n, tau, work, &lwork, &info);
    if (out[1])
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.m; ++j) out[1][i * s.m + j] = j <= i ? q[i * s.n + j] : T(0);
    if (out[0]) Lapack<T>::call.orgqr(&n, &m, &m, q, &n, tau, work, &lwork, &info);
    return info;
  }
  // dA = L'^-1 (dQ + S Q), S symmetric with the lower triangle of L' dL - dQ Q'
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t m = s.m, n = s.n;
    const T *q = out[0], *lower = out[1];
    T* part = work + m * m;
    copy(m * m, grad[1], part);
    keep_triangle(true, m, part);
    multiply(true, false, m, m, m, T(1), lower, part, work);
    multiply(false, true, m, m, n, T(-1), grad[0], q, work, true);
    mirror_lower(m, work);
    copy(m * n, grad[0], in_grad[0]);
    multiply(false, false, m, n, m, T(1), work, q, in_grad[0], true);
    solve_triangular({false, true, true}, m, n, T(1), lower, in_grad[0]);
    return 0;
  }
};

// A = U' diag(l) U of a symmetric matrix: outputs U, whose rows are eigenvectors, and l, ascending.
// Of A the lower triangle is read; of each vector the entry of largest size is positive.
struct Syevd {
  static int64_t workspace_elements(const Stack& s) {
    // LAPACK's workspace, its integers (not wider than T), and l if it is not requested
    return s.n * s.n + (1 + 6 * s.n + 2 * s.n * s.n) + (3 + 5 * s.n) + s.n;
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T* work) {
    const int n = static_cast<int>(s.n), lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
    T* vectors = out[0] ? out[0] : work;
    T* space = work + s.n * s.n;
    T* values = out[1] ? out[1] : space + lwork + liwork;
    int info = 0;
    copy(s.n * s.n, in[0], vectors);
    Lapack<T>::call.syevd("V", "U", &n, vectors, &n, values, space, &lwork,
                          reinterpret_cast<int*>(space + lwork), &liwork, &info);
    for (int64_t i = 0; i < s.n; ++i) {
      T* row = vectors + i * s.n;
      int64_t maximum = 0;
      for (int64_t j = 1; j < s.n; ++j)
        if (std::fabs(row[j]) > std::fabs(row[maximum])) maximum = j;
      if (row[maximum] < 0)
        for (int64_t j = 0; j < s.n; ++j) row[j] = -row[j];
    }
    return info;
  }
  // dA = U' (sym(dU U' E) + diag(dl)) U, E_ij = 1 / (l_i - l_j), 0 where they are equal
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*,
                          const T* const* out, T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const int64_t n = s.n;
    const T *u = out[0], *l = out[1];
    T* inner = work + n * n;
    multiply(false, true, n, n, n, T(1), grad[0], u, work);
    for (int64_t i = 0; i < n; ++i) {
      inner[i * n + i] = grad[1][i];
      for (int64_t j = i + 1; j < n; ++j) {
        const T apart = l[i] - l[j];
        inner[i * n + j] = inner[j * n + i] =
            apart == 0 ? T(0) : (work[i * n + j] - work[j * n + i]) / (2 * apart);
      }
    }
    multiply(false, false, n, n, n, T(1), inner, u, work);
    multiply(true, false, n, n, n, T(1), u, work, in_grad[0]);
    return 0;
  }
};

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_FACTORIZATIONS_H
