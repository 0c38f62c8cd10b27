// Embedding: copies the rows that an index names; its gradient adds rows to them.
#ifndef CYNET_LANES
#include <algorithm>
#include <cstring>

#include "common/by_dtype.h"
#include "common/row_prefetch.h"
#include "kernel.h"
#include "movement/read_within.h"

namespace cynet {
enum { ROWS_AT_A_TIME = 256 };  // indices in a batch

// Copies rows of `bytes` contiguous bytes.
static void copy_rows(const char* from, const int64_t* rows, int64_t n, int64_t bytes, char* to) {
  for (int64_t i = 0; i < n; ++i) {
    if (i + ROWS_AHEAD < n) prefetch_row<false>(from + rows[i + ROWS_AHEAD] * bytes, bytes);
    std::memcpy(to + i * bytes, from + rows[i] * bytes, bytes);
  }
}

// Calls body(row) for each set bit of a word.
template <class Body>
static void for_set_bits(uint64_t word, int64_t first, const Body& body) {
  for (; word; word &= word - 1) body(first + lowest_bit(word));
}

// Clears the rows whose bits are set, and the bits; one of `parts` parts of n rows.
static void clear_rows(uint64_t* bits, int64_t n, int64_t part, int64_t parts, char* rows,
                       int64_t bytes) {
  constexpr int64_t WORDS_AHEAD = 4;
  for (int64_t first = part * ROWS_TOGETHER; first < n; first += parts * ROWS_TOGETHER) {
    const int64_t end = (std::min<int64_t>(first + ROWS_TOGETHER, n) + 63) / 64;
    for (int64_t i = first / 64; i < end; ++i) {
      if (i + WORDS_AHEAD < end)
        for_set_bits(bits[i + WORDS_AHEAD], (i + WORDS_AHEAD) * 64,
                     [=](int64_t row) { prefetch_row<true>(rows + row * bytes, bytes); });
      for_set_bits(bits[i], i * 64,
                   [=](int64_t row) { std::memset(rows + row * bytes, 0, bytes); });
      bits[i] = 0;
    }
  }
}

static void set_bits(uint64_t* bits, const int64_t* rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) bits[uint64_t(rows[i]) / 64] |= uint64_t(1) << (rows[i] & 63);
}

// Reads n indices from index[first] on into `row`: truncated, clamped to [0, rows), NaN as 0.
// Returns whether an index was outside.
static bool read_row_numbers(int level, const Blob& index, int64_t first, int64_t n, int64_t rows,
                             int64_t* row) {
  const char* from = static_cast<const char*>(index.data) + first * element_size(index.dtype);
  if (read_in_range(level, index.dtype, from, n, rows, row)) return false;
  bool outside = false;
  call_for_dtype(index.dtype, [=, &index, &outside](auto zero) {
    const auto* at = static_cast<const decltype(zero)*>(index.data) + first;
    const double end = static_cast<double>(rows);
    bool any = false;
    for (int64_t k = 0; k < n; ++k) {
      const double value = convert_one<double>(at[k]);
      any |= !(value > -1 && value < end);
      row[k] = value >= end ? rows - 1 : value > 0 ? static_cast<int64_t>(value) : 0;
    }
    outside = any;
  });
  return outside;
}

// Reports the first index outside of the table.
static void record_out_of_range(const Args& args, const Blob& index, int64_t rows) {
  call_for_dtype(index.dtype, [=, &args, &index](auto zero) {
    const auto* at = static_cast<const decltype(zero)*>(index.data);
    for (int64_t k = 0; k < index.size; ++k) {
      const double value = convert_one<double>(at[k]);
      if (value > -1 && value < static_cast<double>(rows)) continue;
      return args.note_value(k, {value, static_cast<double>(rows)});
    }
  });
}

// Clears memory, but writes only nonzero lines: most rows are still 0.
static void clear_nonzero_blocks(char* bytes, int64_t n) {
  const int64_t BLOCK = 512;
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t end = std::min(i + BLOCK, n);
    char any_bits = 0;
    for (int64_t k = i; k < end; ++k) any_bits |= bytes[k];
    if (any_bits) std::memset(bytes + i, 0, end - i);
  }
}

