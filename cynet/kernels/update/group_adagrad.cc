// AdaGrad with one number of history for each row of a weight.
#include <cmath>

#include "elementwise/elementwise.h"
#include "kernel.h"
#include "update/update.h"

namespace cynet {
namespace {

#define GROUP_ADAGRAD_FIELDS(field) \
  field(double, lr) field(double, rescale_grad) field(double, clip_gradient) field(double, epsilon)
CYNET_PARAMS(GroupAdaGrad, GROUP_ADAGRAD_FIELDS)

// reads weight, grad (rows, ...); writes output, and updates history (rows, 1)
template <typename W>
void group_adagrad(const Args& args) {
  typedef typename std::conditional<std::is_same<W, half>::value, float, W>::type T;
  const GroupAdaGrad& p = args.as<GroupAdaGrad>();
  const W *w = args.input<W>(0), *g = args.input<W>(1);
  W *y = args.output<W>(0), *history = static_cast<W*>(args.out[1]->data);
  const T lr = T(p.lr), rescale = T(p.rescale_grad), epsilon = T(p.epsilon);
  const T clip = T(clip_limit(p.clip_gradient));
  const int64_t rows = args.in[0]->shape[0], length = args.in[0]->size / rows;
  const bool add = args.add[0];
  if (!y) return;
  parallel_for(args.threads, rows, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * length;
      T sum = 0;
      for (int64_t i = first; i < first + length; ++i) {
        const T d = clamp(rescale * static_cast<T>(g[i]), clip);
        sum += d * d;
      }
      const T total = static_cast<T>(history[row]) + sum / static_cast<T>(length);
      history[row] = static_cast<W>(total);
      const T rate = lr / std::sqrt(total + epsilon);
      for (int64_t i = first; i < first + length; ++i) {
        const T d = clamp(rescale * static_cast<T>(g[i]), clip);
        const T next = static_cast<T>(w[i]) - rate * d;
        y[i] = static_cast<W>(add ? static_cast<T>(y[i]) + next : next);
      }
    }
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(group_adagrad, GroupAdaGrad, 2, float, double, half)
