// Whether two arrays are equal within tolerances.
#include <cmath>

#include "elementwise/convert.h"
#include "kernel.h"

namespace cynet {
#define TOLERANCES_FIELDS(field) \
  field(double, relative) field(double, absolute) field(bool, equal_nan)
CYNET_PARAMS(Tolerances, TOLERANCES_FIELDS)

// |a - b| <= absolute + relative |b| for all elements; infinities must be equal; `equal_nan`.
template <typename T>
static void all_close(const Args& args) {
  const Tolerances& p = args.as<Tolerances>();
  const T *a = args.input<T>(0), *b = args.input<T>(1);
  bool close = true;
  for (int64_t i = 0; i < args.in[0]->size && close; ++i) {
    const double x = convert_one<double>(a[i]), y = convert_one<double>(b[i]);
    if (x == y) continue;
    if (x != x || y != y) close = p.equal_nan && x != x && y != y;
    else close = std::isfinite(y) && std::fabs(x - y) <= p.absolute + p.relative * std::fabs(y);
  }
  uint8_t* out = args.output<uint8_t>(0);
  *out = close + (args.add[0] ? *out : 0);
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(all_close, Tolerances, 1, CYNET_NUMBERS)
