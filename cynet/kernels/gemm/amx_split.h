// Operands of products by AMX, split in three parts.

// Extremes of split numbers, as bits: the greatest high part, the least nonzero high part less 1,
// and the greatest low part, which is NaN if there was a NaN or an infinity. All bits of low parts
// together: the last 16 are 0 but of numbers that are too small for a high part.
struct SplitExtremes {  // extremes of the numbers split so far
  __m512i maximum, least, low, bits;
  SplitExtremes()
      : maximum(_mm512_setzero_si512()),
        least(_mm512_set1_epi16(-1)),
        low(maximum),
        bits(maximum) {}
};
struct ExponentRange {  // of the numbers of a block
  int greatest, least;  // exponents, as in a float32's bits

  static ExponentRange from_extremes(const SplitExtremes& e) {
    alignas(64) uint16_t maximum[2 * LANES], least[2 * LANES];
    _mm512_store_si512(maximum, _mm512_max_epu16(e.maximum, e.low));
    _mm512_store_si512(least, e.least);
    const bool lost = _mm512_test_epi32_mask(e.bits, _mm512_set1_epi32(0xffff)) != 0;
    const uint16_t low = *std::min_element(least, least + 2 * LANES) + 1;  // 0: all are 0
    return {*std::max_element(maximum, maximum + 2 * LANES) >> 7, lost ? 0 : low ? low >> 7 : 255};
  }
  bool can_split() const { return greatest < 255 && least >= 25; }
  // True if no part, no product of two and no sum of DEPTH products can be infinite, NaN or
  // subnormal.
  bool can_multiply(const ExponentRange& other) const {
    return can_split() && other.can_split() && greatest + other.greatest <= 127 + 241 &&
           least + other.least >= 127 + 26;
  }
};

// Rounds to 8 bits, ties away from zero; a NaN gives any value.
CYNET_XINLINE __m512i round_to_8_bits(__m512 x) {
  return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)),
                          _mm512_set1_epi32(-0x10000));
}
CYNET_XINLINE __m512 subtract_part(__m512 x, __m512i part) {
  return _mm512_sub_ps(x, _mm512_castsi512_ps(part));
}
// Interleaves the lanes of x and y, which have 8 significant bits each.
CYNET_XINLINE __m512i interleave_lanes(__m512i x, __m512i y) {
  return _mm512_or_si512(_mm512_srli_epi32(x, 16), y);
}

