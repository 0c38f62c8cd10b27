// Products of float32 matrices by AMX, whose tiles multiply numbers of 8 bits (bfloat16) and add in
// float32; after the loops of small_loops.h. Included by small.h.
//
// A float32 is the sum of three such numbers, high + middle + low, exactly (Henry, Tang and
// Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations", 2019). Of the nine products of the parts of two of them six are added up; the
// other three are at most 2^-25 of the whole, which is less than the rounding of a float32 sum.
// That needs numbers whose parts and products neither overflow nor, since AMX takes subnormal
// numbers for 0, underflow. What is outside of that range, infinities and NaN among it, is found
// while the parts are made, and its block of the result is multiplied by the loops for AVX-512.
#ifdef CYNET_AMX

#ifdef __clang__
#define CYNET_TARGET "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-bf16"
#pragma clang attribute push(__attribute__((target(CYNET_TARGET))), apply_to = function)
#undef CYNET_TARGET
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#pragma GCC target("amx-tile,amx-bf16")
#endif

namespace cynet {
namespace amx {

using namespace cynet::products;
using namespace cynet::avx512;

constexpr int64_t SIDE = 16;  // rows of a tile
constexpr int64_t CHUNK = 32;  // numbers in a row of a tile
constexpr int64_t BLOCK = 32;  // rows, and columns, of a block of the result: 4 tiles
constexpr int64_t DEPTH = 1024;  // terms of a partial sum
constexpr int64_t STRIP = 1 << 17;  // numbers of an operand that are split together
constexpr int64_t PARTS = 3;  // bfloat16 parts that a float32 is split into
constexpr int64_t TILE = SIDE * CHUNK / 2;  // floats of a tile's bytes
constexpr int64_t STEP = BLOCK / SIDE * PARTS * TILE;  // floats of a chunk's tiles (3 parts each)
constexpr int64_t SPLIT_A = DEPTH / CHUNK * STEP, SPLIT_B = STRIP / (BLOCK * CHUNK) * STEP;
// Lines of the operands are prefetched this far ahead.
constexpr int64_t PREFETCH_FLOATS = 32 * TILE;  // floats ahead of the reads
constexpr int64_t WIDE_PANEL = DEPTH * BLOCK;  // numbers of a panel of b, not packed
constexpr int64_t SCRATCH_FLOATS = 2 * SPLIT_A + SPLIT_B + WIDE_PANEL + FLOATS_APART;

#include "gemm/amx_split.h"
#include "gemm/amx_prepacked.h"

// Writes a block of sums to the result, row by row.
struct BlockWriter {  // writes a block of sums row by row
  const TileJob* job = nullptr;
  const float* sums = nullptr;
  float* c = nullptr;
  const float* bias = nullptr;
  int64_t rows = 0, columns = 0, row = 0;

