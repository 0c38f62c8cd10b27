// Which square windows Winograd's products take, and into what they cut them. Included by
// winograd.h and by products.h, which weighs its own way against that one.
#ifndef CYNET_WINOGRAD_SIZES_H
#define CYNET_WINOGRAD_SIZES_H

#include <cstdint>

namespace cynet {
namespace winograd {

constexpr int64_t MOST_KERNEL = 8;  // loops hold a window of so many rows

// Taps in a direction that a phase of the image has, and outputs of a tile.
inline int64_t taps_of(int64_t kernel, int64_t stride) { return (kernel + stride - 1) / stride; }
inline int64_t side_of(int64_t taps) { return taps == 2 ? 4 : 7 - taps; }

inline bool knows(int64_t kernel, int64_t stride) {
  const int64_t taps = taps_of(kernel, stride);
  return (stride == 1 || (stride == 2 && kernel > 2)) && taps > 1 && taps < 6 &&
         kernel <= MOST_KERNEL;
}

}  // namespace winograd
}  // namespace cynet

#endif
