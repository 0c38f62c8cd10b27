// The value of one step of an 8-bit array: its range, symmetric around 0, divided by the number of
// steps on one side.
#ifndef CYNET_QUANTIZATION_UNITS_H
#define CYNET_QUANTIZATION_UNITS_H

#include <algorithm>
#include <cmath>

#include "kernel.h"

namespace cynet {

// MXNet 1.9.1 counts half a step more where it converts to or from floats than where it converts
// between integers.
inline float steps_between_integers(int dtype) { return dtype == U8 ? 255.0f : 127.0f; }
inline float steps_of_floats(int dtype) { return dtype == U8 ? 255.5f : 127.5f; }

// NaN where either is.
inline float max_magnitude(float low, float high) {
  const float a = std::fabs(low), b = std::fabs(high);
  return a > b || a != a ? a : b;
}

// The factor of an element; 0 if the range is 0.
inline float per_unit(float steps, float reach) { return reach > 0 ? steps / reach : 0.0f; }

// Integers have no NaN, so a conversion of NaN is reported: element `place` of input i of a kernel.
inline void fail_at(const Args& args, int i, int64_t place, double value) {
  args.fail(place, {static_cast<double>(i), value});
}
// Whether the inputs from `first` to `last`, ends of ranges, are numbers; reports one that is not.
inline bool has_ranges(const Args& args, int first, int last) {
  for (int i = first; i <= last; ++i)
    if (std::isnan(*args.input<float>(i))) {
      fail_at(args, i, 0, *args.input<float>(i));
      return false;
    }
  return true;
}

}  // namespace cynet

#endif
