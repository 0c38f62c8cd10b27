// Random numbers: element i of a stream is made of the same words of Philox as on the CPU, so the
// bytes are the same (docs/architecture/storage.md).
#include "common.cuh"
#include "philox.h"

typedef unsigned long long Word;

__device__ inline uint32_t word(const cynet::Philox& key, Index i) {
  uint32_t words[4];
  key.block(static_cast<uint64_t>(i) / 4, words);
  return words[i & 3];
}

// [0, 1): float i of word i
extern "C" __global__ void uniform_float(float* out, Index n, Word seed, Word stream) {
  const cynet::Philox key(seed, stream);
  CYNET_EACH(i, n) out[i] = cynet::unit_float(word(key, i));
}

// [0, 1): double i of words 2i and 2i + 1
extern "C" __global__ void uniform_double(double* out, Index n, Word seed, Word stream) {
  const cynet::Philox key(seed, stream);
  CYNET_EACH(i, n) out[i] = cynet::unit_double(word(key, 2 * i), word(key, 2 * i + 1));
}

// Standard normals, a pair of words 2j and 2j + 1.
extern "C" __global__ void normal_float(float* out, Index n, Word seed, Word stream) {
  const cynet::Philox key(seed, stream);
  CYNET_EACH(j, (n + 1) / 2) {
    float first, second;
    cynet::normal_floats(word(key, 2 * j), word(key, 2 * j + 1), &first, &second);
    out[2 * j] = first;
    if (2 * j + 1 < n) out[2 * j + 1] = second;
  }
}

// y (+)= x * scale where element i of the stream is at least p, else 0; `keep` remembers which
template <typename T>
__global__ void dropout(const T* x, T* y, bool* keep, Index n, double p, double scale, Word seed,
                        Word stream, int add) {
  const cynet::Philox key(seed, stream);
  const float limit = static_cast<float>(p);
  CYNET_EACH(i, n) {
    const bool kept = cynet::unit_float(word(key, i)) >= limit;
    const computed<T> value = kept ? load(x, i) * static_cast<computed<T>>(scale) : computed<T>(0);
    keep[i] = kept;
    put(y, i, value, add);
  }
}
