// Local response normalization across channels: y = x norm^-beta, with norm = knorm + alpha / size
// times the sum of x^2 over `size` channels around.
#ifndef CYNET_LANES
#include <cmath>
#include <type_traits>

#include "common/scalar_math.h"
#include "kernel.h"

namespace cynet {
// Memory is (batch, channels, inner), or (batch, inner, channels) with `last`.
#define LOCAL_RESPONSE_FIELDS(field)                                                        \
  field(int64_t, batch) field(int64_t, channels) field(int64_t, inner) field(int64_t, size) \
      field(double, alpha) field(double, beta) field(double, knorm) field(bool, last)
CYNET_PARAMS(LocalResponse, LOCAL_RESPONSE_FIELDS)

enum { RESPONSE_WIDTH = 256 };  // elements taken together

// The channels [first, last) of the window around channel c.
struct ChannelWindow {
  int64_t first, last;
  CYNET_XINLINE ChannelWindow(const LocalResponse& s, int64_t c) {
    const int64_t half = s.size / 2;
    first = c > half ? c - half : 0;
    last = c + half + 1 < s.channels ? c + half + 1 : s.channels;
  }
};

// The number of channels in a window, at most all.
CYNET_XINLINE int64_t response_window_size(const LocalResponse& s) {
  const int64_t half = s.size / 2;
  return 2 * (half < s.channels ? half : s.channels - 1) + 1;
}

static bool is_response_computed_by_lines(const LocalResponse& s) { return s.last || s.inner == 1; }

// The number of lines of channels in a block.
static int64_t response_block_lines(const LocalResponse& s) {
  return s.channels < RESPONSE_WIDTH ? RESPONSE_WIDTH / s.channels : 1;
}

// Elements of workspace per thread for the gradient.
static int64_t response_workspace(const LocalResponse& s) {  // elements per thread
  return 2 * (is_response_computed_by_lines(s) ? response_block_lines(s) * s.channels
                                               : response_window_size(s) * RESPONSE_WIDTH);
}
static int64_t response_workspace(const Args& args) {  // bytes
  return response_workspace(args.as<LocalResponse>()) * args.threads *
         element_size(args.in[0]->dtype);
}

// The number of units of work, independent of the number of threads.
static int64_t response_part_count(const LocalResponse& s) {
  const int64_t lines = response_block_lines(s);
  if (is_response_computed_by_lines(s)) return (s.batch * s.inner + lines - 1) / lines;
  return s.batch * ((s.inner + RESPONSE_WIDTH - 1) / RESPONSE_WIDTH);
}

// Calls body(start, n) for n positions with channels `inner` apart, or n elements of whole lines.
template <class Body>
static void for_responses(const LocalResponse& s, int64_t begin, int64_t end, Body&& body) {
  const int64_t n = s.batch * s.channels * s.inner;
  const int64_t step = response_block_lines(s) * s.channels;
  const int64_t parts = (s.inner + RESPONSE_WIDTH - 1) / RESPONSE_WIDTH;
  for (int64_t part = begin; part < end; ++part) {
    if (is_response_computed_by_lines(s)) {
      const int64_t at = part * step;
      body(at, n - at < step ? n - at : step);
    } else {
      const int64_t at = part % parts * RESPONSE_WIDTH, left = s.inner - at;
      body(part / parts * s.channels * s.inner + at,
           left < RESPONSE_WIDTH ? left : int64_t{RESPONSE_WIDTH});
    }
  }
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "normalization/lrn.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(local_response, LocalResponse, 1, CYNET_FLOATS)
CYNET_SPACE_KERNEL(local_response_grad, LocalResponse, 1, response_workspace, CYNET_FLOATS)
#else
namespace {
// Returns norm^-beta; `usual`: beta is 3/4.
template <bool usual, typename T>
CYNET_XINLINE T response_power(T norm, T minus_beta) {
  if constexpr (usual) {
    const T inverse = T(1) / std::sqrt(norm);
    return inverse * std::sqrt(inverse);
  } else {
    return math::power(norm, minus_beta);
  }
}

// Returns value / norm; reuses the root of response_power if beta is 3/4.
template <bool usual, typename T>
CYNET_XINLINE T divide_by_norm(T value, T norm) {
  if constexpr (usual) {
    const T inverse = T(1) / std::sqrt(norm);
    return value * inverse * inverse;
  } else {
    return value / norm;
  }
}

// total[i] = the sum of x[k * step + i], or of its square, over k < size.
template <bool squared, int SIZE, typename T>
CYNET_XINLINE void sum_rows(const T* x, int64_t step, int64_t n, T* total) {
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    T sum = 0;
    for (int k = 0; k < SIZE; ++k) {
      const T value = x[k * step + i];
      sum += squared ? value * value : value;
    }
    total[i] = sum;
  }
}

template <bool squared, typename T>
void sum_window(const T* x, int64_t size, int64_t step, int64_t n, T* total) {
  if (size == 5) return sum_rows<squared, 5>(x, step, n, total);
  if (size == 3) return sum_rows<squared, 3>(x, step, n, total);
  for (int64_t i = 0; i < n; ++i) total[i] = 0;
  for (int64_t k = 0; k < size; ++k) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      const T value = x[k * step + i];
      total[i] += squared ? value * value : value;
    }
  }
}