  void write_rows(int64_t n) {
    for (; n > 0 && row < rows; --n, ++row)
      for (int64_t j = 0; j < columns; j += LANES) {
        float* to = c + row * job->c_row + j;
        write_sums(*job, load(sums + row * BLOCK + j), to, bias ? bias + j : nullptr,
                   job->mask ? job->mask + (to - job->masked) : nullptr, columns - j);
      }
  }
};

// The AMX tile configuration of a thread: all tiles have full size. Other code may have changed it.
struct Tiles {  // sets the AMX tile configuration
  Tiles() {
    struct __attribute__((packed)) {  // AMX tile configuration
      uint8_t palette, start, reserved[14];
      uint16_t bytes[16];
      uint8_t rows[16];
    } config = {1, 0, {}, {}, {}};
    for (int i = 0; i < 8; ++i) {
      config.bytes[i] = 64;
      config.rows[i] = SIDE;
    }
    _tile_loadconfig(&config);
  }
  ~Tiles() { _tile_release(); }
};

// The product of R x C tiles, summed over `chunks` of the inner axis, to 32 x 32 floats. After each
// four tile products comes work(): they take 64 cycles, in which the processor can do other things.
template <int R, int C, class Work>
inline void multiply_tiles(const float* a, const float* b, int64_t chunks, float* sums,
                           const Work& work) {
  asm volatile("" ::: "memory");
  _tile_zero(0);
  if (C > 1) _tile_zero(1);
  if (R > 1) _tile_zero(2);
  if (R > 1 && C > 1) _tile_zero(3);
#define CYNET_LOAD_ROWS(part)            \
  _tile_loadd(4, a + (part) * TILE, 64); \
  if (R > 1) _tile_loadd(5, a + (PARTS + (part)) * TILE, 64);
#define CYNET_LOAD_COLUMNS(part)         \
  _tile_loadd(6, b + (part) * TILE, 64); \
  if (C > 1) _tile_loadd(7, b + (PARTS + (part)) * TILE, 64);
#define CYNET_ADD_PRODUCTS                     \
  _tile_dpbf16ps(0, 4, 6);                     \
  if (C > 1) _tile_dpbf16ps(1, 4, 7);          \
  if (R > 1) _tile_dpbf16ps(2, 5, 6);          \
  if (R > 1 && C > 1) _tile_dpbf16ps(3, 5, 7); \
  work();
  for (int64_t i = 0; i < chunks; ++i, a += STEP, b += STEP) {
    // clang-format off
    CYNET_LOAD_ROWS(0) CYNET_LOAD_COLUMNS(2) CYNET_ADD_PRODUCTS
    CYNET_LOAD_COLUMNS(0) CYNET_ADD_PRODUCTS
    CYNET_LOAD_ROWS(2) CYNET_ADD_PRODUCTS
    CYNET_LOAD_ROWS(1) CYNET_ADD_PRODUCTS
    CYNET_LOAD_COLUMNS(1) CYNET_ADD_PRODUCTS
    CYNET_LOAD_ROWS(0) CYNET_ADD_PRODUCTS
    // clang-format on
  }
#undef CYNET_ADD_PRODUCTS
#undef CYNET_LOAD_COLUMNS
#undef CYNET_LOAD_ROWS
  _tile_stored(0, sums, 4 * BLOCK);
  if (C > 1) _tile_stored(1, sums + SIDE, 4 * BLOCK);
  if (R > 1) _tile_stored(2, sums + SIDE * BLOCK, 4 * BLOCK);
  if (R > 1 && C > 1) _tile_stored(3, sums + SIDE * BLOCK + SIDE, 4 * BLOCK);
  asm volatile("" ::: "memory");
}

// Sums a block with only the tiles that its size needs.
template <class Work>
inline void sum_block(const float* a, const float* b, int64_t rows, int64_t columns, int64_t chunks,
                      float* sums, const Work& work) {
  if (rows > SIDE && columns > SIDE) multiply_tiles<2, 2>(a, b, chunks, sums, work);
  else if (rows > SIDE) multiply_tiles<2, 1>(a, b, chunks, sums, work);
  else if (columns > SIDE) multiply_tiles<1, 2>(a, b, chunks, sums, work);
  else multiply_tiles<1, 1>(a, b, chunks, sums, work);
}

// Sums of the `rows` rows of a transposed a.
inline void sum_rows_of_a(const TileJob& job, int64_t rows) {
  for (int64_t r = 0; r < rows; r += LANES) {
    const int64_t n = std::min<int64_t>(LANES, rows - r);
    Vec sum = {};
    for (int64_t k = 0; k < job.depth; ++k)
      sum += reinterpret_cast<Vec>(load_or_zero(job.a + k * job.step + r, n));
    if (job.add_sums) sum += load_part(job.sums + r, n);
    store_part(job.sums + r, sum, n);
  }
}

// The grid of an m x n result: threads divide its blocks.
inline ThreadGrid thread_grid(int64_t m, int64_t n, int threads, bool b_shared) {
  const int64_t rows = (m + BLOCK - 1) / BLOCK;
  ThreadGrid grid(threads, m, n, (n + BLOCK - 1) / BLOCK, rows);
  if (b_shared && rows >= threads) grid.rows = threads, grid.columns = 1;
  return grid;
}

// One operand of a part of the result: its address and its range of rows or columns.
struct ProductOperand {  // an operand and its range of blocks
  const float* from;  // NULL if `packed` is not
  int64_t step, across, along;  // strides: line to line, across lines, along the sum
  IndexRange range;
  const float* packed = nullptr;  // b in a Packing
  Packing<DEPTH> packing = {0, 0};