// Clears dweight before the rows of n indices are added.
static void clear_named_rows(const Args& args, int64_t n, char* dweight, int64_t rows,
                             int64_t bytes) {
  if (args.rows && args.rows_known) {
    const int threads = args.threads_of(n * bytes / 4);
    for_parts(threads, [=, &args](int64_t part) {
      clear_rows(args.rows, rows, part, threads, dweight, bytes);
    });
    return;
  }
  parallel_for(args.threads, rows, [=](int64_t begin, int64_t end) {
    if (n * 4 < rows) clear_nonzero_blocks(dweight + begin * bytes, (end - begin) * bytes);
    else std::memset(dweight + begin * bytes, 0, (end - begin) * bytes);
  });
  if (args.rows) std::memset(args.rows, 0, (rows + 63) / 64 * sizeof(uint64_t));
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "movement/embedding.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(embedding, NoParams, 1, CYNET_FLOATS)
CYNET_KERNEL(embedding_grad, NoParams, 1, CYNET_FLOATS)
#else
namespace {
// Adds columns first .. last of n adjacent rows of x to rows of y, in order.
template <typename T>
void add_rows(const T* x, const int64_t* rows, int64_t n, int64_t dim, int64_t first, int64_t last,
              T* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T* from = x + i * dim;
    T* to = y + rows[i] * dim;
    if (i + ROWS_AHEAD < n)
      prefetch_row<true>(reinterpret_cast<const char*>(y + rows[i + ROWS_AHEAD] * dim + first),
                         (last - first) * sizeof(T));
    CYNET_IVDEP
    for (int64_t k = first; k < last; ++k) to[k] += from[k];
  }
}

// out (n, dim) (+)= the rows of in[1] (rows, dim) at the n indices in[0], of any dtype
template <typename T>
void embedding(const Args& args) {
  const Blob &index = *args.in[0], &weight = *args.in[1];
  const int64_t rows = weight.shape[0], dim = weight.shape[1];
  const T* from = args.input<T>(1);
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  const int threads = args.threads_of(index.size * dim);
  std::atomic<bool> outside{false};
  parallel_for(threads, index.size, [=, &args, &index, &outside](int64_t begin, int64_t end) {
    int64_t row[ROWS_AT_A_TIME];
    for (int64_t i = begin; i < end; i += ROWS_AT_A_TIME) {
      const int64_t n = end - i < ROWS_AT_A_TIME ? end - i : int64_t(ROWS_AT_A_TIME);
      if (read_row_numbers(args.level, index, i, n, rows, row)) outside = true;
      if (!add) {
        copy_rows(reinterpret_cast<const char*>(from), row, n, dim * sizeof(T),
                  reinterpret_cast<char*>(out + i * dim));
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        const T* x = from + row[k] * dim;
        T* y = out + (i + k) * dim;
        CYNET_IVDEP
        for (int64_t c = 0; c < dim; ++c) y[c] += x[c];
      }
    }
  });
  if (outside) record_out_of_range(args, index, rows);
}

// dweight[index[i]] += dout[i]: index is in[0], dout in[1] (n, dim); unless add[0], dweight is
// cleared first. Threads divide the columns: no two write one element, and sums go in order.
template <typename T>
void embedding_grad(const Args& args) {
  const Blob& index = *args.in[0];
  const int64_t rows = args.out[0]->shape[0], dim = args.out[0]->shape[1], n = index.size;
  const T* dout = args.input<T>(1);
  T* dweight = args.output<T>(0);
  if (!args.add[0])
    clear_named_rows(args, n, reinterpret_cast<char*>(dweight), rows, dim * sizeof(T));
  const int64_t maximum = dim >= 32 ? dim / 32 : 1;
  const int64_t parts = std::min<int64_t>(args.threads_of(n * dim), maximum);
  uint64_t* bits = args.rows;
  for_parts(parts, [=, &args, &index](int64_t part) {
    int64_t row[ROWS_AT_A_TIME];
    for (int64_t i = 0; i < n; i += ROWS_AT_A_TIME) {
      const int64_t count = n - i < ROWS_AT_A_TIME ? n - i : int64_t(ROWS_AT_A_TIME);
      read_row_numbers(args.level, index, i, count, rows, row);
      if (bits && part == 0) set_bits(bits, row, count);
      add_rows(dout + i * dim, row, count, dim, dim * part / parts, dim * (part + 1) / parts,
               dweight);
    }
  });
}
}  // namespace
#endif