// Sums over the channel windows of elements [begin, end) of n; each row has all channels.
template <bool squared, typename T>
void sum_channel_windows(const LocalResponse& s, const T* x, int64_t n, int64_t begin, int64_t end,
                         T* total) {
  const int64_t half = s.size / 2, C = s.channels;
  auto term = [=](int64_t i) { return squared ? x[i] * x[i] : x[i]; };
  auto put = [=](int64_t i, T sum) {
    if (i >= begin && i < end) total[i - begin] = sum;
  };
  if (C <= 2 * half) {  // no channel has `size` neighbours
    for (int64_t i = begin; i < end; ++i) {
      const ChannelWindow k(s, i % C);
      T sum = 0;
      for (int64_t c = k.first; c < k.last; ++c) sum += term(i - i % C + c);
      put(i, sum);
    }
    return;
  }
  const int64_t from = begin > half ? begin : half, to = end < n - half ? end : n - half;
  if (from < to) sum_window<squared>(x + from - half, s.size, 1, to - from, total + from - begin);
  for (int64_t row = begin - begin % C; row < end; row += C) {  // both ends of each row
    T first = 0, last = 0;
    for (int64_t i = 0; i < half; ++i) {
      first += term(row + i);
      last += term(row + C - 1 - i);
    }
    for (int64_t i = 0; i < half; ++i) {
      first += term(row + half + i);
      last += term(row + C - 1 - half - i);
      put(row + i, first);
      put(row + C - 1 - i, last);
    }
  }
}

// y (+)= x norm^-beta
template <bool usual, typename T>
void apply_response(const LocalResponse& s, const T* x, const T* total, T* y, int64_t n, bool add) {
  const T knorm = static_cast<T>(s.knorm), factor = static_cast<T>(s.alpha / s.size);
  const T minus_beta = static_cast<T>(-s.beta);
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      y[i] += x[i] * response_power<usual>(knorm + factor * total[i], minus_beta);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      y[i] = x[i] * response_power<usual>(knorm + factor * total[i], minus_beta);
  }
}

// power = norm^-beta, ratio = dy x norm^(-beta - 1)
template <bool usual, typename T>
void write_gradient_terms(const LocalResponse& s, const T* dy, const T* x, const T* total, T* power,
                          T* ratio, int64_t n) {
  const T knorm = static_cast<T>(s.knorm), factor = static_cast<T>(s.alpha / s.size);
  const T minus_beta = static_cast<T>(-s.beta);
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T norm = knorm + factor * total[i];
    power[i] = response_power<usual>(norm, minus_beta);
    ratio[i] = divide_by_norm<usual>(dy[i] * x[i] * power[i], norm);
  }
}

// dx (+)= dy power - 2 alpha beta / size x total
template <typename T>
void response_gradient(const LocalResponse& s, const T* dy, const T* x, const T* power,
                       const T* total, T* dx, int64_t n, bool add) {
  const T factor = static_cast<T>(2 * s.alpha * s.beta / s.size);
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] += dy[i] * power[i] - factor * x[i] * total[i];
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * power[i] - factor * x[i] * total[i];
  }
}

// Calls f(std::true_type) if beta is 3/4, else f(std::false_type).
template <typename F>
CYNET_XINLINE void call_for_exponent(const LocalResponse& s, F&& f) {
  if (s.beta == 0.75) f(std::true_type());
  else f(std::false_type());
}

template <typename T>
void normalize_columns(const LocalResponse& s, const T* x, T* y, int64_t width, bool add) {
  T total[RESPONSE_WIDTH];
  call_for_exponent(s, [&](auto usual) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const ChannelWindow k(s, c);
      sum_window<true>(x + k.first * s.inner, k.last - k.first, s.inner, width, total);
      apply_response<usual.value>(s, x + c * s.inner, total, y + c * s.inner, width, add);
    }
  });
}

