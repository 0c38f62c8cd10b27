// Matrices that are split in three parts once and multiplied often. Included by amx.h
// within its namespace.

// The layout of a packed matrix b (k, n): first the ranges of all blocks' numbers; then, for each
// slice of its depth (at most LIMIT numbers), blocks of 32 columns. A block whose numbers cannot be
// split is a panel in the layout of small_loops.h.
template <int64_t LIMIT>
struct Packing {  // layout of a packed k x n matrix
  int64_t k, n;

  int64_t chunk_count() const { return (k + CHUNK - 1) / CHUNK; }
  int64_t part_count() const { return (k + LIMIT - 1) / LIMIT; }
  int64_t block_count() const { return (n + BLOCK - 1) / BLOCK; }
  int64_t first_chunk(int64_t part) const { return part_start(chunk_count(), part, part_count()); }
  int64_t part_depth(int64_t part) const {
    return std::min(first_chunk(part + 1) * CHUNK, k) - first_chunk(part) * CHUNK;
  }
  // sizes in floats
  int64_t range_floats() const { return (part_count() * block_count() * 2 + 15) / 16 * 16; }
  int64_t total_floats() const { return range_floats() + chunk_count() * block_count() * STEP; }
  int64_t block_offset(int64_t part, int64_t block) const {
    return range_floats() + (first_chunk(part) * block_count() +
                             block * (first_chunk(part + 1) - first_chunk(part))) *
                                STEP;
  }
  ExponentRange& block_range(float* packed, int64_t part, int64_t block) const {
    return reinterpret_cast<ExponentRange*>(packed)[part * block_count() + block];
  }
  const ExponentRange& block_range(const float* packed, int64_t part, int64_t block) const {
    return reinterpret_cast<const ExponentRange*>(packed)[part * block_count() + block];
  }
};

template <int64_t LIMIT>
inline int64_t packed_size(int64_t k, int64_t n) {
  return Packing<LIMIT>{k, n}.total_floats();
}

// Copies columns of b (rows b_row floats apart), or of its transpose, to a panel.
inline void pack_panel(const float* b, int64_t b_row, bool transposed, int64_t k, int64_t column,
                       int64_t depth, int64_t columns, float* panel) {
  if (transposed) pack_transposed(b + column * b_row + k, b_row, depth, columns, 1, 0, panel);
  else pack_lines(b + k * b_row + column, b_row, depth, columns, panel);
}

template <int64_t LIMIT>
inline void pack_threaded(int threads, const float* b, int64_t b_row, bool transposed, int64_t k,
                          int64_t n, float* to) {
  const Packing<LIMIT> packing = {k, n};
  parallel_for(
      threads, packing.part_count() * packing.block_count(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t part = i / packing.block_count(), block = i % packing.block_count();
          const int64_t first = packing.first_chunk(part) * CHUNK, column = block * BLOCK;
          const int64_t depth = packing.part_depth(part), columns = std::min(BLOCK, n - column);
          float* place = to + packing.block_offset(part, block);
          Splitter s(b + (transposed ? column * b_row + first : first * b_row + column), b_row,
                     columns, depth, place);
          const ExponentRange range =
              transposed ? s.split_rest<TRANSPOSED_COLUMNS>() : s.split_rest<COLUMNS>();
          if (!range.can_split())
            pack_panel(b, b_row, transposed, first, column, depth, columns, place);
          packing.block_range(to, part, block) = range;
        }
      });
}

// Packs b by this thread alone.
template <int64_t LIMIT>
inline void pack(const float* b, int64_t b_row, bool transposed, int64_t k, int64_t n, float* to) {
  pack_threaded<LIMIT>(1, b, b_row, transposed, k, n, to);
}

// A packed block as a panel: the block itself, or in `panel` the exact sum of its parts.
inline const float* block_as_panel(const float* block, const ExponentRange& range, int64_t depth,
                                   int64_t columns, float* panel) {
  if (!range.can_split()) return block;
  const int64_t tiles = (columns + SIDE - 1) / SIDE;
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const float* row = block + k / CHUNK * STEP + tile * PARTS * TILE + k % LANES * LANES;
      const auto part = [&](int64_t i) {
        const __m512i both = _mm512_load_si512(row + i * TILE);
        return _mm512_castsi512_ps(k % CHUNK < LANES
                                       ? _mm512_slli_epi32(both, 16)
                                       : _mm512_and_si512(both, _mm512_set1_epi32(-0x10000)));
      };
      _mm512_store_ps(panel + (k * tiles + tile) * LANES,
                      _mm512_add_ps(part(0), _mm512_add_ps(part(1), part(2))));
    }
  return panel;
}
