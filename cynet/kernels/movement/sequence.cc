// Running sums, sequences of given lengths, and padding by an array's own elements.
#include <algorithm>

#include "movement/rows.h"

namespace cynet {
#define RUNNING_SUMS_FIELDS(field) field(int64_t, outer) field(int64_t, n) field(int64_t, inner)
CYNET_PARAMS(RunningSums, RUNNING_SUMS_FIELDS)
#define SEQUENCES_FIELDS(field)                                                             \
  field(int64_t, time) field(int64_t, batch) field(int64_t, inner) field(bool, batch_first) \
      field(double, value)
CYNET_PARAMS(Sequences, SEQUENCES_FIELDS)
#define BORDERS_FIELDS(field) \
  field(Int64s<8>, src) field(Int64s<8>, dst) field(Int64s<8>, before) field(bool, reflect)
CYNET_PARAMS(Borders, BORDERS_FIELDS)

namespace {
// Running sums along the middle axis, or for the gradient (`reverse`) from the end.
template <typename T, bool reverse>
void running_sums(const Args& args) {
  typedef typename std::conditional<std::is_integral<T>::value, int64_t, double>::type Sum;
  const RunningSums& p = args.as<RunningSums>();
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  const int64_t n = p.n, inner = p.inner;
  const bool add = args.add[0];
  parallel_for(args.threads, p.outer * inner, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t base = r / inner * n * inner + r % inner;
      Sum sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t k = base + (reverse ? n - 1 - i : i) * inner;
        sum = sum_of(sum, static_cast<Sum>(static_cast<compute_t<T>>(x[k])));
        emit(out[k], static_cast<compute_t<T>>(sum), add);
      }
    }
  });
}

template <typename T>
void cumsum(const Args& args) {
  running_sums<T, false>(args);
}

template <typename T>
void cumsum_grad(const Args& args) {
  running_sums<T, true>(args);
}

int64_t lengths_workspace_bytes(const Args& args) {  // of sequence lengths
  return args.as<Sequences>().batch * sizeof(int64_t);
}

// The lengths, and the source row of each output row.
int64_t source_rows_workspace_bytes(const Args& args) {
  const Sequences& p = args.as<Sequences>();
  return p.batch * (1 + p.time) * sizeof(int64_t);
}

// Reads the sequence lengths in[1] into the workspace; nullptr, and the run fails, if one is not in
// [least, axis length]. `clip` clamps them instead.
const int64_t* read_lengths(const Args& args, int64_t least, bool clip) {
  const Sequences& p = args.as<Sequences>();
  int64_t* length = static_cast<int64_t*>(args.space);
  if (!args.in[1]) {
    std::fill(length, length + p.batch, p.time);
    return length;
  }
  read_indices<false>(args, *args.in[1]);
  for (int64_t b = 0; b < p.batch; ++b) {
    if (least == 0) length[b] = std::max<int64_t>(length[b], 0);
    if (clip) length[b] = std::min(length[b], p.time);
    if (length[b] >= least && length[b] <= p.time) continue;
    args.fail(b, {static_cast<double>(length[b]), static_cast<double>(least),
                  static_cast<double>(p.time)});
    return nullptr;
  }
  return length;
}

// Rows (time, batch, inner), or (batch, time, inner) when batch comes first: those at or after
// their sequence's end become `fill`.
template <typename T>
void mask_rows(const Args& args, double value) {
  const Sequences p = args.as<Sequences>();
  const int64_t* length = read_lengths(args, 0, true);
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  const compute_t<T> fill = convert_one<compute_t<T>>(value);
  const bool add = args.add[0];
  parallel_for(args.threads, p.time * p.batch, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t t = p.batch_first ? r % p.time : r / p.batch;
      const bool inside = t < length[p.batch_first ? r / p.time : r % p.batch];
      for (int64_t i = r * p.inner; i < (r + 1) * p.inner; ++i)
        emit(out[i], inside ? static_cast<compute_t<T>>(x[i]) : fill, add);
    }
  });
}

template <typename T>
void sequence_mask(const Args& args) {
  mask_rows<T>(args, args.as<Sequences>().value);
}

template <typename T>
void sequence_mask_grad(const Args& args) {
  mask_rows<T>(args, 0);
}

// The source row of each output row; nullptr if the run has failed.
const int64_t* last_row_indices(const Args& args) {
  const Sequences& p = args.as<Sequences>();
  const int64_t* length = read_lengths(args, 1, false);
  int64_t* row = static_cast<int64_t*>(args.space) + p.batch;
  if (!length) return nullptr;
  for (int64_t b = 0; b < p.batch; ++b)
    row[b] = p.batch_first ? b * p.time + length[b] - 1 : (length[b] - 1) * p.batch + b;
  return row;
}

const int64_t* reversed_row_indices(const Args& args) {
  const Sequences& p = args.as<Sequences>();
  const int64_t* length = read_lengths(args, 0, false);
  int64_t* row = static_cast<int64_t*>(args.space) + p.batch;
  if (!length) return nullptr;
  for (int64_t t = 0; t < p.time; ++t)
    for (int64_t b = 0; b < p.batch; ++b)
      row[t * p.batch + b] = (t < length[b] ? length[b] - 1 - t : t) * p.batch + b;
  return row;
}

