// Gradients of operators that end a network: of the losses behind regression outputs, support
// vector machines and softmax outputs, and constants.
#include <cstring>

#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {
#define DIFFERENCE_FIELDS(field) field(double, scale) field(bool, absolute)
CYNET_PARAMS(Difference, DIFFERENCE_FIELDS)
#define HINGE_FIELDS(field) \
  field(int64_t, classes) field(double, margin) field(double, regularization) field(bool, linear)
CYNET_PARAMS(Hinge, HINGE_FIELDS)
// Classes along the middle axis of (outer, n, inner). `normalization`: 0 by inner alone, 1 by the
// number of labels, 2 by the labels other than ignore_label. `smooth`: the part of 1 that all other
// classes share.
#define SOFTMAX_LOSS_FIELDS(field)                                                         \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(bool, probabilities) \
      field(bool, use_ignore) field(int, ignore_label) field(int, normalization)           \
          field(double, scale) field(double, smooth)
CYNET_PARAMS(SoftmaxLoss, SOFTMAX_LOSS_FIELDS)
// `valid`: the gradient is divided by the number of elements above the threshold.
#define CONSTANT_FIELDS(field) field(double, scale) field(bool, valid) field(double, threshold)
CYNET_PARAMS(Constant, CONSTANT_FIELDS)

// Sets to[i] (+)= value(i); value(i) may read to[i] but no other element of `to`.
template <typename T, class F>
static inline void set_or_add(T* to, int64_t begin, int64_t end, bool add, F&& value) {
  if (add) {
    CYNET_IVDEP
    for (int64_t i = begin; i < end; ++i) to[i] += value(i);
  } else {
    CYNET_IVDEP
    for (int64_t i = begin; i < end; ++i) to[i] = value(i);
  }
}

// dx (+)= scale (y - label), or scale sign(y - label), times dy if there is one
template <typename T>
static void write_difference(const Args& args, const T* label, T scale, bool absolute) {
  const T *y = args.input<T>(0), *dy = args.input<T>(2);
  T* dx = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.out[0]->size, [=](int64_t begin, int64_t end) {
    if (absolute)
      set_or_add(dx, begin, end, add,
                 [=](int64_t i) { return scale * T((y[i] > label[i]) - (y[i] < label[i])); });
    else if (dy)
      set_or_add(dx, begin, end, add, [=](int64_t i) { return scale * (y[i] - label[i]) * dy[i]; });
    else set_or_add(dx, begin, end, add, [=](int64_t i) { return scale * (y[i] - label[i]); });
  });
}

template <typename T>
static void difference(const Args& args) {  // scaled y - label, or its sign
  const Difference& p = args.as<Difference>();
  write_difference<T>(args, args.input<T>(1), T(p.scale), p.absolute);
}

// The labels as T: converted to the workspace if they have another dtype.
template <typename T>
static const T* converted_labels(const Args& args) {
  const Blob& labels = *args.in[1];
  if (labels.dtype == row_of_type<T>) return args.input<T>(1);
  T* to = static_cast<T*>(args.space);
  call_for_dtype(labels.dtype, [=, &labels](auto zero) {
    const auto* from = static_cast<const decltype(zero)*>(labels.data);
    for (int64_t i = 0; i < labels.size; ++i) to[i] = convert_one<T>(from[i]);
  });
  return to;
}
static int64_t labels_workspace_bytes(const Args& args) {
  return args.in[0]->dtype == args.in[1]->dtype ? 0 : args.in[1]->size * sizeof(double);
}

