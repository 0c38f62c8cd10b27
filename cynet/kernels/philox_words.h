// Many words of a Philox stream at once (CPU): eight blocks side by side where there is AVX2.
#ifndef CYNET_PHILOX_WORDS_H
#define CYNET_PHILOX_WORDS_H

#include <cstdint>

#include "philox.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define CYNET_PHILOX_AVX2
#include <immintrin.h>
#endif

namespace cynet {

static const int LANES = 16;  // blocks made together; fill_words may write that many beyond its end

// `count` words from word `first` (a multiple of 4) on; `out` has room for 64 more.
inline void fill_words_portable(const Philox& key, uint64_t first, int64_t count, uint32_t* out) {
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

#ifdef CYNET_PHILOX_AVX2
// Both halves of the products of eight words and a constant.
__attribute__((target("avx2"))) inline void multiply(__m256i a, __m256i constant, __m256i* high,
                                                     __m256i* low) {
  const __m256i even = _mm256_mul_epu32(a, constant);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), constant);
  *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

__attribute__((target("avx2"))) inline void fill_words_avx2(const Philox& key, uint64_t first,
                                                            int64_t count, uint32_t* out) {
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53u), m1 = _mm256_set1_epi64x(0xCD9E8D57u);
  for (int64_t done = 0; done < count; done += 32) {
    const uint64_t block = (first + done) >> 2;
    alignas(32) uint32_t low[8], high[8];
    for (int j = 0; j < 8; ++j) {
      low[j] = (uint32_t)(block + j);
      high[j] = (uint32_t)((block + j) >> 32);
    }
    __m256i c0 = _mm256_load_si256((const __m256i*)low);
    __m256i c1 = _mm256_load_si256((const __m256i*)high);
    __m256i c2 = _mm256_set1_epi32((int)key.stream0), c3 = _mm256_set1_epi32((int)key.stream1);
    uint32_t k0 = key.key0, k1 = key.key1;
    for (int round = 0; round < 10; ++round) {
      __m256i high0, low0, high1, low1;
      multiply(c0, m0, &high0, &low0);
      multiply(c2, m1, &high1, &low1);
      c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c1), _mm256_set1_epi32((int)k0));
      c1 = low1;
      c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c3), _mm256_set1_epi32((int)k1));
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const __m256i a = _mm256_unpacklo_epi32(c0, c1), b = _mm256_unpackhi_epi32(c0, c1);
    const __m256i c = _mm256_unpacklo_epi32(c2, c3), d = _mm256_unpackhi_epi32(c2, c3);
    const __m256i rows[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c),
                             _mm256_unpacklo_epi64(b, d), _mm256_unpackhi_epi64(b, d)};
    for (int j = 0; j < 4; ++j) {  // a row holds blocks j and j + 4
      _mm_storeu_si128((__m128i*)(out + done + 4 * j), _mm256_castsi256_si128(rows[j]));
      _mm_storeu_si128((__m128i*)(out + done + 16 + 4 * j), _mm256_extracti128_si256(rows[j], 1));
    }
  }
}
#endif

inline void fill_words(const Philox& key, uint64_t first, int64_t count, uint32_t* out) {
#ifdef CYNET_PHILOX_AVX2
  static const bool vectors = __builtin_cpu_supports("avx2");
  if (vectors) return fill_words_avx2(key, first, count, out);
#endif
  fill_words_portable(key, first, count, out);
}

}  // namespace cynet

#endif
