// Products and equations of triangular matrices, Gram matrices, triangles as vectors.
//
// Each function computes one matrix of a stack: it writes the targets that are not NULL, and
// returns 0 or LAPACK's info for a matrix that it refuses.
#ifndef CYNET_LINALG_TRIANGULAR_H
#define CYNET_LINALG_TRIANGULAR_H

#include "linalg/lapack.h"
#include "linalg/matrix_loops.h"

namespace cynet {
namespace linalg {

// One operation on a stack of matrices: sizes and options. `in` and `out` of forward are one matrix
// (or vector, or number) each; `n` rows and columns, `m` the other length if there is one.
struct Stack {  // an operation on a stack of matrices
  int op;
  int64_t m, n;
  double alpha;
  bool transpose, right, lower;
  int64_t offset;
  Triangle triangle() const { return {right, lower, transpose}; }
};

// B (m, n) times alpha op(A); A is (m, m), at the right (n, n)
struct Trmm {
  static int64_t workspace_elements(const Stack&) { return 0; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    copy(s.m * s.n, in[1], out[0]);
    multiply_triangular(s.triangle(), s.m, s.n, static_cast<T>(s.alpha), in[0], out[0]);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in, const T* const*,
                          T* const* in_grad, T*) {
    const T alpha = static_cast<T>(s.alpha);
    const T *g = grad[0], *b = in[1];
    if (in_grad[0]) {
      const int64_t size = s.right ? s.n : s.m, inner = s.right ? s.m : s.n;
      const bool swap = s.right != s.transpose;
      multiply(s.right, !s.right, size, size, inner, alpha, swap ? b : g, swap ? g : b, in_grad[0]);
      keep_triangle(s.lower, size, in_grad[0]);
    }
    if (in_grad[1]) {
      copy(s.m * s.n, g, in_grad[1]);
      multiply_triangular(s.triangle().transposed_op(), s.m, s.n, alpha, in[0], in_grad[1]);
    }
    return 0;
  }
};

// op(A) X = alpha B, or X op(A) = alpha B
struct Trsm {
  static int64_t workspace_elements(const Stack& s) { return s.m * s.n; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    copy(s.m * s.n, in[1], out[0]);
    solve_triangular(s.triangle(), s.m, s.n, static_cast<T>(s.alpha), in[0], out[0]);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in,
                          const T* const* out, T* const* in_grad, T* work) {
    const T *w = work, *x = out[0];
    copy(s.m * s.n, grad[0], work);
    solve_triangular(s.triangle().transposed_op(), s.m, s.n, T(1), in[0], work);
    if (in_grad[0]) {
      const int64_t size = s.right ? s.n : s.m, inner = s.right ? s.m : s.n;
      const bool swap = s.right != s.transpose;
      multiply(s.right, !s.right, size, size, inner, T(-1), swap ? x : w, swap ? w : x, in_grad[0]);
      keep_triangle(s.lower, size, in_grad[0]);
    }
    if (in_grad[1])
      for (int64_t i = 0; i < s.m * s.n; ++i) in_grad[1][i] = static_cast<T>(s.alpha) * w[i];
    return 0;
  }
};

// alpha A A', or alpha A' A, of A (m, n)
struct Syrk {
  static int64_t workspace_elements(const Stack& s) {
    const int64_t size = s.transpose ? s.n : s.m;
    return size * size;
  }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    const int64_t size = s.transpose ? s.n : s.m;
    Lapack<T>::call.syrk(101, 122, s.transpose ? 112 : 111, static_cast<int>(size),
                         static_cast<int>(s.transpose ? s.m : s.n), static_cast<T>(s.alpha), in[0],
                         static_cast<int>(s.n), T(0), out[0], static_cast<int>(size));
    mirror_lower(size, out[0]);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const* in, const T* const*,
                          T* const* in_grad, T* work) {
    if (!in_grad[0]) return 0;
    const T alpha = static_cast<T>(s.alpha);
    add_transpose(s.transpose ? s.n : s.m, grad[0], work);
    if (s.transpose) multiply(false, false, s.m, s.n, s.n, alpha, in[0], work, in_grad[0]);
    else multiply(false, false, s.m, s.n, s.m, alpha, work, in[0], in_grad[0]);
    return 0;
  }
};

// The entries of a triangle of A (n, n), row by row
struct ExtractTrian {
  static int64_t workspace_elements(const Stack&) { return 0; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    extract_triangle(TrianglePart(s.n, s.offset, s.lower), in[0], out[0]);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*, const T* const*,
                          T* const* in_grad, T*) {
    if (in_grad[0]) make_triangle(TrianglePart(s.n, s.offset, s.lower), grad[0], in_grad[0]);
    return 0;
  }
};

// The inverse of ExtractTrian: a matrix (n, n) with zeros elsewhere
struct MakeTrian {
  static int64_t workspace_elements(const Stack&) { return 0; }
  template <typename T>
  static int64_t forward(const Stack& s, const T* const* in, T* const* out, T*) {
    make_triangle(TrianglePart(s.n, s.offset, s.lower), in[0], out[0]);
    return 0;
  }
  template <typename T>
  static int64_t backward(const Stack& s, const T* const* grad, const T* const*, const T* const*,
                          T* const* in_grad, T*) {
    if (in_grad[0]) extract_triangle(TrianglePart(s.n, s.offset, s.lower), grad[0], in_grad[0]);
    return 0;
  }
};

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_TRIANGULAR_H
