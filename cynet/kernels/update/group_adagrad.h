// AdaGrad with one number of history for each row of a weight. Included by group_adagrad.pyx alone.
#ifndef CYNET_GROUP_ADAGRAD_H
#define CYNET_GROUP_ADAGRAD_H

#include <cmath>
#include <cstdint>

#include "common/half.h"
#include "elementwise/elementwise.h"
#include "parallel.h"
#include "update/update.h"

namespace cynet {

struct GroupAdaGrad {
  double lr, rescale, clip, epsilon;
};

template <typename W, typename T>
void group_adagrad_rows(int threads, const GroupAdaGrad& given, const void* weight,
                        const void* grad, void* history, void* out, int64_t rows, int64_t length,
                        bool add) {
  const W *w = static_cast<const W*>(weight), *g = static_cast<const W*>(grad);
  W *y = static_cast<W*>(out), *kept = static_cast<W*>(history);
  const T lr = T(given.lr), rescale = T(given.rescale), epsilon = T(given.epsilon);
  const T clip = T(clip_limit(given.clip));
  parallel_for(threads, rows, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * length;
      T sum = 0;
      for (int64_t i = first; i < first + length; ++i) {
        const T d = within(rescale * static_cast<T>(g[i]), clip);
        sum += d * d;
      }
      const T total = static_cast<T>(kept[row]) + sum / static_cast<T>(length);
      kept[row] = static_cast<W>(total);
      const T rate = lr / std::sqrt(total + epsilon);
      for (int64_t i = first; i < first + length; ++i) {
        const T d = within(rescale * static_cast<T>(g[i]), clip);
        const T next = static_cast<T>(w[i]) - rate * d;
        y[i] = static_cast<W>(add ? static_cast<T>(y[i]) + next : next);
      }
    }
  });
}

// dtype is F32, F64 or F16.
inline void group_adagrad(int threads, int dtype, const GroupAdaGrad& given, const void* weight,
                          const void* grad, void* history, void* out, int64_t rows,
                          int64_t length, bool add) {
  const auto run = dtype == F64   ? group_adagrad_rows<double, double>
                   : dtype == F32 ? group_adagrad_rows<float, float>
                                  : group_adagrad_rows<half, float>;
  run(threads, given, weight, grad, history, out, rows, length, add);
}

}  // namespace cynet

#endif
