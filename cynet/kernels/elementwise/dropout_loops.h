// The loops of dropout.h, compiled for each level (levels.h), after philox_loops.h.

// keep[i] = (random number i after block `first`) >= limit; n <= CHUNK.
static void draw_mask(const Philox& key, int64_t first, float limit, bool* keep, int64_t n) {
  for_pieces<4 * LANES>(4 * first, n, keep, [&](uint64_t block, bool* to) {
    const PhiloxBlocks words(key, block);
    uint32_t fours[LANES];  // four bytes each, in the order of memory
    for (int j = 0; j < LANES; ++j) {
      uint32_t four = 0;
      for (int w = 0; w < 4; ++w)
        four |= static_cast<uint32_t>(unit_float(words.c[w][j]) >= limit) << BYTE_SHIFT[w];
      fours[j] = four;
    }
    std::memcpy(to, fours, sizeof fours);
  });
}

// value if mask is 1, else 0, by bit operations: a branch would be mispredicted half of the time.
CYNET_XINLINE float value_or_zero(float value, uint8_t mask) {
  return bit_cast<float>(bit_cast<uint32_t>(value) & (0u - mask));
}
CYNET_XINLINE double value_or_zero(double value, uint8_t mask) {
  return bit_cast<double>(bit_cast<uint64_t>(value) & (uint64_t{0} - mask));
}

template <typename T>
static void apply_mask(const T* x, const bool* keep, T scale, T* y, int64_t n, bool add) {
  const uint8_t* mask = reinterpret_cast<const uint8_t*>(keep);
  if (add) {
    for (int64_t i = 0; i < n; ++i) y[i] += value_or_zero(x[i] * scale, mask[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = value_or_zero(x[i] * scale, mask[i]);
  }
}

template <typename T>
static void scale_by_mask(const bool* keep, T scale, T* factor, T* x, int64_t n) {
  const uint8_t* mask = reinterpret_cast<const uint8_t*>(keep);
  for (int64_t i = 0; i < n; ++i) factor[i] = value_or_zero(scale, mask[i]);
  for (int64_t i = 0; i < n; ++i) x[i] *= factor[i];
}