  int64_t block_count() const { return (range.end - range.begin + BLOCK - 1) / BLOCK; }
  Splitter splitter(int64_t first, int64_t k, int64_t depth, float* to) const {
    return Splitter(from + first * across + k * along, step, std::min(BLOCK, range.end - first),
                    depth, to);
  }
};

// Computes a part of the result. One operand is split as a whole, or STRIP of it, or has been; of
// the other one (a, where OUTER is of lines) a block is split while the block before is multiplied
// by all of those.
template <TileOrder OUTER, TileOrder INNER>
inline void multiply_part(const Product& p, const ProductOperand& outer,
                          const ProductOperand& inner, float* space) {
  constexpr bool BY_ROWS = OUTER == LINES || OUTER == TRANSPOSED_LINES;
  float* const blocks[2] = {space, space + SPLIT_A};
  float *split = space + 2 * SPLIT_A, *panel = split + SPLIT_B;
  ExponentRange ranges[STRIP / BLOCK / CHUNK];
  alignas(64) float sums[2][BLOCK * BLOCK];
  const int64_t all = (p.k + CHUNK - 1) / CHUNK, parts = (p.k + DEPTH - 1) / DEPTH;
  const int64_t strip = STRIP / ((all + parts - 1) / parts * CHUNK) / BLOCK * BLOCK;
  for (int64_t left = inner.range.begin; left < inner.range.end; left += strip)
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t right = std::min(left + strip, inner.range.end);
      const int64_t k = part_start(all, i, parts) * CHUNK;
      const int64_t depth = std::min(part_start(all, i + 1, parts) * CHUNK, p.k) - k;
      const int64_t chunks = (depth + CHUNK - 1) / CHUNK;
      const bool ends = i + 1 == parts;
      TileJob job = {nullptr, p.a_row, depth, p.c_row, p.relu && ends, p.add || i > 0};
      job.mask = ends ? p.mask : nullptr, job.masked = p.c;
      const float* const blocks_in =
          inner.packed ? inner.packed + inner.packing.block_offset(i, left / BLOCK) : split;
      for (int64_t at = left; at < right; at += BLOCK)
        ranges[(at - left) / BLOCK] =
            inner.packed ? inner.packing.block_range(inner.packed, i, at / BLOCK)
                         : inner.splitter(at, k, depth, split + (at - left) / BLOCK * chunks * STEP)
                               .template split_rest<INNER>();
      const int64_t calls = (right - left + BLOCK - 1) / BLOCK * chunks * 6;
      BlockWriter finisher;
      Splitter next = outer.splitter(outer.range.begin, k, depth, blocks[0]);
      int turn = 0, buffer = 0;
      for (int64_t first = outer.range.begin; first < outer.range.end; first += BLOCK) {
        const ExponentRange range = next.template split_rest<OUTER>();
        const float* block = blocks[turn];
        turn = 1 - turn;
        next = first + BLOCK < outer.range.end
                   ? outer.splitter(first + BLOCK, k, depth, blocks[turn])
                   : Splitter();
        const int64_t each = (next.tile_row_count() + calls - 1) / calls;
        for (int64_t at = left; at < right; at += BLOCK) {
          const int64_t row = BY_ROWS ? first : at, column = BY_ROWS ? at : first;
          const int64_t rows = std::min(BLOCK, (BY_ROWS ? outer.range.end : right) - row);
          const int64_t columns = std::min(BLOCK, (BY_ROWS ? right : outer.range.end) - column);
          float* c = p.c + row * p.c_row + column;
          const float* bias = p.bias && i == 0 ? p.bias + column : nullptr;
          const float* other = blocks_in + (at - left) / BLOCK * chunks * STEP;
          const ExponentRange& others = ranges[(at - left) / BLOCK];
          if (!range.can_multiply(others)) {
            const float* b = panel;
            if (inner.packed) b = block_as_panel(other, others, depth, columns, panel);
            else pack_panel(p.b, p.b_row, p.b_transposed, k, column, depth, columns, panel);
            TileJob own = job;
            own.a = p.a + (p.a_transposed ? k * p.a_row + row : row * p.a_row + k);
            const TermOffsets term = {0, 0};
            (p.a_transposed ? &compute_rows<false> : &compute_rows<true>)(own, b, columns,
                                                                          {0, 0, 1}, &term, c, bias,
                                                                          0, rows);
            continue;
          }
          const int64_t finished = (BLOCK + 6 * chunks - 1) / (6 * chunks);
          // prefetches a packed operand's next lines: `work` runs six times a chunk of six tiles
          const bool streams = inner.packed && first == outer.range.begin;
          const float* ahead = other + PREFETCH_FLOATS;
          const auto work = [&] {
            finisher.write_rows(finished);
            next.template split_rows<OUTER>(each);
            if (!streams) return;
            for (int64_t line = 0; line < TILE; line += LANES) prefetch_line<false>(ahead + line);
            ahead += TILE;
          };
          for (int64_t r = 0; r < rows; ++r)  // the lines of the result are prefetched meanwhile
            for (int64_t j = 0; j < columns; j += LANES) prefetch_line<true>(c + r * p.c_row + j);
          const float *a = BY_ROWS ? block : other, *b = BY_ROWS ? other : block;
          sum_block(a, b, rows, columns, chunks, sums[buffer], work);
          finisher.write_rows(BLOCK);
          finisher = {&job, sums[buffer], c, bias, rows, columns};
          buffer = 1 - buffer;
        }
      }
      finisher.write_rows(BLOCK);
    }
}

inline void multiply(const Product& p, int threads, float* space) {
  const ThreadGrid grid = thread_grid(p.m, p.n, threads, p.b_shared);
  for_parts(grid.part_count(), [&](int64_t part) {
    const Tiles tiles;
    const auto own = [](int64_t n, int64_t i, int64_t of) {
      const int64_t blocks = (n + BLOCK - 1) / BLOCK;
      return IndexRange{part_start(blocks, i, of) * BLOCK,
                        std::min(part_start(blocks, i + 1, of) * BLOCK, n)};
    };
    ProductOperand a = {p.a, p.a_row, p.a_transposed ? 1 : p.a_row, p.a_transposed ? p.a_row : 1,
                        own(p.m, part / grid.columns, grid.rows)};
    ProductOperand b = {p.b, p.b_row, p.b_transposed ? p.b_row : 1, p.b_transposed ? 1 : p.b_row,
                        own(p.n, part % grid.columns, grid.columns)};
    b.packed = p.packed;
    b.packing = {p.k, p.n};
    if (p.sums && b.range.begin == 0) {
      TileJob job = {p.a + a.range.begin, p.a_row, p.k, p.c_row, false, false};
      job.sums = p.sums + a.range.begin;
      job.add_sums = p.add_sums;
      sum_rows_of_a(job, a.range.end - a.range.begin);
    }
    const auto run = [&](auto rows, auto columns) {
      if (p.packed || a.block_count() >= b.block_count())
        multiply_part<rows.value, columns.value>(p, a, b, space + part * SCRATCH_FLOATS);
      else multiply_part<columns.value, rows.value>(p, b, a, space + part * SCRATCH_FLOATS);
    };
    const auto by_columns = [&](auto rows) {
      if (p.b_transposed) run(rows, std::integral_constant<TileOrder, TRANSPOSED_COLUMNS>());
      else run(rows, std::integral_constant<TileOrder, COLUMNS>());
    };
    if (p.a_transposed) by_columns(std::integral_constant<TileOrder, TRANSPOSED_LINES>());
    else by_columns(std::integral_constant<TileOrder, LINES>());
  });
}

// c = a b, or c += a b where `add`: a (m, k), b (k, n) packed with PACKED_DEPTH.
constexpr int64_t PACKED_DEPTH = 256;  // terms of a sum before it is added to c

inline void multiply_packed(const float* a, int64_t a_row, int64_t m, const float* packed,
                            int64_t k, int64_t n, float* c, int64_t c_row, bool add) {
  const Tiles tiles;
  const Packing<PACKED_DEPTH> packing = {k, n};
  alignas(64) float split[PACKED_DEPTH / CHUNK * STEP], sums[2][BLOCK * BLOCK];
  alignas(64) float panel[PACKED_DEPTH * BLOCK];
  for (int64_t row = 0; row < m; row += BLOCK) {
    const int64_t rows = std::min(BLOCK, m - row);
    for (int64_t part = 0; part < packing.part_count(); ++part) {
      const int64_t first = packing.first_chunk(part) * CHUNK, depth = packing.part_depth(part);
      const int64_t chunks = (depth + CHUNK - 1) / CHUNK;
      const TileJob job = {a + row * a_row + first, a_row, depth, c_row, false, add || part > 0};
      const ExponentRange own = Splitter(job.a, a_row, rows, depth, split).split_rest<LINES>();
      const int64_t finished = (BLOCK + 6 * chunks - 1) / (6 * chunks);
      BlockWriter finisher;
      int buffer = 0;
      for (int64_t j = 0; j < n; j += BLOCK) {
        const int64_t columns = std::min(BLOCK, n - j);
        const float* block = packed + packing.block_offset(part, j / BLOCK);
        const ExponentRange& range = packing.block_range(packed, part, j / BLOCK);
        float* to = c + row * c_row + j;
        if (!own.can_multiply(range)) {
          const TermOffsets term = {0, 0};
          compute_rows<true>(job, block_as_panel(block, range, depth, columns, panel), columns,
                             {0, 0, 1}, &term, to, nullptr, 0, rows);
          continue;
        }
        const auto work = [&] { finisher.write_rows(finished); };
        sum_block(split, block, rows, columns, chunks, sums[buffer], work);
        finisher.write_rows(BLOCK);
        finisher = {&job, sums[buffer], to, nullptr, rows, columns};
        buffer = 1 - buffer;
      }
      finisher.write_rows(BLOCK);
    }
  }
}

}  // namespace amx
}  // namespace cynet

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
