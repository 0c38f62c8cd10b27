// Philox by many blocks at once: loops that compilers vectorize at each level, and chunks of work.
#ifndef CYNET_PHILOX_BLOCKS_H
#define CYNET_PHILOX_BLOCKS_H

#include <algorithm>
#include <cstdint>

#include "isa/levels.h"
#include "parallel.h"
#include "rng/philox.h"

namespace cynet {

static const int64_t CHUNK = 1024;  // elements that stay in the first cache; a multiple of 4 LANES
static const int LANES = 32;  // blocks made together: as many as compilers keep loops over

}  // namespace cynet

#define CYNET_LOOPS "rng/philox_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// work(first, count) for the chunks of n elements
template <class Work>
inline void by_chunks(int threads, int64_t n, const Work& work) {
  parallel_for(threads, (n + CHUNK - 1) / CHUNK, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * CHUNK; first < end * CHUNK; first += CHUNK)
      work(first, std::min(CHUNK, n - first));
  });
}

}  // namespace cynet

#endif