// Splits lanes of x and y into pairs of high, middle and low parts, TILE floats apart.
CYNET_XINLINE void split_into_parts(__m512 x, __m512 y, float* to, SplitExtremes* extent) {
  const __m512i high_x = round_to_8_bits(x), high_y = round_to_8_bits(y),
                high = interleave_lanes(high_x, high_y);
  x = subtract_part(x, high_x);
  y = subtract_part(y, high_y);
  const __m512i middle_x = round_to_8_bits(x), middle_y = round_to_8_bits(y);
  const __m512i low_x = _mm512_castps_si512(subtract_part(x, middle_x));
  const __m512i low_y = _mm512_castps_si512(subtract_part(y, middle_y)),
                low = interleave_lanes(low_x, low_y);
  _mm512_store_si512(to, high);
  _mm512_store_si512(to + TILE, interleave_lanes(middle_x, middle_y));
  _mm512_store_si512(to + 2 * TILE, low);
  const __m512i signs = _mm512_set1_epi16(0x7fff);
  const __m512i magnitude = _mm512_and_si512(high, signs);
  extent->maximum = _mm512_max_epu16(extent->maximum, magnitude);
  extent->least =
      _mm512_min_epu16(extent->least, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
  extent->low = _mm512_max_epu16(extent->low, _mm512_and_si512(low, signs));
  extent->bits = _mm512_ternarylogic_epi32(extent->bits, low_x, low_y, 0xfe);  // x | y | z
}

CYNET_XINLINE __m512 load_or_zero(const float* from, int64_t n) {
  if (n >= LANES) return _mm512_loadu_ps(from);
  return n > 0 ? reinterpret_cast<__m512>(load_part(from, n)) : _mm512_setzero_ps();
}

// The memory layout of an operand's tiles. Rows of a's tiles are LINES of the sum, columns of b's
// are COLUMNS of lines, and either may be transposed.
enum TileOrder { LINES, TRANSPOSED_LINES, COLUMNS, TRANSPOSED_COLUMNS };

// Splits a block of an operand in steps that other work may interleave: `count` rows or columns of
// `depth` numbers; lines in memory are `step` apart. A row of a tile has the pairs of numbers, or
// of lines, i and 16 + i of a chunk.
struct Splitter {  // splits floats into bfloat16 tiles
  const float* from = nullptr;
  int64_t step = 0, count = 0, depth = 0;
  float* to = nullptr;
  // the next row of tiles: index in depth, in count, in the tile
  int64_t k = 0, tile = 0, row = 0;
  SplitExtremes extent;
  Vec halves[2][LANES];

  Splitter() {}
  Splitter(const float* from, int64_t step, int64_t count, int64_t depth, float* to)
      : from(from), step(step), count(count), depth(depth), to(to) {}

  int64_t tile_row_count() const {  // rows of tiles
    return (depth + CHUNK - 1) / CHUNK * ((count + SIDE - 1) / SIDE * SIDE);
  }

  // Loads a tile and transposes it.
  template <TileOrder ORDER>
  void transpose_tile() {
    const int64_t wide = std::min(SIDE, count - tile);
    for (int half = 0; half < 2; ++half) {
      const int64_t first = k + half * LANES;
      const int64_t n = std::clamp<int64_t>(depth - first, 0, LANES);
      Vec* rows = halves[half];
      const float* block =
          from + (ORDER == TRANSPOSED_LINES ? first * step + tile : tile * step + first);
      if (ORDER == TRANSPOSED_COLUMNS && n == LANES && wide == SIDE) {
        for (int64_t e = 0; e < LANES; e += 4) load_transposed_fours(block + e, step, rows + e);
        continue;
      }
      std::fill(rows, rows + LANES, Vec{});
      if (n > 0 && ORDER == TRANSPOSED_LINES) load_transposed(block, step, n, wide, rows);
      else if (n > 0) load_transposed(block, step, wide, n, rows);
    }
  }

  // Splits the next n rows of tiles.
  template <TileOrder ORDER>
  void split_rows(int64_t n) {
    SplitExtremes seen = extent;
    for (; n > 0 && k < depth; --n) {
      __m512 x, y;
      if (ORDER == LINES) {
        const float* line = from + (tile + row) * step + k;
        x = load_or_zero(line, tile + row < count ? depth - k : 0);
        y = load_or_zero(line + LANES, tile + row < count ? depth - k - LANES : 0);
      } else if (ORDER == COLUMNS) {
        const float* line = from + (k + row) * step + tile;
        x = load_or_zero(line, k + row < depth ? count - tile : 0);
        y = load_or_zero(line + LANES * step, k + row + LANES < depth ? count - tile : 0);
      } else {
        if (ORDER == TRANSPOSED_LINES) {
          // prefetch lines of the next chunk: they may lie far apart
          const float* line = from + (k + CHUNK + tile + row) * step;
          prefetch_line<false>(line);
          prefetch_line<false>(line + LANES);
        }
        if (row == 0) transpose_tile<ORDER>();
        x = reinterpret_cast<__m512>(halves[0][row]);
        y = reinterpret_cast<__m512>(halves[1][row]);
      }
      split_into_parts(x, y, to + tile / SIDE * PARTS * TILE + row * LANES, &seen);
      if (++row == SIDE) {
        row = 0;
        tile += SIDE;
        if (tile >= count) {
          tile = 0;
          k += CHUNK;
          to += STEP;
        }
      }
    }
    extent = seen;
  }

  // Splits the remaining numbers; returns the range of all.
  template <TileOrder ORDER>
  ExponentRange split_rest() {
    split_rows<ORDER>(INT64_MAX);
    return ExponentRange::from_extremes(extent);
  }
};
