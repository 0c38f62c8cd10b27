// Discrete Fourier transforms of any length, in double: powers of two directly, other lengths by
// Bluestein's convolution.
#ifndef CYNET_FFT_H
#define CYNET_FFT_H

#include <cmath>
#include <cstdint>

namespace cynet {

struct Complex {
  double re, im;
};
inline Complex multiply(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(sign i pi numerator / denominator)
inline Complex root_of_unity(int sign, int64_t numerator, int64_t denominator) {
  const double angle =
      3.14159265358979323846 * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {std::cos(angle), sign * std::sin(angle)};
}

// The Fourier transform in place, n a power of two; roots[k] = exp(-2 pi i k / n); sign -1 forward,
// 1 back.
inline void transform_power_of_two(Complex* x, int64_t n, const Complex* roots, int sign) {
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Complex swapped = x[i];
      x[i] = x[j];
      x[j] = swapped;
    }
  }
  for (int64_t half = 1; half < n; half *= 2) {
    const int64_t step = n / (2 * half);
    for (int64_t base = 0; base < n; base += 2 * half)
      for (int64_t k = 0; k < half; ++k) {
        Complex w = roots[k * step];
        if (sign > 0) w.im = -w.im;
        const Complex a = x[base + k], b = multiply(x[base + half + k], w);
        x[base + k] = {a.re + b.re, a.im + b.im};
        x[base + half + k] = {a.re - b.re, a.im - b.im};
      }
  }
}

// Tables for one length: `table_size()` complex numbers; a transform needs `padded` more.
struct FourierTable {  // roots of unity for transforms of one length
  int64_t n, padded;  // n itself if it is a power of two, else the length of the convolution
  Complex *roots, *chirp, *kernel;

  explicit FourierTable(int64_t n = 1) : n(n), padded(1) {
    while (padded < n) padded *= 2;
    if (padded != n) padded *= 2;  // the padded length is at least 2 n - 1
  }
  bool is_power_of_two() const { return padded == n; }
  int64_t table_size() const { return padded / 2 + 1 + (is_power_of_two() ? 0 : n + padded); }

  void fill_tables(Complex* memory) {
    roots = memory;
    for (int64_t k = 0; k < padded / 2; ++k) roots[k] = root_of_unity(-1, 2 * k, padded);
    if (is_power_of_two()) return;
    chirp = roots + padded / 2 + 1;
    kernel = chirp + n;
    // k^2 modulo 2 n, by odd steps, so that no square overflows
    int64_t square = 0;
    for (int64_t k = 0; k < n; ++k) {
      chirp[k] = root_of_unity(-1, square, n);
      square = (square + 2 * k + 1) % (2 * n);
    }
    for (int64_t k = 0; k < padded; ++k) kernel[k] = {0, 0};
    for (int64_t k = 0; k < n; ++k) {
      const Complex conjugate = {chirp[k].re, -chirp[k].im};
      kernel[k] = conjugate;
      if (k) kernel[padded - k] = conjugate;
    }
    transform_power_of_two(kernel, padded, roots, -1);
  }

  // Transforms x in place, unscaled: `padded` numbers, of which the first n are data.
  void transform(Complex* x, int sign) const {
    if (is_power_of_two()) return transform_power_of_two(x, n, roots, sign);
    if (sign > 0)
      for (int64_t k = 0; k < n; ++k) x[k].im = -x[k].im;
    for (int64_t k = 0; k < n; ++k) x[k] = multiply(x[k], chirp[k]);
    for (int64_t k = n; k < padded; ++k) x[k] = {0, 0};
    transform_power_of_two(x, padded, roots, -1);
    for (int64_t k = 0; k < padded; ++k) x[k] = multiply(x[k], kernel[k]);
    transform_power_of_two(x, padded, roots, 1);
    for (int64_t k = 0; k < n; ++k) {
      x[k] = multiply(x[k], chirp[k]);
      x[k].re /= static_cast<double>(padded);
      x[k].im /= static_cast<double>(padded) * (sign > 0 ? -1 : 1);
    }
  }
};

// Transforms lines of n real numbers to n complex ones, or back. `back` reads complex lines and
// gives the real parts of sums with exp(2 pi i k j / n); else real lines give sums with exp(-2 pi i
// ...).
template <typename T>
inline void transform_lines(const FourierTable& table, bool back, const T* x, T* y, int64_t begin,
                            int64_t end, Complex* space, bool add) {
  const int64_t n = table.n;
  for (int64_t line = begin; line < end; ++line) {
    const T* from = x + line * n * (back ? 2 : 1);
    T* to = y + line * n * (back ? 1 : 2);
    for (int64_t k = 0; k < n; ++k) {
      if (back) space[k] = {static_cast<double>(from[2 * k]), static_cast<double>(from[2 * k + 1])};
      else space[k] = {static_cast<double>(from[k]), 0};
    }
    table.transform(space, back ? 1 : -1);
    for (int64_t k = 0; k < n; ++k) {
      const T re = static_cast<T>(space[k].re), im = static_cast<T>(space[k].im);
      if (back) {
        to[k] = add ? to[k] + re : re;
      } else {
        to[2 * k] = add ? to[2 * k] + re : re;
        to[2 * k + 1] = add ? to[2 * k + 1] + im : im;
      }
    }
  }
}

}  // namespace cynet

#endif
