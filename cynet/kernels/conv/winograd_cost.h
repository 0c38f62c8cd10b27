// In which of its forms Winograd's algorithm runs. Included by winograd.h.
#ifndef CYNET_WINOGRAD_COST_H
#define CYNET_WINOGRAD_COST_H

#include <algorithm>
#include <cstdint>

#include "isa/levels.h"
#include "conv/winograd_sizes.h"

namespace cynet {
namespace winograd {

// Winograd's loops have one form per CPU level (winograd_plans.h) and a second one for AVX-512, by
// rows of positions. By single positions each number that is read serves two multiplications, which
// processors with two multipliers need. With one vector of filters it serves only one, and then
// small blocks of tiles, by rows, are faster.
enum { AVX512_BY_ROW = N_LEVEL };

// The form for this machine and these sizes.
inline int form_at(int level, const WinogradShape& s) {
#ifdef CYNET_X86_LEVELS
  const bool one = std::max(s.channels * s.stride * s.stride, s.filters) <= 16;
  if (level >= AVX512 && (one || multiplies_once())) return AVX512_BY_ROW;
#endif
  return level;
}

}  // namespace winograd
}  // namespace cynet

#endif
