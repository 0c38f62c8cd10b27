// Philox4x32-10, a counter-based random generator, and conversions of its words to numbers.
//
// The same source runs on the CPU and in CUDA kernels: a word depends on (seed, stream, position)
// alone, so the bytes of an array do not depend on who computed which part. Counter words 0 and 1
// are the number of a block of four words, words 2 and 3 the stream; the key is the seed.
//
// Layout every user keeps to: float element i of a stream is made of word i; double element i of
// words 2i and 2i + 1; normals come in pairs from the words of both.
#ifndef CYNET_PHILOX_H
#define CYNET_PHILOX_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define CYNET_RNG __host__ __device__ inline
#else
#define CYNET_RNG inline
#endif

// Rounded separately even where the compiler could fuse: the CPU's and the GPU's bytes have to
// agree.
#if defined(__CUDA_ARCH__)
namespace cynet {
__device__ inline float product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double product(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float total(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double total(double a, double b) { return __dadd_rn(a, b); }
}  // namespace cynet
#define CYNET_MUL(a, b) cynet::product(a, b)
#define CYNET_ADD(a, b) cynet::total(a, b)
#else
#define CYNET_MUL(a, b) ((a) * (b))
#define CYNET_ADD(a, b) ((a) + (b))
#endif

namespace cynet {

struct Philox {
  uint32_t key0, key1, stream0, stream1;

  CYNET_RNG Philox(uint64_t seed, uint64_t stream)
      : key0((uint32_t)seed), key1((uint32_t)(seed >> 32)),
        stream0((uint32_t)stream), stream1((uint32_t)(stream >> 32)) {}

  // The four words of block `number`.
  CYNET_RNG void block(uint64_t number, uint32_t* words) const {
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
    words[0] = c0; words[1] = c1; words[2] = c2; words[3] = c3;
  }
};

// [0, 1), multiples of 2**-24.
CYNET_RNG float unit_float(uint32_t word) {
  return (float)(int32_t)(word >> 8) * 5.9604644775390625e-8f;
}

// [0, 1), multiples of 2**-53.
CYNET_RNG double unit_double(uint32_t low, uint32_t high) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
  return (double)bits * 1.1102230246251565e-16;
}

// [0, range) from 64 random bits: the upper half of their product.
CYNET_RNG uint64_t below(uint32_t low, uint32_t high, uint64_t range) {
  const uint64_t r0 = (uint32_t)range, r1 = range >> 32;
  const uint64_t a = low * r0, b = low * r1, c = high * r0, d = high * r1;
  const uint64_t middle = (a >> 32) + (uint32_t)b + (uint32_t)c;
  return d + (b >> 32) + (c >> 32) + (middle >> 32);
}

// Natural logarithm of a normal float, by log m = 2 atanh((m - 1) / (m + 1)) with m in [0.7, 1.42).
CYNET_RNG float log_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const int32_t exponent = (int32_t)(bits - 0x3F3504F3u) >> 23;  // of m in [sqrt(1/2), sqrt(2))
  bits -= (uint32_t)exponent << 23;
  float m;
  memcpy(&m, &bits, 4);
  const float s = (m - 1.0f) / (m + 1.0f), q = CYNET_MUL(s, s);
  float p = 0.22222222f;
  p = CYNET_ADD(CYNET_MUL(p, q), 0.28571430f);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.4f);
  p = CYNET_ADD(CYNET_MUL(p, q), 0.66666667f);
  p = CYNET_ADD(CYNET_MUL(p, q), 2.0f);
  return CYNET_ADD(CYNET_MUL((float)exponent, 0.69314718f), CYNET_MUL(p, s));
}

// Cosine and sine of a whole turn times word / 2**32.
CYNET_RNG void cos_sin(uint32_t word, float* cosine, float* sine) {
  const uint32_t quarter = (word + 0x20000000u) >> 30;
  const float angle = CYNET_MUL((float)(int32_t)(word - (quarter << 30)), 1.4629180792671596e-9f);
  const float q = CYNET_MUL(angle, angle);
  float s = 2.7557319e-6f;
  s = CYNET_ADD(CYNET_MUL(s, q), -1.9841270e-4f);
  s = CYNET_ADD(CYNET_MUL(s, q), 8.3333333e-3f);
  s = CYNET_ADD(CYNET_MUL(s, q), -1.6666667e-1f);
  s = CYNET_ADD(CYNET_MUL(CYNET_MUL(s, q), angle), angle);
  float c = 2.4801587e-5f;
  c = CYNET_ADD(CYNET_MUL(c, q), -1.3888889e-3f);
  c = CYNET_ADD(CYNET_MUL(c, q), 4.1666667e-2f);
  c = CYNET_ADD(CYNET_MUL(c, q), -0.5f);
  c = CYNET_ADD(CYNET_MUL(c, q), 1.0f);
  const float a = (quarter & 1) ? s : c, b = (quarter & 1) ? c : s;
  *cosine = ((quarter + 1) & 2) ? -a : a;
  *sine = (quarter & 2) ? -b : b;
}

// Two standard normals (Box and Muller).
CYNET_RNG void normal_floats(uint32_t word0, uint32_t word1, float* out0, float* out1) {
  const float half = (float)(int32_t)(word0 >> 1);  // signed: what vectors can convert
  const float u = CYNET_ADD(CYNET_MUL(half, 4.6566129e-10f), 2.3283064e-10f);  // (0, 1]
  const float squared = CYNET_MUL(-2.0f, log_float(u));
  const float radius = sqrtf(squared > 0.0f ? squared : 0.0f);
  float c, s;
  cos_sin(word1, &c, &s);
  *out0 = CYNET_MUL(radius, c);
  *out1 = CYNET_MUL(radius, s);
}

CYNET_RNG void normal_doubles(const uint32_t* words, double* out0, double* out1) {
  const double u = 1.0 - unit_double(words[0], words[1]);  // (0, 1]
  const double radius = sqrt(-2.0 * log(u));
  const double angle = 6.283185307179586 * unit_double(words[2], words[3]);
  *out0 = radius * cos(angle);
  *out1 = radius * sin(angle);
}

}  // namespace cynet

#endif
