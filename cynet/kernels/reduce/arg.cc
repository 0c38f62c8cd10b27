// Positions of extremes: the index of the first largest (or smallest, or first NaN) element along
// the middle of (outer, n, inner).
#ifndef CYNET_LANES
#include "kernel.h"
#include "reduce/reduce.h"

namespace cynet {
#define SEARCHED_FIELDS(field) field(int64_t, outer) field(int64_t, n) field(int64_t, inner)
CYNET_PARAMS(Searched, SEARCHED_FIELDS)
}  // namespace cynet

#define CYNET_PER_ISA_FILE "reduce/arg.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(argmax, Searched, 1, CYNET_NUMBERS)
CYNET_KERNEL(argmin, Searched, 1, CYNET_NUMBERS)
// argmax and argmin with results in int64.
CYNET_KERNEL(argmax_index, Searched, 1, CYNET_NUMBERS)
CYNET_KERNEL(argmin_index, Searched, 1, CYNET_NUMBERS)
#else
namespace {
enum { ARG_COLUMNS = 512 };

// True if x replaces the best element so far.
template <bool greatest, typename V>
CYNET_XINLINE bool is_better(V x, V best) {
  return (greatest ? x > best : x < best) | ((x != x) & (best == best));
}

// Searches m <= ARG_COLUMNS adjacent columns, over n < 2**32 rows that are `step` apart.
template <typename T, bool greatest>
void arg_extreme_columns(const T* x, int64_t n, int64_t step, int64_t m, int64_t* indices) {
  typedef compute_value<T> V;
  typedef typename std::conditional<sizeof(T) == 8, int64_t, uint32_t>::type I;
  V best[ARG_COLUMNS];
  I index[ARG_COLUMNS];
  for (int64_t c = 0; c < m; ++c) {
    best[c] = x[c];
    index[c] = 0;
  }
  for (int64_t r = 1; r < n; ++r) {
    const T* row = x + r * step;
    const I here = static_cast<I>(r);
    CYNET_IVDEP
    for (int64_t c = 0; c < m; ++c) {
      const V value = row[c];
      const bool better = is_better<greatest>(value, best[c]);
      best[c] = better ? value : best[c];
      index[c] = better ? here : index[c];
    }
  }
  for (int64_t c = 0; c < m; ++c) indices[c] = index[c];
}

// Searches n contiguous elements.
template <typename T, bool greatest>
int64_t arg_extreme_row(const T* x, int64_t n) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    typedef typename std::conditional<greatest, Greater, Less>::type op;
    float best;
    if (n >= 2 * CYNET_LANES && try_find_extreme<op>(x, n, &best)) {
      int64_t i = 0;
      for (; i + 2 * CYNET_LANES <= n; i += 2 * CYNET_LANES) {
        const IVec here = (load(x + i) == best) | (load(x + i + CYNET_LANES) == best);
        if (fold_lanes<Less>(reinterpret_cast<Vec>(here & 0x3f800000) * -1.0f) < 0.0f) break;
      }
      while (x[i] != best) ++i;
      return i;
    }
  }
#endif
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (is_better<greatest, compute_value<T> >(x[i], x[best])) best = i;
  return best;
}

// The C++ type of indices in mx.nd: the data's type if it has at least 4 bytes, else float.
template <typename T>
using index_type = typename std::conditional<sizeof(T) < 4, float, T>::type;

template <typename T, bool greatest, typename O>
void arg_extreme(const Args& args) {
  const Searched p = args.as<Searched>();
  const T* x = args.input<T>(0);
  O* out = args.output<O>(0);
  const bool add = args.add[0];
  if (p.inner == 1) {
    parallel_for(args.threads, p.outer, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        ::cynet::store(out + o, add, arg_extreme_row<T, greatest>(x + o * p.n, p.n));
    });
    return;
  }
  // strips of columns, the same number for each outer index
  const int64_t maximum = ARG_COLUMNS;
  const int64_t share = (p.inner * p.outer + args.threads - 1) / args.threads;
  const int64_t width = share < 64 ? 64 : (share < maximum ? share : maximum);
  const int64_t strips = (p.inner + width - 1) / width;
  parallel_for(args.threads, p.outer * strips, [=](int64_t begin, int64_t end) {
    int64_t index[ARG_COLUMNS];
    for (int64_t s = begin; s < end; ++s) {
      const int64_t o = s / strips, first = s % strips * width;
      const int64_t m = p.inner - first < width ? p.inner - first : width;
      arg_extreme_columns<T, greatest>(x + o * p.n * p.inner + first, p.n, p.inner, m, index);
      for (int64_t c = 0; c < m; ++c) ::cynet::store(out + o * p.inner + first + c, add, index[c]);
    }
  });
}

template <typename T>
void argmax(const Args& args) {
  arg_extreme<T, true, index_type<T> >(args);
}

template <typename T>
void argmin(const Args& args) {
  arg_extreme<T, false, index_type<T> >(args);
}

template <typename T>
void argmax_index(const Args& args) {
  arg_extreme<T, true, int64_t>(args);
}

template <typename T>
void argmin_index(const Args& args) {
  arg_extreme<T, false, int64_t>(args);
}
}  // namespace
#endif
