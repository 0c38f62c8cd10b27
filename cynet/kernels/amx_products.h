// Products of float32 matrices by AMX, whose tiles multiply numbers of 8 bits (bfloat16) and add in
// float32; after the loops of products_loops.h. Included by products.h.
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

constexpr int64_t SIDE = 16;    // rows of a tile
constexpr int64_t CHUNK = 32;   // numbers in one of its rows
constexpr int64_t BLOCK = 32;   // rows and columns of the result that are summed at a time: 4 tiles
constexpr int64_t DEPTH = 1024;     // of the sum at a time
constexpr int64_t STRIP = 1 << 17;  // numbers of an operand that are split at a time
constexpr int64_t PARTS = 3;
constexpr int64_t TILE = SIDE * CHUNK / 2;           // floats of a tile's bytes
constexpr int64_t STEP = BLOCK / SIDE * PARTS * TILE;  // of a chunk: its tiles, each of three parts
constexpr int64_t SPLIT_A = DEPTH / CHUNK * STEP, SPLIT_B = STRIP / (BLOCK * CHUNK) * STEP;
constexpr int64_t WIDE_PANEL = DEPTH * BLOCK;  // of b as it is
constexpr int64_t SCRATCH = 2 * SPLIT_A + SPLIT_B + WIDE_PANEL + FLOATS_APART;  // floats a thread

// Of numbers that were split: bits of the greatest and of the least high part that is not 0, the
// latter less 1, and of the greatest low part, which is NaN if there was a NaN or an infinity, or if
// a high part became one. All bits of low parts together: the last 16 are 0 but of numbers that are
// too small for a high part.
struct Extent {
  __m512i most, least, low, bits;
  Extent()
      : most(_mm512_setzero_si512()), least(_mm512_set1_epi16(-1)), low(most), bits(most) {}
};
struct Range {
  int greatest, least;  // exponents, as in a float32's bits

  static Range of(const Extent& e) {
    alignas(64) uint16_t most[2 * LANES], least[2 * LANES];
    _mm512_store_si512(most, _mm512_max_epu16(e.most, e.low));
    _mm512_store_si512(least, e.least);
    const bool lost = _mm512_test_epi32_mask(e.bits, _mm512_set1_epi32(0xffff)) != 0;
    const uint16_t low = *std::min_element(least, least + 2 * LANES) + 1;  // 0: all are 0
    return {*std::max_element(most, most + 2 * LANES) >> 7, lost ? 0 : low ? low >> 7 : 255};
  }
  // Whether no part of these and of others, no product of parts that is added, and no sum of DEPTH
  // of them is infinite, NaN or below the least normal number.
  bool multiplies(const Range& other) const {
    return greatest < 255 && other.greatest < 255 && greatest + other.greatest <= 127 + 241 &&
           least >= 25 && other.least >= 25 && least + other.least >= 127 + 26;
  }
};

// The number of 8 bits that is nearest, upwards in magnitude from half way; of a NaN anything.
CYNET_XINLINE __m512i nearest(__m512 x) {
  return _mm512_and_si512(
      _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)),
      _mm512_set1_epi32(-0x10000));
}
CYNET_XINLINE __m512 less(__m512 x, __m512i part) {
  return _mm512_sub_ps(x, _mm512_castsi512_ps(part));
}
// Lanes of x and y, of 8 bits each, in turn.
CYNET_XINLINE __m512i pairs(__m512i x, __m512i y) {
  return _mm512_or_si512(_mm512_srli_epi32(x, 16), y);
}