template <typename T>
void gather_by_row(const Args& args, const int64_t* row, int64_t n) {
  if (row)
    gather(args, 1, 0, args.as<Sequences>().inner, n, row, args.input<T>(0), args.output<T>(0));
}

template <typename T>
void scatter_by_row(const Args& args, const int64_t* row, int64_t n) {
  if (row)
    scatter(args, args.add[0], 1, 0, args.as<Sequences>().inner, n, row, args.input<T>(0),
            args.output<T>(0));
}

template <typename T>
void sequence_last(const Args& args) {
  gather_by_row<T>(args, last_row_indices(args), args.as<Sequences>().batch);
}

template <typename T>
void sequence_last_grad(const Args& args) {
  const int64_t* row = last_row_indices(args);
  if (row) clear_output<T>(args, 0);
  scatter_by_row<T>(args, row, args.as<Sequences>().batch);
}

template <typename T>
void sequence_reverse(const Args& args) {
  gather_by_row<T>(args, reversed_row_indices(args),
                   args.as<Sequences>().time * args.as<Sequences>().batch);
}

template <typename T>
void sequence_reverse_grad(const Args& args) {
  scatter_by_row<T>(args, reversed_row_indices(args),
                    args.as<Sequences>().time * args.as<Sequences>().batch);
}

// Maps position i of a padded axis to one of the n elements of the source axis.
inline int64_t source_index(int64_t i, int64_t before, int64_t n, bool reflect) {
  i -= before;
  if (!reflect) return std::min(std::max<int64_t>(i, 0), n - 1);
  i = i < 0 ? -i : i;
  return i < n ? i : 2 * (n - 1) - i;
}

// dst is src with borders before and after each axis: the nearest element again, or the elements
// mirrored at the edge. Backwards dst is added into src.
template <typename T, bool backwards>
void copy_with_borders(const Args& args, T* src, T* dst) {
  const Borders p = args.as<Borders>();
  const bool add = args.add[0], reflect = p.reflect;
  const int last = args.in[0]->ndim - 1;
  int64_t rows = 1;
  for (int i = 0; i < last; ++i) rows *= p.dst[i];
  auto part = [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, offset = 0, stride = p.src[last];
      for (int i = last - 1; i >= 0; --i) {
        offset += source_index(rest % p.dst[i], p.before[i], p.src[i], reflect) * stride;
        rest /= p.dst[i];
        stride *= p.src[i];
      }
      const int64_t n = p.src[last], inside = p.before[last], behind = inside + n;
      T* line = dst + r * p.dst[last];
      auto run = [=](int64_t first, int64_t end, T* element, int64_t step) {
        for (int64_t c = first; c < end; ++c, element += step) {
          if (backwards) emit(*element, static_cast<compute_t<T>>(line[c]), true);
          else emit(line[c], static_cast<compute_t<T>>(*element), add);
        }
      };
      T* from = src + offset;
      run(0, inside, from + (reflect ? inside : 0), reflect ? -1 : 0);
      run(inside, behind, from, 1);
      run(behind, p.dst[last], from + n - 1 - reflect, reflect ? -1 : 0);
    }
  };
  // backwards, several positions add to one element, so threads divide the unpadded first axis
  if (backwards) {
    const int64_t planes = p.dst[0], each = planes > 0 ? rows / planes : 0;
    parallel_for(args.threads, planes, [=](int64_t b, int64_t e) { part(b * each, e * each); });
  } else {
    parallel_for(args.threads, rows, part);
  }
}

template <typename T>
void borders(const Args& args) {  // pads axes by edge values or reflection
  copy_with_borders<T, false>(args, const_cast<T*>(args.input<T>(0)), args.output<T>(0));
}

template <typename T>
void borders_grad(const Args& args) {  // adds the padding back
  clear_output<T>(args, 0);
  copy_with_borders<T, true>(args, args.output<T>(0), const_cast<T*>(args.input<T>(0)));
}
}  // namespace
}  // namespace cynet

#define CYNET_SEQUENCE_KERNEL(name, space) \
  CYNET_PLAIN_SPACE_KERNEL(name, Sequences, 1, space, CYNET_NUMBERS, bool)
CYNET_SEQUENCE_KERNEL(sequence_mask, lengths_workspace_bytes)
CYNET_SEQUENCE_KERNEL(sequence_mask_grad, lengths_workspace_bytes)
CYNET_SEQUENCE_KERNEL(sequence_last, source_rows_workspace_bytes)
CYNET_SEQUENCE_KERNEL(sequence_last_grad, source_rows_workspace_bytes)
CYNET_SEQUENCE_KERNEL(sequence_reverse, source_rows_workspace_bytes)
CYNET_SEQUENCE_KERNEL(sequence_reverse_grad, source_rows_workspace_bytes)
CYNET_PLAIN_KERNEL(cumsum, RunningSums, 1, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(cumsum_grad, RunningSums, 1, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(borders, Borders, 1, CYNET_NUMBERS, bool)
CYNET_PLAIN_KERNEL(borders_grad, Borders, 1, CYNET_NUMBERS, bool)