// The gradient of the hinge loss of a row of scores y: first as for wrong classes, then for the
// right one. dx may be y.
template <bool linear, typename T>
static void hinge_row_grad(const T* y, T label, T* dx, int64_t n, T margin, T scale, bool add) {
  const auto slope = [=](T slack) {  // derivative of the loss where the margin lacks `slack`
    return slack > 0 ? (linear ? scale : scale * (2 * slack)) : T(0);
  };
  const bool has_label = 0 <= label && label < n && label == T(int64_t(label));
  const int64_t right = has_label ? int64_t(label) : 0;
  const T score = y[right], before = dx[right];
  set_or_add(dx, 0, n, add, [=](int64_t k) { return slope(margin + y[k]); });
  if (!has_label) return;
  const T value = -slope(margin - score);
  dx[right] = add ? before + value : value;
}

template <typename T>
static void hinge_grad(const Args& args) {
  const Hinge& p = args.as<Hinge>();
  const int64_t n = p.classes;
  const auto row = p.linear ? hinge_row_grad<true, T> : hinge_row_grad<false, T>;
  const T* label = converted_labels<T>(args);
  parallel_for(args.threads, args.out[0]->size / n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      row(args.input<T>(0) + i * n, label[i], args.output<T>(0) + i * n, n, T(p.margin),
          T(p.regularization), args.add[0]);
  });
}

// The label truncated to an integer; -1 for an invalid one.
template <typename T>
static int64_t label_to_class(T label) {
  return -2147483648.0 < label && label < 2147483648.0 ? int64_t(label) : -1;
}

enum { LOSS_WIDTH = 256, LOSS_PART = 4096 };  // maximum lines and elements of a block

// The target values of the label's class and of all other classes.
template <typename T>
struct ClassTargets {  // label-smoothed target values
  T hit, miss;
  explicit ClassTargets(const SoftmaxLoss& p)
      : hit(T(1 - p.smooth)), miss(p.n > 1 ? T(p.smooth / (p.n - 1)) : T(0)) {}
};

template <typename T>
static void loss_line_grad(const SoftmaxLoss& p, const T* y, int64_t label, const T* dy, T* dx,
                           T scale, bool add) {
  const ClassTargets<T> t(p);
  const bool ignored = p.use_ignore && label == p.ignore_label;
  for (int64_t i = 0, at = 0; i < p.n; ++i, at += p.inner) {
    T value = ignored ? T(0) : scale * (y[at] - (i == label ? t.hit : t.miss));
    if (dy) value *= dy[at];
    dx[at] = add ? dx[at] + value : value;
  }
}

// Up to LOSS_WIDTH contiguous lines: first as if no label matched, then the corrections at the
// labels. dx may be y.
template <typename T>
static void loss_rows_grad(const SoftmaxLoss& p, const T* y, const T* label, T* dx, T scale,
                           int64_t rows) {
  const ClassTargets<T> t(p);
  T values[LOSS_WIDTH];
  int64_t offsets[LOSS_WIDTH];
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t marked = label_to_class(label[row]);
    offsets[row] = 0 <= marked && marked < p.n ? row * p.n + marked : -1;
    if (offsets[row] >= 0) values[row] = scale * (y[offsets[row]] - t.hit);
  }
  const T miss = t.miss;
  if (dx == y) {  // so compilers see that no element is read after a write
    for (int64_t i = 0; i < rows * p.n; ++i) dx[i] = scale * (dx[i] - miss);
  } else {
    for (int64_t i = 0; i < rows * p.n; ++i) dx[i] = scale * (y[i] - miss);
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (offsets[row] >= 0) dx[offsets[row]] = values[row];
    if (p.use_ignore && label_to_class(label[row]) == p.ignore_label)
      memset(dx + row * p.n, 0, p.n * sizeof(T));
  }
}

