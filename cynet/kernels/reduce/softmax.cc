// Softmax along the middle axis of (outer, n, inner), and cross-entropy of it with classes.
#ifndef CYNET_LANES
#include "common/by_dtype.h"
#include "kernel.h"
#include "reduce/softmax.h"

namespace cynet {
#define SOFTMAX_FIELDS(field)                                                              \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(double, temperature) \
      field(bool, log_of)
CYNET_PARAMS(Softmax, SOFTMAX_FIELDS)

static int64_t softmax_workspace_bytes(const Args& args) {
  return args.in[0]->size * element_size(args.in[0]->dtype);
}

// The number of valid entries of a line: its length, if lengths are given.
static int64_t line_length(const Softmax& p, const Blob* lengths, int64_t line) {
  if (!lengths) return p.n;
  const int64_t length = lengths->dtype == I64 ? static_cast<const int64_t*>(lengths->data)[line]
                                               : static_cast<const int32_t*>(lengths->data)[line];
  return length >= p.n ? p.n : (length > 0 ? length : 0);
}

// Calls body(start, length) for each line.
template <class Body>
static void for_lines(const Softmax& p, const Blob* lengths, int threads, Body&& body) {
  parallel_for(threads, p.outer * p.inner, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      body(p.inner == 1 ? line * p.n : line / p.inner * p.n * p.inner + line % p.inner,
           line_length(p, lengths, line));
  });
}

// Calls body(start, columns) for blocks of whole interleaved lines, independent of threads.
template <class Body>
static void for_columns(const Softmax& p, int threads, Body&& body) {
  const int64_t width = static_cast<int64_t>(baseline::SOFTMAX_COLUMNS);
  const int64_t strips = (p.inner + width - 1) / width;
  parallel_for(threads, p.outer * strips, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part % strips * width, left = p.inner - first;
      body(part / strips * p.n * p.inner + first, left < width ? left : width);
    }
  });
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "reduce/softmax.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(softmax, Softmax, 4, CYNET_FLOATS)
CYNET_KERNEL(softmax_grad, Softmax, 4, CYNET_FLOATS)
CYNET_SPACE_KERNEL(cross_entropy, Softmax, 4, softmax_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(cross_entropy_grad, Softmax, 4, softmax_workspace_bytes, CYNET_FLOATS)
#else
namespace {

// Doubles use the C library's exp, which is the same at every level.
#if CYNET_LANES > 4
#define CYNET_DOUBLE_AS_BASELINE(name) \
  if constexpr (!std::is_same<T, float>::value) return baseline::name<T>(args)
#else
#define CYNET_DOUBLE_AS_BASELINE(name)
#endif

template <typename T>
void write_softmax(const Args& args, bool log_of, const Blob* lengths, T* y, bool add) {
  const Softmax& p = args.as<Softmax>();
  const T *x = args.input<T>(0), scale = T(1 / p.temperature);
  if (p.inner > 1 && p.n > 0 && !lengths)
    return for_columns(p, args.threads, [&](int64_t start, int64_t m) {
      softmax_columns(x + start, y + start, p.n, p.inner, m, scale, log_of, add);
    });
  if (p.inner == 1 && !lengths)
    return parallel_for(args.threads, p.outer, [&](int64_t begin, int64_t end) {
      softmax_lines(x + begin * p.n, y + begin * p.n, p.n, end - begin, scale, log_of, add);
    });
  for_lines(p, lengths, args.threads, [&](int64_t start, int64_t length) {
    softmax_line(x + start, y + start, p.n, length, p.inner, scale, log_of, add);
  });
}

// Computes y from x and optional lengths.
template <typename T>
void softmax(const Args& args) {
  CYNET_DOUBLE_AS_BASELINE(softmax);
  write_softmax(args, args.as<Softmax>().log_of, args.in[1], args.output<T>(0), args.add[0]);
}

// Computes dx from dy, y and optional lengths.
template <typename T>
void softmax_grad(const Args& args) {
  CYNET_DOUBLE_AS_BASELINE(softmax_grad);
  const Softmax& p = args.as<Softmax>();
  const T *dy = args.input<T>(0), *y = args.input<T>(1), scale = T(1 / p.temperature);
  T* dx = args.output<T>(0);
  const Blob* lengths = args.in[2];
  if (p.inner > 1 && p.n > 0 && !lengths)
    return for_columns(p, args.threads, [&](int64_t start, int64_t m) {
      softmax_columns_gradient(dy + start, y + start, dx + start, p.n, p.inner, m, scale, p.log_of,
                               args.add[0]);
    });
  for_lines(p, lengths, args.threads, [&](int64_t start, int64_t length) {
    softmax_line_gradient(dy + start, y + start, dx + start, p.n, length, p.inner, scale, p.log_of,
                          args.add[0]);
  });
}

// Label i of any dtype, clipped to [0, n).
inline int64_t nearest_class(const Blob& labels, int64_t i, int64_t n) {
  int64_t found = 0;
  call_for_dtype(labels.dtype, [=, &labels, &found](auto zero) {
    const double label = convert_one<double>(static_cast<const decltype(zero)*>(labels.data)[i]);
    found = label >= n ? n - 1 : label > 0 ? int64_t(label) : 0;
  });
  return found;
}

// y = - the sum over rows of log(softmax(x)[label])
template <typename T>
void cross_entropy(const Args& args) {
  CYNET_DOUBLE_AS_BASELINE(cross_entropy);
  const Softmax& p = args.as<Softmax>();
  T *logs = static_cast<T*>(args.space), *y = args.output<T>(0);
  write_softmax(args, true, nullptr, logs, false);
  double total = 0;
  for (int64_t i = 0; i < p.outer; ++i) total -= logs[i * p.n + nearest_class(*args.in[1], i, p.n)];
  *y = T(args.add[0] ? total + *y : total);
}

// dx = dy (softmax(x) - onehot(label)): reads x, label, dy
template <typename T>
void cross_entropy_grad(const Args& args) {
  CYNET_DOUBLE_AS_BASELINE(cross_entropy_grad);
  const Softmax& p = args.as<Softmax>();
  T *soft = static_cast<T*>(args.space), *dx = args.output<T>(0);
  const T factor = *args.input<T>(2);
  write_softmax(args, false, nullptr, soft, false);
  for (int64_t i = 0; i < p.outer; ++i) soft[i * p.n + nearest_class(*args.in[1], i, p.n)] -= 1;
  parallel_for(args.threads, p.outer * p.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      dx[i] = args.add[0] ? dx[i] + factor * soft[i] : factor * soft[i];
  });
}
#undef CYNET_DOUBLE_AS_BASELINE
}
#endif
