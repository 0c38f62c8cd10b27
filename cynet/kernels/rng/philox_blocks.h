// Philox in batches of blocks: loops that compilers vectorize at each level, and chunks of work.
#ifndef CYNET_PHILOX_BLOCKS_H
#define CYNET_PHILOX_BLOCKS_H

#include <algorithm>
#include <cstdint>

#include "isa/levels.h"
#include "parallel.h"
#include "rng/philox.h"

namespace cynet {

static const int64_t CHUNK = 1024;  // elements that fit the first-level cache; 4 LANES * n
static const int LANES = 32;  // blocks computed together: too many for unrolling

}  // namespace cynet

#define CYNET_PER_ISA_FILE "rng/philox_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Calls work(first, count) for chunks of n elements.
template <class Work>
inline void for_chunks(int threads, int64_t n, const Work& work) {
  parallel_for(threads, (n + CHUNK - 1) / CHUNK, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * CHUNK; first < end * CHUNK; first += CHUNK)
      work(first, std::min(CHUNK, n - first));
  });
}

}  // namespace cynet

#endif
