// Sorts along an axis: positions by value, equal values by position, NaN last.
#ifndef CYNET_LANES
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "common/emit.h"
#include "kernel.h"

namespace cynet {
#define ORDER_FIELDS(field)                                                       \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(int64_t, k) \
      field(bool, ascending)
CYNET_PARAMS(Order, ORDER_FIELDS)

// ----- keys: unsigned numbers in the order of the elements, the greatest for NaN
template <typename T>
CYNET_XINLINE uint32_t order_key(T x, bool ascending) {
  if constexpr (std::is_integral<T>::value) {
    const uint32_t key = static_cast<uint32_t>(static_cast<int32_t>(x)) ^ 0x80000000u;
    return ascending ? key : ~key;
  } else {
    const float value = static_cast<float>(x) + 0.0f;  // -0 is 0
    const uint32_t bits = bit_cast<uint32_t>(value), sign = bits & 0x80000000u;
    const uint32_t key = sign ? ~bits : bits | 0x80000000u;
    const uint32_t transposed = ascending ? key : ~key;
    return value == value ? transposed : 0xffffffffu;
  }
}

// Sorts pairs of a key (upper bits) and a position; `other` is a buffer of the same length. The
// pairs stand by position: passes over eight bits of the keys keep that order where keys are equal.
static void sort_pairs(uint64_t* pairs, uint64_t* other, int64_t n) {
  enum { RADIX_FROM = 192, BUCKETS = 256, PASSES = 4 };
  if (n < RADIX_FROM) {
    std::sort(pairs, pairs + n);
    return;
  }
  uint32_t count[PASSES][BUCKETS];
  std::memset(count, 0, sizeof count);
  for (int64_t i = 0; i < n; ++i)
    for (int p = 0; p < PASSES; ++p) ++count[p][pairs[i] >> (32 + 8 * p) & 255];
  uint64_t *from = pairs, *to = other;
  for (int p = 0; p < PASSES; ++p) {
    if (count[p][from[0] >> (32 + 8 * p) & 255] == static_cast<uint32_t>(n)) continue;
    uint32_t start[BUCKETS], sum = 0;
    for (int b = 0; b < BUCKETS; ++b) {
      start[b] = sum;
      sum += count[p][b];
    }
    for (int64_t i = 0; i < n; ++i) to[start[from[i] >> (32 + 8 * p) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != pairs) std::memcpy(pairs, from, static_cast<size_t>(n) * sizeof(uint64_t));
}

// ----- values alone: keys of the elements' own width, which are turned back into elements
template <typename T>
struct SortKey {  // unsigned integer that sorts like T
  typedef typename std::conditional<(sizeof(T) > 4), uint64_t, uint32_t>::type Type;
};

// Makes the key of an element; returns false for -0 and NaN, which a key cannot represent.
template <typename T>
CYNET_XINLINE bool try_make_key(T x, bool ascending, typename SortKey<T>::Type& key) {
  typedef typename SortKey<T>::Type Key;
  const Key top = Key(1) << (8 * sizeof(Key) - 1);
  if constexpr (std::is_integral<T>::value) {
    key = static_cast<Key>(x) ^ top;
    if (!ascending) key = ~key;
    return true;
  } else {
    const Key bits = bit_cast<Key>(x);
    key = bits & top ? ~bits : bits | top;
    if (!ascending) key = ~key;
    return x == x && bits != top;
  }
}

template <typename T>
CYNET_XINLINE T value_of_key(typename SortKey<T>::Type key, bool ascending) {
  typedef typename SortKey<T>::Type Key;
  const Key top = Key(1) << (8 * sizeof(Key) - 1);
  if (!ascending) key = ~key;
  if constexpr (std::is_integral<T>::value) return static_cast<T>(key ^ top);
  else return bit_cast<T>(key & top ? key ^ top : ~key);
}

// Sorts keys; `other` is a buffer of the same length. Passes over digits that all keys have in
// common are left out.
template <int BITS, typename Key>
static Key* sort_by_digits(Key* keys, Key* other, int64_t n) {
  enum { BUCKETS = 1 << BITS, PASSES = (8 * sizeof(Key) + BITS - 1) / BITS };
  uint32_t count[PASSES][BUCKETS];
  std::memset(count, 0, sizeof count);
  for (int64_t i = 0; i < n; ++i)
    for (int p = 0; p < PASSES; ++p) ++count[p][keys[i] >> (BITS * p) & (BUCKETS - 1)];
  for (int p = 0; p < PASSES; ++p) {
    const int shift = BITS * p;
    if (count[p][keys[0] >> shift & (BUCKETS - 1)] == static_cast<uint32_t>(n)) continue;
    uint32_t sum = 0;
    for (int b = 0; b < BUCKETS; ++b) {
      const uint32_t here = count[p][b];
      count[p][b] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; ++i) other[count[p][keys[i] >> shift & (BUCKETS - 1)]++] = keys[i];
    std::swap(keys, other);
  }
  return keys;
}

template <typename Key>
static Key* sort_keys(Key* keys, Key* other, int64_t n) {
  enum { RADIX_FROM = 256, WIDE_FROM = 2048 };
  if (n >= WIDE_FROM) return sort_by_digits<11>(keys, other, n);
  if (n >= RADIX_FROM) return sort_by_digits<8>(keys, other, n);
  std::sort(keys, keys + n);
  return keys;
}

// Sorts a contiguous row; returns false, and writes nothing, if keys cannot represent it.
template <typename T>
static bool try_sort_row(const T* row, int64_t n, bool ascending, void* space, T* out) {
  typedef typename SortKey<T>::Type Key;
  Key* keys = static_cast<Key*>(space);
  bool whole = true;
  for (int64_t i = 0; i < n; ++i) whole &= try_make_key(row[i], ascending, keys[i]);
  if (!whole) return false;
  const Key* sorted = sort_keys(keys, keys + n, n);
  for (int64_t i = 0; i < n; ++i) out[i] = value_of_key<T>(sorted[i], ascending);
  return true;
}

// Selects the k first of n elements, `step` apart, by comparison; `p` has n elements.
template <typename T>
static void order_by_comparing(const T* row, int64_t step, int64_t n, int64_t k, bool ascending,
                               int64_t* p, int64_t* order) {
  typedef compute_t<T> P;
  for (int64_t i = 0; i < n; ++i) p[i] = i;
  auto before = [=](int64_t i, int64_t j) {
    const P a = row[i * step], b = row[j * step];
    if (a != a || b != b) return a == a ? true : (b == b ? false : i < j);
    if (a == b) return i < j;
    return ascending ? a < b : b < a;
  };
  if (k < n) std::partial_sort(p, p + k, p + n, before);
  else std::sort(p, p + n, before);
  for (int64_t i = 0; i < k; ++i) order[i * step] = p[i];
}

// Bytes for the sorted positions, and 2 n numbers for each thread.
static int64_t order_workspace_bytes(const Args& args) {
  const Order& p = args.as<Order>();
  const int64_t rows = p.outer * p.inner, shares = std::min<int64_t>(args.threads, rows);
  return (rows * p.k + 2 * p.n * shares) * sizeof(int64_t);
}

struct WritePositions {  // writes positions as numbers of T
  template <typename T>
  static void run(int threads, const int64_t* order, void* out_, int64_t m, bool add) {  // writes m
    T* out = static_cast<T*>(out_);
    parallel_for(threads, m, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T position = convert_one<T>(order[r]);
        if constexpr (is_narrow<T>)
          out[r] = add ? T(T::to_float(out[r].bits) + T::to_float(position.bits)) : position;
        else emit(out[r], position, add);
      }
    });
  }
};

// Calls element(r) for the offset of each ordered element in (outer, n, inner).
template <class Body>
static void for_ordered_offsets(const Args& args, const int64_t* order, const Body& element) {
  const Order p = args.as<Order>();
  parallel_for(args.threads, p.outer * p.k * p.inner, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      element(r, (r / (p.k * p.inner) * p.n + order[r]) * p.inner + r % p.inner);
  });
}

