// Reads and writes by index: slices, elements of rows, tuples of indices, one-hot rows.
#include <algorithm>

#include "common/row_prefetch.h"
#include "movement/read_within.h"
#include "movement/rows.h"

namespace cynet {
#define INDEXED_FIELDS(field) \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(int, mode)
CYNET_PARAMS(Indexed, INDEXED_FIELDS)
#define INDEX_TUPLES_FIELDS(field) field(Int64s<8>, lengths) field(int64_t, inner)
CYNET_PARAMS(IndexTuples, INDEX_TUPLES_FIELDS)
#define ONE_HOT_FIELDS(field) field(int64_t, depth) field(double, on_value) field(double, off_value)
CYNET_PARAMS(OneHot, ONE_HOT_FIELDS)

namespace {
enum { CLIP, WRAP, RAISE, CLIP_AND_WARN };  // MODES of operator/tensor/take.py

// Clips or wraps m indices into [0, n); returns the position of the first that RAISE rejects, or
// -1. CLIP_AND_WARN notes the first that it clips.
CYNET_NOINLINE int64_t clip_or_wrap_indices(const Args& args, int64_t* index, int64_t m, int64_t n,
                                            int mode) {
  for (int64_t i = 0; i < m; ++i) {
    const int64_t k = index[i];
    if (0 <= k && k < n) continue;
    if (n == 0) return i;  // an empty axis has no valid index
    if (mode == CLIP_AND_WARN) {
      args.note_value(i, {static_cast<double>(k), static_cast<double>(n)});
      mode = CLIP;
    }
    if (mode == CLIP) index[i] = k < 0 ? 0 : n - 1;
    else if (mode == WRAP) index[i] = k % n < 0 ? k % n + n : k % n;
    else return i;
  }
  return -1;
}

// The values of `index`, brought into [0, n), in the workspace; nullptr if the run has failed.
const int64_t* read_bounded_indices(const Args& args, const Blob& index, int64_t n, int mode) {
  int64_t* values = read_indices(args, index);
  const int64_t wrong = clip_or_wrap_indices(args, values, index.size, n, mode);
  if (wrong < 0) return values;
  args.fail(wrong, {static_cast<double>(values[wrong]), static_cast<double>(n)});
  return nullptr;
}

enum { INDICES_TOGETHER = 1024 };

// Calls body(first, m, index) for batches of indices; returns false at an index outside [0, n).
template <class Body>
bool for_indices_in_range(const Args& args, const Blob& index, int64_t n, int64_t work,
                          const Body& body) {
  std::atomic<bool> inside{true};
  const int64_t blocks = (index.size + INDICES_TOGETHER - 1) / INDICES_TOGETHER;
  parallel_for(args.threads_of(work), blocks, [&](int64_t begin, int64_t end) {
    int64_t values[INDICES_TOGETHER];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * INDICES_TOGETHER;
      const int64_t m = std::min<int64_t>(INDICES_TOGETHER, index.size - first);
      const char* from = static_cast<const char*>(index.data) + first * element_size(index.dtype);
      if (!read_in_range(args.level, index.dtype, from, m, n, values)) {
        inside = false;
        return;
      }
      body(first, m, values);
    }
  });
  return inside;
}

// Adds an axis of n elements to m flat positions: position = position * n + index. Bit 63 of the
// result tells whether an index is outside. No branch, and no compare of 64 bits, which the
// baseline's registers lack.
template <bool first>
CYNET_NOINLINE uint64_t add_axis_to_flat(const int64_t* index, int64_t* positions, int64_t m,
                                         int64_t n) {
  uint64_t outside = 0;
  CYNET_IVDEP
  for (int64_t j = 0; j < m; ++j) {
    const uint64_t k = static_cast<uint64_t>(index[j]) + (n & (index[j] >> 63));
    outside |= k | (static_cast<uint64_t>(n) - 1 - k);
    positions[j] = first ? k : static_cast<uint64_t>(positions[j]) * n + k;
  }
  return outside;
}

// Writes the flat positions of columns begin .. end to the first row of `values` (axes, m); returns
// false if one is outside.
bool flatten_tuples(int64_t* values, int64_t axes, int64_t m, const int64_t* lengths, int64_t begin,
                    int64_t end) {
  enum { BLOCK = 1024 };
  uint64_t outside = 0;
  for (int64_t j = begin; j < end; j += BLOCK) {
    const int64_t n = std::min<int64_t>(BLOCK, end - j);
    outside |= add_axis_to_flat<true>(values + j, values + j, n, lengths[0]);
    for (int64_t a = 1; a < axes; ++a)
      outside |= add_axis_to_flat<false>(values + a * m + j, values + j, n, lengths[a]);
  }
  return !(outside >> 63);
}

// Like flat_indices, to `values`; false if an index is negative or outside (`values` is undefined).
bool write_flat_indices(const Args& args, const Blob& index, const Int64s<8>& lengths,
                        int64_t* values) {
  const int64_t axes = index.shape[0], m = index.size / axes, size = element_size(index.dtype);
  const int64_t blocks = (m + INDICES_TOGETHER - 1) / INDICES_TOGETHER;
  std::atomic<bool> inside{true};
  parallel_for(args.threads_of(index.size), blocks, [&](int64_t begin, int64_t end) {
    int64_t more[INDICES_TOGETHER];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t j = b * INDICES_TOGETHER, n = std::min<int64_t>(INDICES_TOGETHER, m - j);
      int64_t* positions = values + j;
      for (int64_t a = 0; a < axes; ++a) {
        const char* from = static_cast<const char*>(index.data) + (a * m + j) * size;
        if (!read_in_range(args.level, index.dtype, from, n, lengths[a], a ? more : positions)) {
          inside = false;
          return;
        }
        for (int64_t i = 0; a && i < n; ++i) positions[i] = positions[i] * lengths[a] + more[i];
      }
    }
  });
  return inside;
}