// n elements, lines of channels
template <typename T>
void normalize_lines(const LocalResponse& s, const T* x, T* y, int64_t n, bool add) {
  T total[RESPONSE_WIDTH];
  call_for_exponent(s, [&](auto usual) {
    for (int64_t i = 0; i < n; i += RESPONSE_WIDTH) {
      const int64_t end = i + RESPONSE_WIDTH < n ? i + RESPONSE_WIDTH : n;
      sum_channel_windows<true>(s, x, n, i, end, total);
      apply_response<usual.value>(s, x + i, total, y + i, end - i, add);
    }
  });
}

// power and ratio are (response_window_size, RESPONSE_WIDTH); channel c is in row c modulo rows.
// Channels outside are zeros.
template <typename T>
void normalize_columns_grad(const LocalResponse& s, const T* dy, const T* x, T* dx, int64_t width,
                            bool add, T* power, T* ratio) {
  T total[RESPONSE_WIDTH];
  const int64_t rows = response_window_size(s), half = rows / 2;
  for (int64_t i = 0; i < rows * RESPONSE_WIDTH; ++i) ratio[i] = 0;
  call_for_exponent(s, [&](auto usual) {
    for (int64_t c = 0; c < s.channels + half; ++c) {
      const int64_t row = c % rows * RESPONSE_WIDTH;
      if (c < s.channels) {
        const ChannelWindow k(s, c);
        sum_window<true>(x + k.first * s.inner, k.last - k.first, s.inner, width, total);
        write_gradient_terms<usual.value>(s, dy + c * s.inner, x + c * s.inner, total, power + row,
                                          ratio + row, width);
      } else {
        for (int64_t i = 0; i < width; ++i) ratio[row + i] = 0;
      }
      if (c < half) continue;
      const int64_t at = (c - half) * s.inner;
      sum_window<false>(ratio, rows, RESPONSE_WIDTH, width, total);
      response_gradient(s, dy + at, x + at, power + (c - half) % rows * RESPONSE_WIDTH, total,
                        dx + at, width, add);
    }
  });
}

// n elements, lines of channels; power and ratio: (n,)
template <typename T>
void normalize_lines_grad(const LocalResponse& s, const T* dy, const T* x, T* dx, int64_t n,
                          bool add, T* power, T* ratio) {
  T total[RESPONSE_WIDTH];
  const int64_t width = RESPONSE_WIDTH;
  call_for_exponent(s, [&](auto usual) {
    for (int64_t i = 0; i < n; i += width) {
      const int64_t end = i + width < n ? i + width : n;
      sum_channel_windows<true>(s, x, n, i, end, total);
      write_gradient_terms<usual.value>(s, dy + i, x + i, total, power + i, ratio + i, end - i);
    }
  });
  for (int64_t i = 0; i < n; i += width) {
    const int64_t end = i + width < n ? i + width : n;
    sum_channel_windows<false>(s, ratio, n, i, end, total);
    response_gradient(s, dy + i, x + i, power + i, total, dx + i, end - i, add);
  }
}

template <typename T>
void local_response(const Args& args) {
  const LocalResponse& s = args.as<LocalResponse>();
  const T* x = args.input<T>(0);
  T* y = args.output<T>(0);
  const auto part = is_response_computed_by_lines(s) ? normalize_lines<T> : normalize_columns<T>;
  parallel_for(args.threads, response_part_count(s), [&](int64_t begin, int64_t end) {
    for_responses(s, begin, end,
                  [&](int64_t at, int64_t n) { part(s, x + at, y + at, n, args.add[0]); });
  });
}

template <typename T>
void local_response_grad(const Args& args) {
  const LocalResponse& s = args.as<LocalResponse>();
  const T *dy = args.input<T>(0), *x = args.input<T>(1);
  T* dx = args.output<T>(0);
  const auto part =
      is_response_computed_by_lines(s) ? normalize_lines_grad<T> : normalize_columns_grad<T>;
  const int64_t parts = response_part_count(s), space_each = response_workspace(s);
  const int threads = args.threads;
  parallel_for(threads, threads, [&](int64_t first, int64_t last) {
    T* const own = static_cast<T*>(args.space) + first * space_each;
    for_responses(s, parts * first / threads, parts * last / threads, [&](int64_t at, int64_t n) {
      part(s, dy + at, x + at, dx + at, n, args.add[0], own, own + space_each / 2);
    });
  });
}
}
#endif
