// Gradients of the losses that regression outputs and support vector machines stand for.
#include "kernel.h"

namespace cynet {
#define DIFFERENCE(field) field(double, scale) field(bool, absolute)
CYNET_PARAMS(Difference, DIFFERENCE)
#define HINGE(field) \
  field(int64_t, classes) field(double, margin) field(double, regularization) field(bool, linear)
CYNET_PARAMS(Hinge, HINGE)

template <typename T, class F>
static void put_each(T* to, int64_t begin, int64_t end, bool add, F&& value) {
  if (add) {
    for (int64_t i = begin; i < end; ++i) to[i] += value(i);
  } else {
    for (int64_t i = begin; i < end; ++i) to[i] = value(i);
  }
}

// dx (+)= scale (y - label), or scale sign(y - label), times dy if there is one
template <typename T>
static void difference(const Args& args) {
  const Difference& p = args.as<Difference>();
  const T *y = args.input<T>(0), *label = args.input<T>(1), *dy = args.input<T>(2), scale = p.scale;
  T* dx = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.out[0]->size, [=, &p](int64_t begin, int64_t end) {
    if (p.absolute)
      put_each(dx, begin, end, add, [=](int64_t i) {
        return scale * T((y[i] > label[i]) - (y[i] < label[i]));
      });
    else if (dy)
      put_each(dx, begin, end, add, [=](int64_t i) { return scale * (y[i] - label[i]) * dy[i]; });
    else
      put_each(dx, begin, end, add, [=](int64_t i) { return scale * (y[i] - label[i]); });
  });
}

// Of the hinge loss of rows of scores y: first as of a row of wrong classes, then the right one. dx
// may be y.
template <typename T>
static void hinge_grad(const Args& args) {
  const Hinge& p = args.as<Hinge>();
  const int64_t n = p.classes;
  const T margin = p.margin, scale = p.regularization;
  const auto slope = [=, &p](T room) {  // of the loss of a class whose margin lacks `room`
    return room > 0 ? (p.linear ? scale : scale * (2 * room)) : T(0);
  };
  parallel_for(args.threads, args.out[0]->size / n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T *y = args.input<T>(0) + row * n, label = args.input<T>(1)[row];
      T* dx = args.output<T>(0) + row * n;
      const bool has_label = 0 <= label && label < n && label == T(int64_t(label));
      const int64_t right = has_label ? int64_t(label) : 0;
      const T score = y[right], before = dx[right];
      put_each(dx, 0, n, args.add[0], [=](int64_t k) { return slope(margin + y[k]); });
      if (!has_label) continue;
      const T value = -slope(margin - score);
      dx[right] = args.add[0] ? before + value : value;
    }
  });
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(difference, Difference, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(hinge_grad, Hinge, 2, CYNET_FLOATS)