// The flat positions of the columns of `index` (axes, m) in an array of shape `lengths`, in the
// workspace; negative indices count from the end; nullptr if the run has failed.
const int64_t* flat_indices(const Args& args, const Blob& index, const Int64s<8>& lengths) {
  if (write_flat_indices(args, index, lengths, static_cast<int64_t*>(args.space)))
    return static_cast<const int64_t*>(args.space);
  int64_t* values = read_indices(args, index);
  const int64_t axes = index.shape[0], m = index.size / axes;
  std::atomic<bool> inside{true};
  parallel_for(args.threads_of(index.size), m, [&](int64_t begin, int64_t end) {
    if (!flatten_tuples(values, axes, m, lengths.data(), begin, end)) inside = false;
  });
  if (inside) return values;
  values = read_indices(args, index);
  for (int64_t a = 0; a < axes; ++a)
    for (int64_t j = 0; j < m; ++j) {
      const int64_t k = values[a * m + j], n = lengths[a];
      if (-n <= k && k < n) continue;
      args.fail(j, {static_cast<double>(k), static_cast<double>(n), static_cast<double>(a)});
      return nullptr;
    }
  return nullptr;
}

int64_t index_workspace_bytes(const Args& args) { return args.in[1]->size * sizeof(int64_t); }

// out (outer, m, inner) (+)= slices of in[0] (outer, n, inner) at the m values of in[1]
template <typename T>
void take(const Args& args) {
  const Indexed& p = args.as<Indexed>();
  const T* src = args.input<T>(0);
  T* dst = args.output<T>(0);
  if (p.outer == 1 && p.inner == 1 && !args.add[0] &&
      for_indices_in_range(args, *args.in[1], p.n, args.in[1]->size,
                           [=](int64_t first, int64_t m, const int64_t* index) {
                             gather_elements(src, index, m, dst + first);
                           }))
    return;
  const int64_t* index = read_bounded_indices(args, *args.in[1], p.n, p.mode);
  if (index) gather(args, p.outer, p.n, p.inner, args.in[1]->size, index, src, dst);
}

template <typename T>
void take_grad(const Args& args) {
  const Indexed& p = args.as<Indexed>();
  clear_output<T>(args, 0);
  const int64_t* index = read_bounded_indices(args, *args.in[1], p.n, p.mode);
  if (index)
    scatter(args, true, p.outer, p.n, p.inner, args.in[1]->size, index, args.input<T>(0),
            args.output<T>(0));
}