// Computes `width` interleaved lines, class by class, as each class is contiguous in memory.
template <typename T>
static void loss_lines_grad(const SoftmaxLoss& p, const T* y, const T* label, const T* dy, T* dx,
                            T scale, int64_t width, bool add) {
  const ClassTargets<T> t(p);
  T value[LOSS_WIDTH];
  int32_t marked[LOSS_WIDTH];
  for (int64_t j = 0; j < width; ++j) marked[j] = int32_t(label_to_class(label[j]));
  for (int64_t i = 0, at = 0; i < p.n; ++i, at += p.inner) {
    for (int64_t j = 0; j < width; ++j)
      value[j] = scale * (y[at + j] - (marked[j] == int32_t(i) ? t.hit : t.miss));
    if (dy)
      for (int64_t j = 0; j < width; ++j) value[j] *= dy[at + j];
    if (p.use_ignore)  // zero even if y or dy is NaN
      for (int64_t j = 0; j < width; ++j)
        if (marked[j] == p.ignore_label) value[j] = 0;
    set_or_add(dx + at, 0, width, add, [&](int64_t j) { return value[j]; });
  }
}

// dx (+)= scale / normalization (y - onehot(label)) (dy); a label outside [0, n) marks no class.
// Labels that are probabilities are used directly.
template <typename T>
static void softmax_output_grad(const Args& args) {
  const SoftmaxLoss& p = args.as<SoftmaxLoss>();
  const T *y = args.input<T>(0), *label = converted_labels<T>(args), *dy = args.input<T>(2);
  if (p.probabilities) return write_difference<T>(args, label, T(p.scale), false);
  T* dx = args.output<T>(0);
  const bool add = args.add[0];
  const int64_t labels = args.in[1]->size, lines = p.outer * p.inner;
  int64_t valid = labels;
  if (p.normalization == 2) {
    for (int64_t i = 0; i < labels; ++i) valid -= label_to_class(label[i]) == p.ignore_label;
    if (valid < 1) valid = 1;
  } else if (p.normalization == 0) {
    valid = p.inner;
  }
  const T scale = T(p.scale / valid);
  if (p.inner > 1 && p.n <= INT32_MAX) {
    const int64_t parts = (p.inner + LOSS_WIDTH - 1) / LOSS_WIDTH;
    return parallel_for(args.threads, p.outer * parts, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part % parts * LOSS_WIDTH, left = p.inner - first;
        const int64_t start = part / parts * p.n * p.inner + first;
        loss_lines_grad(p, y + start, label + part / parts * p.inner + first, dy ? dy + start : dy,
                        dx + start, scale, left < LOSS_WIDTH ? left : int64_t(LOSS_WIDTH), add);
      }
    });
  }
  if (p.inner == 1 && !dy && !add) {
    const int64_t few = LOSS_PART / (p.n > 1 ? p.n : 1);
    const int64_t rows = few < 1 ? 1 : few < LOSS_WIDTH ? few : int64_t(LOSS_WIDTH);
    return parallel_for(args.threads, (lines + rows - 1) / rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * rows; row < end * rows && row < lines; row += rows)
        loss_rows_grad(p, y + row * p.n, label + row, dx + row * p.n, scale,
                       lines - row < rows ? lines - row : rows);
    });
  }
  parallel_for(args.threads, lines, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t start = line / p.inner * p.n * p.inner + line % p.inner;
      loss_line_grad(p, y + start, label_to_class(label[line]), dy ? dy + start : dy, dx + start,
                     scale, add);
    }
  });
}

template <typename T>
static void constant_grad(const Args& args) {  // a scale, perhaps over the count of large x
  const Constant& p = args.as<Constant>();
  const int64_t n = args.out[0]->size;
  const T *x = args.input<T>(0), threshold = T(p.threshold);
  int64_t above = 0;
  if (p.valid)
    for (int64_t i = 0; i < n; ++i) above += x[i] > threshold;
  const T value = T(p.scale / (above > 0 ? above : 1));
  parallel_for(args.threads, n, [&](int64_t begin, int64_t end) {
    set_or_add(args.output<T>(0), begin, end, args.add[0], [=](int64_t) { return value; });
  });
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(difference, Difference, 1, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(hinge_grad, Hinge, 2, labels_workspace_bytes, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(softmax_output_grad, SoftmaxLoss, 2, labels_workspace_bytes, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(constant_grad, Constant, 1, CYNET_FLOATS)
