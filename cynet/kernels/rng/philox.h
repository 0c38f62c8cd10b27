// Philox4x32-10, a counter-based random generator, and conversions of its words to numbers.
//
// The same source runs on the CPU and in CUDA kernels: a word depends only on (seed, stream,
// position), so the bytes of an array do not depend on the thread that computes a part. Counter
// words 0 and 1 are the index of a block of four words, words 2 and 3 the stream; the seed is the
// key.
//
// The layout of a stream: float i uses word i; double i uses words 2i and 2i + 1; normals come in
// pairs, from the words of both.
#ifndef CYNET_PHILOX_H
#define CYNET_PHILOX_H

#include "common/exact_math.h"

namespace cynet {

struct Philox {  // counter-based random generator
  uint32_t key0, key1, stream0, stream1;

  CYNET_XINLINE Philox(uint64_t seed, uint64_t stream)
      : key0((uint32_t)seed),
        key1((uint32_t)(seed >> 32)),
        stream0((uint32_t)stream),
        stream1((uint32_t)(stream >> 32)) {}

  // The four words of block `number`.
  CYNET_XFUNCTION void block(uint64_t number, uint32_t* words) const {  // writes four words
    uint32_t c0 = (uint32_t)number, c1 = (uint32_t)(number >> 32), c2 = stream0, c3 = stream1;
    uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
      c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
      c1 = (uint32_t)p1;
      c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
      c3 = (uint32_t)p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
  }
};

// [0, 1), multiples of 2**-24.
CYNET_XINLINE float unit_float(uint32_t word) {
  return (float)(int32_t)(word >> 8) * 5.9604644775390625e-8f;
}

// [0, 1), multiples of 2**-53.
CYNET_XINLINE double unit_double(uint32_t low, uint32_t high) {
  return (double)(int64_t)(((uint64_t)high << 32 | low) >> 11) * 1.1102230246251565e-16;
}

// unit_double without converting an integer of 64 bits, which vectors do only from AVX-512 on.
CYNET_XINLINE double unit_double_in_vector(uint32_t low, uint32_t high) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
  // the upper 52 bits as the fraction of a number in [1, 2), plus the last bit times 2^-53
  const double upper = bit_cast<double>((bits >> 1) | 0x3FF0000000000000u) - 1.0;
  return upper + bit_cast<double>((0 - (bits & 1)) & 0x3CA0000000000000u);
}

// An integer of [0, range) from 64 random bits: the upper half of their product with range.
CYNET_XINLINE uint64_t integer_below(uint32_t low, uint32_t high, uint64_t range) {
  const uint64_t r0 = (uint32_t)range, r1 = range >> 32;
  const uint64_t a = low * r0, b = low * r1, c = high * r0, d = high * r1;
  const uint64_t middle = (a >> 32) + (uint32_t)b + (uint32_t)c;
  return d + (b >> 32) + (c >> 32) + (middle >> 32);
}

// Two standard normals (Box and Muller).
CYNET_XINLINE void normal_floats(uint32_t word0, uint32_t word1, float* out0, float* out1) {
  const float half = (float)(int32_t)(word0 >> 1);  // signed, as vector instructions convert int32
  const float u = CYNET_ADD(CYNET_MUL(half, 4.6566129e-10f), 2.3283064e-10f);  // (0, 1]
  const float squared = CYNET_MUL(-2.0f, log_float(u));
  const float radius = sqrtf(squared > 0.0f ? squared : 0.0f);
  float c, s;
  cos_sin_of_word(word1, &c, &s);
  *out0 = CYNET_MUL(radius, c);
  *out1 = CYNET_MUL(radius, s);
}

CYNET_XINLINE void normal_doubles(double unit0, double unit1, double* out0, double* out1) {
  const double u = 1.0 - unit0;  // (0, 1]
  const double radius = sqrt(CYNET_MUL(-2.0, log_double(u)));
  double c, s;
  cos_sin_of_turn(unit1, &c, &s);
  *out0 = CYNET_MUL(radius, c);
  *out1 = CYNET_MUL(radius, s);
}

}  // namespace cynet

#endif