// Writes out[0] values (outer, k, inner), out[1] positions, out[2] a mask; each may be NULL.
template <typename T>
static void write_order_outputs(const Args& args, const int64_t* order) {
  const T* x = args.input<T>(0);
  if (T* values = args.output<T>(0)) {
    const bool add = args.add[0];
    for_ordered_offsets(args, order, [=](int64_t r, int64_t at) {
      emit(values[r], static_cast<compute_t<T>>(x[at]), add);
    });
  }
  if (T* mask = args.output<T>(2)) {
    if (!args.add[2]) std::memset(mask, 0, args.out[2]->size * sizeof(T));
    for_ordered_offsets(args, order,
                        [=](int64_t, int64_t at) { emit(mask[at], compute_t<T>(1), true); });
  }
  if (args.wanted[1]) {
    const Blob& out = *args.out[1];
    if (out.dtype == BF16)
      WritePositions::run<bfloat16>(args.threads, order, out.data, out.size, args.add[1]);
    else
      call_for_dtype<WritePositions>(out.dtype, args.threads, order, out.data, out.size,
                                     args.add[1]);
  }
}

// out[0] += in[1] at the positions of the selected values
template <typename T>
static void write_order_grad(const Args& args, const int64_t* order) {
  const T* values = args.input<T>(1);
  T* x = args.output<T>(0);
  if (!args.add[0]) std::memset(x, 0, args.out[0]->size * sizeof(T));
  for_ordered_offsets(args, order, [=](int64_t r, int64_t at) {
    emit(x[at], static_cast<compute_t<T>>(values[r]), true);
  });
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "movement/sort.cc"
#include "isa/for_each_isa.h"

CYNET_SPACE_KERNEL(order, Order, 1, order_workspace_bytes, CYNET_NUMBERS, bool)
CYNET_SPACE_KERNEL(order_grad, Order, 1, order_workspace_bytes, CYNET_NUMBERS, bool)
#else
namespace {
enum { ORDER_PART = 64, MAX_FEW = 32, MAX_SHARES = 256 };

// Keys of m <= ORDER_PART elements from position i on.
template <typename T>
CYNET_XINLINE void make_keys(const T* row, int64_t step, int64_t i, int64_t m, bool ascending,
                             uint32_t* keys) {
  if (step == 1) {
    for (int64_t l = 0; l < m; ++l) keys[l] = order_key(row[i + l], ascending);
  } else {
    for (int64_t l = 0; l < m; ++l) keys[l] = order_key(row[(i + l) * step], ascending);
  }
}

CYNET_XINLINE uint64_t pack_pair(uint32_t key, int64_t position) {
  return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(position);
}

template <typename T>
CYNET_NOINLINE void order_row(const T* row, int64_t step, int64_t n, int64_t k, bool ascending,
                              uint64_t* pairs, int64_t* order) {
  uint32_t keys[ORDER_PART];
  for (int64_t i = 0; i < n; i += ORDER_PART) {
    const int64_t m = n - i < ORDER_PART ? n - i : static_cast<int64_t>(ORDER_PART);
    make_keys(row, step, i, m, ascending, keys);
    for (int64_t l = 0; l < m; ++l) pairs[i + l] = pack_pair(keys[l], i + l);
  }
  if (k * 8 < n) std::partial_sort(pairs, pairs + k, pairs + n);
  else sort_pairs(pairs, pairs + n, n);
  for (int64_t i = 0; i < k; ++i) order[i * step] = static_cast<int64_t>(pairs[i] & 0xffffffffu);
}

// Selects the first k <= MAX_FEW of many elements. They stay sorted; parts without a key smaller
// than the last of them are skipped.
template <typename T>
CYNET_NOINLINE void order_first_few(const T* row, int64_t step, int64_t n, int64_t k,
                                    bool ascending, uint64_t* best, int64_t* order) {
  uint32_t keys[ORDER_PART];
  int64_t have = 0;
  uint32_t limit = 0xffffffffu;  // key of the last selected element
  for (int64_t i = 0; i < n; i += ORDER_PART) {
    const int64_t m = n - i < ORDER_PART ? n - i : static_cast<int64_t>(ORDER_PART);
    make_keys(row, step, i, m, ascending, keys);
    if (have == k) {
      int smaller = 0;
      for (int64_t l = 0; l < m; ++l) smaller |= keys[l] < limit ? 1 : 0;
      if (!smaller) continue;
    }
    for (int64_t l = 0; l < m; ++l) {
      if (have == k && keys[l] >= limit) continue;
      const uint64_t pair = pack_pair(keys[l], i + l);
      int64_t at = have < k ? have++ : k - 1;
      for (; at > 0 && best[at - 1] > pair; --at) best[at] = best[at - 1];
      best[at] = pair;
      limit = static_cast<uint32_t>(best[have - 1] >> 32);
    }
  }
  for (int64_t i = 0; i < k; ++i) order[i * step] = static_cast<int64_t>(best[i] & 0xffffffffu);
}

// The positions (outer, k, inner) of the k first elements along the middle axis, in the workspace.
template <typename T>
const int64_t* ordered_positions(const Args& args) {
  const Order p = args.as<Order>();
  const T* x = args.input<T>(0);
  const int64_t rows = p.outer * p.inner;
  int64_t* order = static_cast<int64_t*>(args.space);
  int64_t* scratch = order + rows * p.k;
  const int64_t shares = args.threads < rows ? args.threads : rows;
  for_parts(shares, [=](int64_t part) {
    int64_t* own = scratch + part * 2 * p.n;
    for (int64_t r = rows * part / shares; r < rows * (part + 1) / shares; ++r) {
      const T* row = x + r / p.inner * p.n * p.inner + r % p.inner;
      int64_t* to = order + r / p.inner * p.k * p.inner + r % p.inner;
      if constexpr (sizeof(T) <= 4) {
        if (p.n <= 0xffffffffLL) {
          uint64_t* pairs = reinterpret_cast<uint64_t*>(own);
          if (p.k <= MAX_FEW && p.k * 8 < p.n)
            order_first_few(row, p.inner, p.n, p.k, p.ascending, pairs, to);
          else order_row(row, p.inner, p.n, p.k, p.ascending, pairs, to);
          continue;
        }
      }
      order_by_comparing(row, p.inner, p.n, p.k, p.ascending, own, to);
    }
  });
  return order;
}

// Sorts only the values of each row; returns false if equal values differ (-0, NaN).
template <typename T>
CYNET_NOINLINE bool try_sort_values(const Args& args) {
  const Order p = args.as<Order>();
  if (p.k != p.n || p.inner != 1 || args.wanted[1] || args.wanted[2] || args.add[0]) return false;
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  if (!out || x == out || p.n > 0xffffffffLL) return false;
  int64_t* scratch = static_cast<int64_t*>(args.space);
  const int64_t shares = args.threads < p.outer ? args.threads : p.outer;
  int whole[MAX_SHARES];
  if (shares > MAX_SHARES) return false;
  for_parts(shares, [&, x, out, scratch](int64_t part) {
    whole[part] = 1;
    int64_t* own = scratch + part * 2 * p.n;
    for (int64_t r = p.outer * part / shares; r < p.outer * (part + 1) / shares && whole[part]; ++r)
      whole[part] = try_sort_row(x + r * p.n, p.n, p.ascending, own, out + r * p.n);
  });
  for (int64_t part = 0; part < shares; ++part)
    if (!whole[part]) return false;
  return true;
}

template <typename T>
void order(const Args& args) {  // sorts, or orders the first k
  if constexpr (sizeof(T) >= 4 && (std::is_integral<T>::value || std::is_floating_point<T>::value))
    if (try_sort_values<T>(args)) return;
  write_order_outputs<T>(args, ordered_positions<T>(args));
}

template <typename T>
void order_grad(const Args& args) {
  write_order_grad<T>(args, ordered_positions<T>(args));
}
}  // namespace
#endif
