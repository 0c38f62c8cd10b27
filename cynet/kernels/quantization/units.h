// What one step of an array of 8 bits counts for: its range, symmetric around 0, by how many steps
// there are on one side of it.
#ifndef CYNET_QUANTIZATION_UNITS_H
#define CYNET_QUANTIZATION_UNITS_H

#include <algorithm>
#include <cmath>

#include "isa/kernel_table.h"

namespace cynet {

// MXNet 1.9.1 counts half a step more where it converts to or from floats than where it converts
// between integers.
inline float steps_between_integers(int dtype) { return dtype == U8 ? 255.0f : 127.0f; }
inline float steps_of_floats(int dtype) { return dtype == U8 ? 255.5f : 127.5f; }

inline float reach(float low, float high) { return std::max(std::fabs(low), std::fabs(high)); }

// What an element is to be multiplied by; 0 where the range is.
inline float per_unit(float steps, float reach) { return reach > 0 ? steps / reach : 0.0f; }

}  // namespace cynet

#endif
