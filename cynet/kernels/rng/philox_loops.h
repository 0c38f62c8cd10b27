// Random words of Philox in batches of blocks, compiled for each CPU level (levels.h).

// Computes LANES blocks of Philox, whose indices are in c0 (low words) and c1 (high words).
inline void philox_rounds(const Philox& key, uint32_t* c0, uint32_t* c1, uint32_t* c2,
                          uint32_t* c3) {
  uint32_t k0 = key.key0, k1 = key.key1;
  for (int j = 0; j < LANES; ++j) {
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
}

// The words of LANES blocks: c[w][j] is word w of block j.
struct PhiloxBlocks {
  uint32_t c[4][LANES];

  inline PhiloxBlocks(const Philox& key, uint64_t first) {
    for (int j = 0; j < LANES; ++j) {
      c[0][j] = (uint32_t)(first + j);
      c[1][j] = (uint32_t)((first + j) >> 32);
    }
    philox_rounds(key, c[0], c[1], c[2], c[3]);
  }
  inline PhiloxBlocks(const Philox& key, const uint64_t* numbers) {
    for (int j = 0; j < LANES; ++j) {
      c[0][j] = (uint32_t)numbers[j];
      c[1][j] = (uint32_t)(numbers[j] >> 32);
    }
    philox_rounds(key, c[0], c[1], c[2], c[3]);
  }
  // Uniforms in [0, 1) from words 0 and 1, and from words 2 and 3
  inline double first_uniform(int j) const { return unit_double_in_vector(c[0][j], c[1][j]); }
  inline double second_uniform(int j) const { return unit_double_in_vector(c[2][j], c[3][j]); }
  inline double uniform(int j) const { return 1.0 - first_uniform(j); }  // (0, 1]
};

// Calls make(block, to) for pieces of LANES blocks of `width` elements; the last piece is copied.
template <int width, typename C, class Make>
inline void for_pieces(int64_t first, int64_t n, C* out, const Make& make) {
  const int in_block = width / LANES;
  int64_t at = 0;
  for (; at + width <= n; at += width) make((uint64_t)(first + at) / in_block, out + at);
  if (at == n) return;
  C last[width];
  make((uint64_t)(first + at) / in_block, last);
  for (int64_t i = at; i < n; ++i) out[i] = last[i - at];
}
