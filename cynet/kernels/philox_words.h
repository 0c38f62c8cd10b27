// Many words of a Philox stream at once (CPU): blocks side by side, which compilers vectorise.
#ifndef CYNET_PHILOX_WORDS_H
#define CYNET_PHILOX_WORDS_H

#include <cstdint>

#include "philox.h"

namespace cynet {

// Blocks made together: so many that compilers keep the loops over them.
static const int LANES = 32;

// `count` words from word `first` (a multiple of 4) on; `out` has room for a multiple of 4 LANES.
inline void fill_words(const Philox& key, uint64_t first, int64_t count, uint32_t* out) {
  for (int64_t done = 0; done < count; done += 4 * LANES) {
    const uint64_t block = (first + done) >> 2;
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    uint32_t k0 = key.key0, k1 = key.key1;
    for (int j = 0; j < LANES; ++j) {
      c0[j] = (uint32_t)(block + j);
      c1[j] = (uint32_t)((block + j) >> 32);
      c2[j] = key.stream0;
      c3[j] = key.stream1;
    }
    for (int round = 0; round < 10; ++round) {
      for (int j = 0; j < LANES; ++j) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0[j], p1 = (uint64_t)0xCD9E8D57u * c2[j];
        c0[j] = (uint32_t)(p1 >> 32) ^ c1[j] ^ k0;
        c1[j] = (uint32_t)p1;
        c2[j] = (uint32_t)(p0 >> 32) ^ c3[j] ^ k1;
        c3[j] = (uint32_t)p0;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int j = 0; j < LANES; ++j) {
      out[done + 4 * j] = c0[j];
      out[done + 4 * j + 1] = c1[j];
      out[done + 4 * j + 2] = c2[j];
      out[done + 4 * j + 3] = c3[j];
    }
  }
}

}  // namespace cynet

#endif
