// The step of an 8-bit array: its largest magnitude divided by the number of steps on one side.
#ifndef CYNET_QUANTIZATION_UNITS_H
#define CYNET_QUANTIZATION_UNITS_H

#include <algorithm>
#include <cmath>

#include "kernel.h"

namespace cynet {

// MXNet 1.9.1 uses half a step more for conversions from or to floats than between integers.
inline float steps_between_integers(int dtype) { return dtype == U8 ? 255.0f : 127.0f; }
inline float steps_for_floats(int dtype) { return dtype == U8 ? 255.5f : 127.5f; }

// The larger magnitude of the two; NaN if either is NaN.
inline float max_magnitude(float low, float high) {
  const float a = std::fabs(low), b = std::fabs(high);
  return a > b || a != a ? a : b;
}

// The number of steps per unit; 0 if the range is 0.
inline float steps_per_unit(float steps, float reach) { return reach > 0 ? steps / reach : 0.0f; }

// Reports a NaN that has no integer value: element `place` of input i of a kernel.
inline void report_nan(const Args& args, int i, int64_t place, double value) {
  args.fail(place, {static_cast<double>(i), value});
}
// True if the inputs `first` to `last`, ends of ranges, are not NaN; reports the first NaN.
inline bool are_ranges_valid(const Args& args, int first, int last) {
  for (int i = first; i <= last; ++i)
    if (std::isnan(*args.input<float>(i))) {
      report_nan(args, i, 0, *args.input<float>(i));
      return false;
    }
  return true;
}

}  // namespace cynet

#endif