// Lanes of x and y as pairs of high, middle and low parts, TILE floats apart.
CYNET_XINLINE void split(__m512 x, __m512 y, float* to, Extent* extent) {
  const __m512i high_x = nearest(x), high_y = nearest(y), high = pairs(high_x, high_y);
  x = less(x, high_x);
  y = less(y, high_y);
  const __m512i middle_x = nearest(x), middle_y = nearest(y);
  const __m512i low_x = _mm512_castps_si512(less(x, middle_x));
  const __m512i low_y = _mm512_castps_si512(less(y, middle_y)), low = pairs(low_x, low_y);
  _mm512_store_si512(to, high);
  _mm512_store_si512(to + TILE, pairs(middle_x, middle_y));
  _mm512_store_si512(to + 2 * TILE, low);
  const __m512i signs = _mm512_set1_epi16(0x7fff);
  const __m512i magnitude = _mm512_and_si512(high, signs);
  extent->most = _mm512_max_epu16(extent->most, magnitude);
  extent->least =
      _mm512_min_epu16(extent->least, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
  extent->low = _mm512_max_epu16(extent->low, _mm512_and_si512(low, signs));
  extent->bits = _mm512_ternarylogic_epi32(extent->bits, low_x, low_y, 0xfe);  // or
}

CYNET_XINLINE __m512 some(const float* from, int64_t n) {
  if (n >= LANES) return _mm512_loadu_ps(from);
  return n > 0 ? reinterpret_cast<__m512>(load_part(from, n)) : _mm512_setzero_ps();
}

// How an operand's tiles lie in memory. Rows of a's tiles are LINES of the sum, columns of b's are
// COLUMNS of lines, and either may be turned.
enum Order { LINES, TURNED_LINES, COLUMNS, TURNED_COLUMNS };

// Splits a block of an operand step by step, between other things: `count` of its rows or columns
// of `depth` numbers, whose lines in memory are `step` apart. A row of a tile has the pairs of
// numbers, or of lines, i and 16 + i of a chunk.
struct Splitter {
  const float* from = nullptr;
  int64_t step = 0, count = 0, depth = 0;
  float* to = nullptr;
  int64_t k = 0, tile = 0, row = 0;  // what is next: of the depth, of count, of the tile
  Extent extent;
  Vec halves[2][LANES];

  Splitter() {}
  Splitter(const float* from, int64_t step, int64_t count, int64_t depth, float* to)
      : from(from), step(step), count(count), depth(depth), to(to) {}

  int64_t size() const {  // rows of tiles
    return (depth + CHUNK - 1) / CHUNK * ((count + SIDE - 1) / SIDE * SIDE);
  }

  // A tile from memory that is turned.
  template <Order ORDER>
  void turn_tile() {
    const int64_t wide = std::min(SIDE, count - tile);
    for (int half = 0; half < 2; ++half) {
      const int64_t first = k + half * LANES;
      const int64_t n = std::clamp<int64_t>(depth - first, 0, LANES);
      Vec* rows = halves[half];
      const float* block = from + (ORDER == TURNED_LINES ? first * step + tile
                                                         : tile * step + first);
      if (ORDER == TURNED_COLUMNS && n == LANES && wide == SIDE) {
        for (int64_t e = 0; e < LANES; e += 4) load_turned_fours(block + e, step, rows + e);
        continue;
      }
      std::fill(rows, rows + LANES, Vec{});
      if (n > 0 && ORDER == TURNED_LINES) load_turned(block, step, n, wide, rows);
      else if (n > 0) load_turned(block, step, wide, n, rows);
    }
  }

  // The next n rows of tiles.
  template <Order ORDER>
  void run(int64_t n) {
    Extent seen = extent;
    for (; n > 0 && k < depth; --n) {
      __m512 x, y;
      if (ORDER == LINES) {
        const float* line = from + (tile + row) * step + k;
        x = some(line, tile + row < count ? depth - k : 0);
        y = some(line + LANES, tile + row < count ? depth - k - LANES : 0);
      } else if (ORDER == COLUMNS) {
        const float* line = from + (k + row) * step + tile;
        x = some(line, k + row < depth ? count - tile : 0);
        y = some(line + LANES * step, k + row + LANES < depth ? count - tile : 0);
      } else {
        if (ORDER == TURNED_LINES) {
          // lines of the next chunk come meanwhile: they may lie far apart
          const float* line = from + (k + CHUNK + tile + row) * step;
          fetch<false>(line);
          fetch<false>(line + LANES);
        }
        if (row == 0) turn_tile<ORDER>();
        x = reinterpret_cast<__m512>(halves[0][row]);
        y = reinterpret_cast<__m512>(halves[1][row]);
      }
      split(x, y, to + tile / SIDE * PARTS * TILE + row * LANES, &seen);
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

  // What is left, and what was found in all.
  template <Order ORDER>
  Range end() {
    run<ORDER>(INT64_MAX);
    return Range::of(extent);
  }
};

// Puts a block of sums where it belongs, row by row.
struct Finisher {
  const Job* job = nullptr;
  const float* sums = nullptr;
  float* c = nullptr;
  const float* bias = nullptr;
  int64_t rows = 0, columns = 0, row = 0;

  void run(int64_t n) {
    for (; n > 0 && row < rows; --n, ++row)
      for (int64_t j = 0; j < columns; j += LANES) {
        float* to = c + row * job->c_row + j;
        finish(*job, load(sums + row * BLOCK + j), to, bias ? bias + j : nullptr,
               job->mask ? job->mask + (to - job->masked) : nullptr, columns - j);
      }
  }
};

// The tiles of a thread: all of them whole. Others may have set theirs in between.
struct Tiles {
  Tiles() {
    struct __attribute__((packed)) {
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

// Sums of R by C tiles over `chunks`, to 32 x 32 floats. After each four products comes work(): the
// tiles take 64 cycles for them, in which the processor can do other things.
template <int R, int C, class Work>
inline void sum_tiles(const float* a, const float* b, int64_t chunks, float* sums,
                      const Work& work) {
  asm volatile("" ::: "memory");
  _tile_zero(0);
  if (C > 1) _tile_zero(1);
  if (R > 1) _tile_zero(2);
  if (R > 1 && C > 1) _tile_zero(3);
#define CYNET_ROWS(part)               \
  _tile_loadd(4, a + (part)*TILE, 64); \
  if (R > 1) _tile_loadd(5, a + (PARTS + (part)) * TILE, 64);
#define CYNET_COLUMNS(part)            \
  _tile_loadd(6, b + (part)*TILE, 64); \
  if (C > 1) _tile_loadd(7, b + (PARTS + (part)) * TILE, 64);
#define CYNET_PRODUCTS                           \
  _tile_dpbf16ps(0, 4, 6);                       \
  if (C > 1) _tile_dpbf16ps(1, 4, 7);            \
  if (R > 1) _tile_dpbf16ps(2, 5, 6);            \
  if (R > 1 && C > 1) _tile_dpbf16ps(3, 5, 7);   \
  work();
  for (int64_t i = 0; i < chunks; ++i, a += STEP, b += STEP) {
    CYNET_ROWS(0) CYNET_COLUMNS(2) CYNET_PRODUCTS
    CYNET_COLUMNS(0) CYNET_PRODUCTS
    CYNET_ROWS(2) CYNET_PRODUCTS
    CYNET_ROWS(1) CYNET_PRODUCTS
    CYNET_COLUMNS(1) CYNET_PRODUCTS
    CYNET_ROWS(0) CYNET_PRODUCTS
  }
#undef CYNET_PRODUCTS
#undef CYNET_COLUMNS
#undef CYNET_ROWS
  _tile_stored(0, sums, 4 * BLOCK);
  if (C > 1) _tile_stored(1, sums + SIDE, 4 * BLOCK);
  if (R > 1) _tile_stored(2, sums + SIDE * BLOCK, 4 * BLOCK);
  if (R > 1 && C > 1) _tile_stored(3, sums + SIDE * BLOCK + SIDE, 4 * BLOCK);
  asm volatile("" ::: "memory");
}

// Lines of a on their way: columns `copied` of them to `copy`.
inline void copy_lines(const Job& job, int64_t lines) {
  for (int64_t r = 0; r < lines; ++r)
    for (int64_t k = job.copied.begin; k < job.copied.end; k += LANES) {
      const float* from = job.a + r * job.step + k;
      float* to = job.copy + r * job.step + k;
      const int64_t n = job.copied.end - k;
      if (job.past && n >= LANES) store_past(to, load(from));
      else store_part(to, reinterpret_cast<Vec>(some(from, n)), std::min<int64_t>(n, LANES));
    }
}

// Sums of the `rows` rows of a turned a.
inline void sum_lines(const Job& job, int64_t rows) {
  for (int64_t r = 0; r < rows; r += LANES) {
    const int64_t n = std::min<int64_t>(LANES, rows - r);
    Vec sum = {};
    for (int64_t k = 0; k < job.depth; ++k)
      sum += reinterpret_cast<Vec>(some(job.a + k * job.step + r, n));
    if (job.add_sums) sum += load_part(job.sums + r, n);
    store_part(job.sums + r, sum, n);
  }
}

// Whether it is quicker than the loops for AVX-512, by times of both (in ns, of one thread): of a
// product of tiles, of splitting, of a block of the result, and of a multiply-add of those.
inline bool suits(int64_t m, int64_t n, int64_t k) {
  const auto parts = [](int64_t size, int64_t each) { return (size + each - 1) / each; };
  const double rows = parts(m, SIDE), columns = parts(n, SIDE), chunks = parts(k, CHUNK);
  const double own = 43 * rows * columns * chunks + 92 * (rows + columns) * chunks +
                     230 * parts(m, BLOCK) * parts(n, BLOCK);
  return m >= SIDE && own * 80 < double(m) * n * k;
}

// Of an m x n result: threads share its blocks. Where all have read b they take rows (Grid).
inline Grid grid_of(int64_t m, int64_t n, int threads, bool b_shared) {
  const int64_t rows = (m + BLOCK - 1) / BLOCK;
  Grid grid(threads, m, n, (n + BLOCK - 1) / BLOCK, rows);
  if (b_shared && rows >= threads) grid.rows = threads, grid.columns = 1;
  return grid;
}

// One operand of a part of the result: where it lies, and which of its rows or columns count.
struct Side {
  const float* from;
  int64_t step, across, along;  // from line to line, from one of those to the next, along the sum
  Span range;

  int64_t blocks() const { return (range.end - range.begin + BLOCK - 1) / BLOCK; }
  Splitter splitter(int64_t first, int64_t k, int64_t depth, float* to) const {
    return Splitter(from + first * across + k * along, step,
                    std::min(BLOCK, range.end - first), depth, to);
  }
};

// A part of the result. One operand is split as a whole, or STRIP of it; of the other one (a, where
// OUTER is of lines) a block is split while the block before is multiplied by all of those.
template <Order OUTER, Order INNER>
inline void multiply_part(const Product& p, const Side& outer, const Side& inner, float* space) {
  constexpr bool BY_ROWS = OUTER == LINES || OUTER == TURNED_LINES;
  float* const blocks[2] = {space, space + SPLIT_A};
  float *split = space + 2 * SPLIT_A, *panel = split + SPLIT_B;
  Range ranges[STRIP / BLOCK / CHUNK];
  alignas(64) float sums[2][BLOCK * BLOCK];
  const int64_t parts = (p.k + DEPTH - 1) / DEPTH;
  const int64_t deepest = ((p.k + parts - 1) / parts + CHUNK - 1) / CHUNK * CHUNK;
  const int64_t strip = STRIP / deepest / BLOCK * BLOCK;
  for (int64_t left = inner.range.begin; left < inner.range.end; left += strip)
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t right = std::min(left + strip, inner.range.end);
      const int64_t k = cut(p.k, i, parts), depth = cut(p.k, i + 1, parts) - k;
      const int64_t chunks = (depth + CHUNK - 1) / CHUNK;
      const bool ends = i + 1 == parts;
      Job job = {nullptr, p.a_row, depth, p.c_row, p.relu && ends, p.add || i > 0};
      job.mask = ends ? p.mask : nullptr;
      job.masked = p.c;
      for (int64_t at = left; at < right; at += BLOCK)
        ranges[(at - left) / BLOCK] =
            inner.splitter(at, k, depth, split + (at - left) / BLOCK * chunks * STEP)
                .template end<INNER>();
      const int64_t calls = (right - left + BLOCK - 1) / BLOCK * chunks * 6;
      Finisher finisher;
      Splitter next = outer.splitter(outer.range.begin, k, depth, blocks[0]);
      int turn = 0, buffer = 0;
      for (int64_t first = outer.range.begin; first < outer.range.end; first += BLOCK) {
        const Range range = next.template end<OUTER>();
        const float* block = blocks[turn];
        turn = 1 - turn;
        next = first + BLOCK < outer.range.end
                   ? outer.splitter(first + BLOCK, k, depth, blocks[turn])
                   : Splitter();
        const int64_t each = (next.size() + calls - 1) / calls;
        for (int64_t at = left; at < right; at += BLOCK) {
          const int64_t row = BY_ROWS ? first : at, column = BY_ROWS ? at : first;
          const int64_t rows = std::min(BLOCK, (BY_ROWS ? outer.range.end : right) - row);
          const int64_t columns = std::min(BLOCK, (BY_ROWS ? right : outer.range.end) - column);
          float* c = p.c + row * p.c_row + column;
          const float* bias = p.bias && i == 0 ? p.bias + column : nullptr;
          if (!range.multiplies(ranges[(at - left) / BLOCK])) {
            const float* lines = p.b + (p.b_turned ? column * p.b_row + k : k * p.b_row + column);
            if (p.b_turned) pack_turned(lines, p.b_row, depth, columns, 1, 0, panel);
            else pack_lines(lines, p.b_row, depth, columns, panel);
            Job own = job;
            own.a = p.a + (p.a_turned ? k * p.a_row + row : row * p.a_row + k);
            const Piece piece = {0, 0};
            (p.a_turned ? &rows_of<false> : &rows_of<true>)(own, panel, columns, {0, 0, 1}, &piece,
                                                            c, bias, 0, rows);
            continue;
          }
          const float* other = split + (at - left) / BLOCK * chunks * STEP;
          const int64_t finished = (BLOCK + 6 * chunks - 1) / (6 * chunks);
          const auto work = [&] {
            finisher.run(finished);
            next.template run<OUTER>(each);
          };
          for (int64_t r = 0; r < rows; ++r)  // what will be written comes meanwhile
            for (int64_t j = 0; j < columns; j += LANES) fetch<true>(c + r * p.c_row + j);
          const float *a = BY_ROWS ? block : other, *b = BY_ROWS ? other : block;
          if (rows > SIDE && columns > SIDE) sum_tiles<2, 2>(a, b, chunks, sums[buffer], work);
          else if (rows > SIDE) sum_tiles<2, 1>(a, b, chunks, sums[buffer], work);
          else if (columns > SIDE) sum_tiles<1, 2>(a, b, chunks, sums[buffer], work);
          else sum_tiles<1, 1>(a, b, chunks, sums[buffer], work);
          finisher.run(BLOCK);
          finisher = {&job, sums[buffer], c, bias, rows, columns};
          buffer = 1 - buffer;
        }
      }
      finisher.run(BLOCK);
    }
}

inline void multiply(const Product& p, int threads, float* space) {
  const Grid grid = grid_of(p.m, p.n, threads, p.b_shared);
  const bool past = copies_past(p);
  for_parts(grid.parts(), [&](int64_t part) {
    const Tiles tiles;
    const auto own = [](int64_t n, int64_t i, int64_t of) {
      const int64_t blocks = (n + BLOCK - 1) / BLOCK;
      return Span{cut(blocks, i, of) * BLOCK, std::min(cut(blocks, i + 1, of) * BLOCK, n)};
    };
    const Side a = {p.a, p.a_row, p.a_turned ? 1 : p.a_row, p.a_turned ? p.a_row : 1,
                    own(p.m, part / grid.columns, grid.rows)};
    const Side b = {p.b, p.b_row, p.b_turned ? p.b_row : 1, p.b_turned ? 1 : p.b_row,
                    own(p.n, part % grid.columns, grid.columns)};
    if (p.copy) {
      Job job = {p.a + a.range.begin * p.a_row, p.a_row, p.k, p.c_row, false, false};
      job.copy = p.copy + a.range.begin * p.a_row;
      job.copied = copied_columns(p, grid, part);
      job.past = past;
      copy_lines(job, a.range.end - a.range.begin);
    }
    if (p.sums && b.range.begin == 0) {
      Job job = {p.a + a.range.begin, p.a_row, p.k, p.c_row, false, false};
      job.sums = p.sums + a.range.begin;
      job.add_sums = p.add_sums;
      sum_lines(job, a.range.end - a.range.begin);
    }
    const auto run = [&](auto rows, auto columns) {
      if (a.blocks() >= b.blocks())
        multiply_part<rows.value, columns.value>(p, a, b, space + part * SCRATCH);
      else
        multiply_part<columns.value, rows.value>(p, b, a, space + part * SCRATCH);
    };
    const auto by_columns = [&](auto rows) {
      if (p.b_turned) run(rows, std::integral_constant<Order, TURNED_COLUMNS>());
      else run(rows, std::integral_constant<Order, COLUMNS>());
    };
    if (p.a_turned) by_columns(std::integral_constant<Order, TURNED_LINES>());
    else by_columns(std::integral_constant<Order, LINES>());
    if (past) past_stored();
  });
}

}  // namespace amx
}  // namespace cynet

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