// out (outer, inner) (+)= elements of in[0] (outer, n, inner) at in[1] (outer, inner)
template <typename T>
void pick(const Args& args) {
  const Indexed& p = args.as<Indexed>();
  const T* src = args.input<T>(0);
  T* picked = args.output<T>(0);
  const int64_t n = p.n, inner = p.inner;
  const bool add = args.add[0];
  if (inner == 1 && !add &&
      for_indices_in_range(
          args, *args.in[1], n, p.outer, [=](int64_t first, int64_t m, const int64_t* index) {
            for (int64_t r = 0; r < m; ++r) {
              const int64_t later = std::min<int64_t>(r + ROWS_AHEAD, m - 1);
              prefetch_row<false>(src + (first + later) * n + index[later], sizeof(T));
              picked[first + r] = src[(first + r) * n + index[r]];
            }
          }))
    return;
  const int64_t* index = read_bounded_indices(args, *args.in[1], p.n, p.mode);
  if (!index) return;
  parallel_for(args.threads_of(p.outer * inner), p.outer * inner, [=](int64_t begin, int64_t end) {
    if (inner == 1) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t later = std::min<int64_t>(r + ROWS_AHEAD, end - 1);
        prefetch_row<false>(src + later * n + index[later], sizeof(T));
        emit(picked[r], static_cast<compute_t<T>>(src[r * n + index[r]]), add);
      }
      return;
    }
    for (int64_t r = begin; r < end; ++r)
      emit(picked[r],
           static_cast<compute_t<T>>(src[(r / inner * n + index[r]) * inner + r % inner]), add);
  });
}

template <typename T>
void pick_grad(const Args& args) {
  const Indexed& p = args.as<Indexed>();
  clear_output<T>(args, 0);
  const int64_t* index = read_bounded_indices(args, *args.in[1], p.n, p.mode);
  if (!index) return;
  const T* picked = args.input<T>(0);
  T* src = args.output<T>(0);
  const int64_t n = p.n, inner = p.inner;
  parallel_for(args.threads_of(p.outer * inner), p.outer * inner, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      emit(src[(r / inner * n + index[r]) * inner + r % inner],
           static_cast<compute_t<T>>(picked[r]), true);
  });
}

// out (+)= blocks of in[0] at the tuples in[1]
template <typename T>
void gather_nd(const Args& args) {
  const IndexTuples& p = args.as<IndexTuples>();
  const int64_t* index = flat_indices(args, *args.in[1], p.lengths);
  if (index)
    gather(args, 1, 0, p.inner, args.in[1]->size / args.in[1]->shape[0], index, args.input<T>(0),
           args.output<T>(0));
}

// Blocks in[0] are added to out at the index tuples in[1], or written to it after zeros; of equal
// tuples the last counts.
template <typename T, bool sum>
void scatter_to_tuples(const Args& args) {
  const IndexTuples& p = args.as<IndexTuples>();
  const int64_t* index = flat_indices(args, *args.in[1], p.lengths);
  if (!index) return;
  clear_output<T>(args, 0);
  scatter(args, sum || args.add[0], 1, 0, p.inner, args.in[1]->size / args.in[1]->shape[0], index,
          args.input<T>(0), args.output<T>(0));
}

template <typename T>
void gather_nd_grad(const Args& args) {
  scatter_to_tuples<T, true>(args);
}

template <typename T>
void scatter_nd(const Args& args) {
  scatter_to_tuples<T, false>(args);
}

// out[i, k] (+)= on_value where k is in[0][i], else off_value; an index outside has no on_value
template <typename T>
void one_hot(const Args& args) {
  const OneHot& p = args.as<OneHot>();
  const int64_t* index = read_indices(args, *args.in[0]);
  const int64_t depth = p.depth;
  T* out = args.output<T>(0);
  const compute_t<T> yes = convert_one<compute_t<T>>(p.on_value),
                     no = convert_one<compute_t<T>>(p.off_value);
  const bool add = args.add[0];
  parallel_for(args.threads, args.in[0]->size, [=](int64_t begin, int64_t end) {
    if (add) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t k = 0; k < depth; ++k)
          emit(out[i * depth + k], k == index[i] ? yes : no, true);
      return;
    }
    std::fill(out + begin * depth, out + end * depth, static_cast<T>(no));
    for (int64_t i = begin; i < end; ++i)
      if (index[i] >= 0 && index[i] < depth) out[i * depth + index[i]] = static_cast<T>(yes);
  });
}
int64_t one_hot_workspace_bytes(const Args& args) { return args.in[0]->size * sizeof(int64_t); }

