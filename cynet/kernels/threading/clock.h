// A monotonic clock in nanoseconds.
#ifndef CYNET_CLOCK_H
#define CYNET_CLOCK_H

#include <chrono>
#include <cstdint>

namespace cynet {

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace cynet

#endif
