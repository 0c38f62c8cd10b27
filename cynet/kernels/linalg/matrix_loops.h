// Small loops over one row-major matrix.
#ifndef CYNET_LINALG_MATRIX_LOOPS_H
#define CYNET_LINALG_MATRIX_LOOPS_H

#include <algorithm>
#include <cstdint>

namespace cynet {
namespace linalg {

// Sets an n x n matrix to zero outside of one triangle.
template <typename T>
inline void keep_triangle(bool lower, int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i) {
    if (lower) std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
    else std::fill(a + i * n, a + i * n + i, T(0));
  }
}

// Copies the lower triangle to the upper one.
template <typename T>
inline void mirror_lower(int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = a[j * n + i];
}

// Copies the upper triangle to the lower one.
template <typename T>
inline void mirror_upper(int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) a[j * n + i] = a[i * n + j];
}

// out = a + its transpose; out may be a
template <typename T>
inline void add_transpose(int64_t n, const T* a, T* out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i * n + i] = a[i * n + i] + a[i * n + i];
    for (int64_t j = i + 1; j < n; ++j) {
      const T sum = a[i * n + j] + a[j * n + i];
      out[i * n + j] = out[j * n + i] = sum;
    }
  }
}

template <typename T>
inline void copy(int64_t size, const T* a, T* out) {
  std::copy(a, a + size, out);
}

// The triangle beside diagonal `offset` of a matrix (n, n) as a vector: a lower one row by row, an
// upper one column by column, so a matrix and its transpose give the same vector.
struct TrianglePart {  // the triangle beside a diagonal
  int64_t n, offset;
  bool lower;
  TrianglePart(int64_t n, int64_t offset, bool lower)
      : n(n), offset(offset), lower(offset < 0 || (offset == 0 && lower)) {}
  int64_t line_length(int64_t line) const {
    return std::max<int64_t>(0, line + 1 - (offset < 0 ? -offset : offset));
  }
  int64_t element_offset(int64_t line, int64_t k) const {
    return lower ? line * n + k : k * n + line;
  }
};

template <typename T>
inline void extract_triangle(const TrianglePart& part, const T* a, T* out) {
  for (int64_t line = 0; line < part.n; ++line)
    for (int64_t k = 0; k < part.line_length(line); ++k) *out++ = a[part.element_offset(line, k)];
}

template <typename T>
inline void make_triangle(const TrianglePart& part, const T* a, T* out) {
  std::fill(out, out + part.n * part.n, T(0));
  for (int64_t line = 0; line < part.n; ++line)
    for (int64_t k = 0; k < part.line_length(line); ++k) out[part.element_offset(line, k)] = *a++;
}

// out (n, m) = a (m, n) transposed, in tiles that fit the first-level cache
template <typename T>
inline void transpose(int64_t m, int64_t n, const T* a, T* out) {
  enum { TILE = 32 };
  for (int64_t i0 = 0; i0 < m; i0 += TILE)
    for (int64_t j0 = 0; j0 < n; j0 += TILE)
      for (int64_t i = i0; i < std::min<int64_t>(m, i0 + TILE); ++i)
        for (int64_t j = j0; j < std::min<int64_t>(n, j0 + TILE); ++j)
          out[j * m + i] = a[i * n + j];
}

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_MATRIX_LOOPS_H