// Copies `rows` rows of `bytes` bytes each.
void copy_rows(const Args& args, void* to, const void* from, int64_t rows, int64_t bytes) {
  parallel_for(args.threads_of(rows * bytes / 4), rows, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin * bytes,
                static_cast<const char*>(from) + begin * bytes, (end - begin) * bytes);
  });
}

// out = in[0] (n, k) with in[1][i] at column in[2][i] of row i, if that column exists
template <typename T>
void fill_element(const Args& args) {  // one column of each row
  const int64_t n = args.in[1]->size, k = args.in[0]->shape[1];
  const int64_t* column = read_indices(args, *args.in[2]);
  T* out = args.output<T>(0);
  copy_rows(args, out, args.in[0]->data, args.in[0]->shape[0], k * sizeof(T));
  for (int64_t i = 0; i < n; ++i)
    if (0 <= column[i] && column[i] < k) out[i * k + column[i]] = args.input<T>(1)[i];
}

// out = in[0] (n, ...) with the rows in[1] replaced by those of in[2]
template <typename T>
void index_copy(const Args& args) {
  const int64_t n = args.in[0]->shape[0];
  const int64_t* index = read_bounded_indices(args, *args.in[1], n, RAISE);
  if (!index) return;
  const int64_t width = args.in[0]->size / n;
  copy_rows(args, args.out[0]->data, args.in[0]->data, n, width * sizeof(T));
  scatter(args, false, 1, n, width, args.in[1]->size, index, args.input<T>(2), args.output<T>(0));
}

// The gradient of the old array: in[0] with zeros in the rows in[1].
template <typename T>
void index_copy_grad(const Args& args) {
  const int64_t n = args.in[0]->shape[0], width = args.in[0]->size / n;
  const int64_t* index = read_bounded_indices(args, *args.in[1], n, RAISE);
  if (!index) return;
  T* grad = args.output<T>(0);
  copy_rows(args, grad, args.in[0]->data, n, width * sizeof(T));
  for (int64_t i = 0; i < args.in[1]->size; ++i)
    std::memset(grad + index[i] * width, 0, width * sizeof(T));
}

// out = in[0] (n, ...) with all rows but in[1] set to zero.
template <typename T>
void retain_rows(const Args& args) {
  const int64_t n = args.in[0]->shape[0], width = n == 0 ? 0 : args.in[0]->size / n;
  const int64_t* index = read_bounded_indices(args, *args.in[1], n, RAISE);
  if (!index) return;
  T* out = args.output<T>(0);
  std::memset(out, 0, n * width * sizeof(T));
  for (int64_t i = 0; i < args.in[1]->size; ++i)
    std::memcpy(out + index[i] * width, args.input<T>(0) + index[i] * width, width * sizeof(T));
}
}  // namespace
}  // namespace cynet

#define CYNET_INDEX_KERNEL(name, Params) \
  CYNET_PLAIN_SPACE_KERNEL(name, Params, 1, index_workspace_bytes, CYNET_NUMBERS, bool)
CYNET_INDEX_KERNEL(take, Indexed)
CYNET_INDEX_KERNEL(take_grad, Indexed)
CYNET_INDEX_KERNEL(pick, Indexed)
CYNET_INDEX_KERNEL(pick_grad, Indexed)
CYNET_INDEX_KERNEL(gather_nd, IndexTuples)
CYNET_INDEX_KERNEL(gather_nd_grad, IndexTuples)
CYNET_INDEX_KERNEL(scatter_nd, IndexTuples)
CYNET_INDEX_KERNEL(index_copy, NoParams)
CYNET_INDEX_KERNEL(index_copy_grad, NoParams)
CYNET_INDEX_KERNEL(retain_rows, NoParams)
CYNET_INDEX_KERNEL(fill_element, NoParams)
CYNET_PLAIN_SPACE_KERNEL(one_hot, OneHot, 1, one_hot_workspace_bytes, CYNET_NUMBERS, bool)
