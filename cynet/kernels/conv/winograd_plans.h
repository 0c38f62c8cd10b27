// The layout of the scratch of Winograd's convolutions in one form: in floats, each part aligned to
// 64 bytes. Included by winograd_forms.h for each form. P, M, N and K are those of
// winograd_loops.h; a position is (row i, column j) of a PxP transform.
//
// By row: a row of positions is multiplied at a time, and its sums are transformed along the
// columns at once. Every multiplication reads a number from the cache.
//   forward   u[filter block][i][channel][j][LANES]                     weights
//             v[i][tile / ROWS][channel block][j][tile % ROWS][LANES]   tiles of one block
//             s[filter block][tile][i][N][LANES]                        products
// By position: each number serves FILTERS multiplications, each weight ROWS. Weights are stored in
// the order in which they are read.
//   forward   u[i][j][filter block / FILTERS][channel][filter block % FILTERS][LANES]
//             v[i][j][tile / ROWS][channel block][tile % ROWS][LANES]
//             s[i][j][tile / ROWS][filter block][tile % ROWS][LANES]
// The gradient of the weights:
//   gradient  du[i][j][filter block][channel][LANES]                    sums for the weights
//             v[i][j][channel block][tile][LANES], m[i][j][filter block][tile][LANES]

constexpr bool BY_ROW = WINOGRAD_BY_ROW;  // sums of one row of positions at a time
// Sums that are held in registers: of ROWS tiles (or fewer, in steps of STEP) by all positions of a
// row, or by FILTERS blocks of filters.
constexpr int ROWS = BY_ROW ? 4 : LANES == 16 ? 12 : 6, STEP = BY_ROW ? ROWS : ROWS / 3;  // tiles
constexpr int FILTERS = BY_ROW ? 1 : 2;  // blocks of filters in the registers

constexpr int64_t block_count(int64_t n) { return (n + LANES - 1) / LANES; }
constexpr int64_t round_to_cache_line(int64_t n) { return (n + 15) / 16 * 16; }
// n floats, and a distance to those that other threads write.
constexpr int64_t spaced_floats(int64_t n) { return round_to_cache_line(n) + FLOATS_APART; }

// True if adjacent tiles are transformed together.
constexpr bool USES_STRIPS = LANES < 16 && !BY_ROW;  // adjacent tiles are transformed together

// Floats for the columns of `tiles` adjacent tiles (read_run): up to 6 positions per column, 4
// columns per tile and 2 more.
constexpr int64_t strip_floats(int64_t tiles) {
  return USES_STRIPS ? 6 * (4 * tiles + 2) * LANES : 0;
}

// The streams that a transform writes are an odd number of cache lines apart, so that they use
// different cache sets.
struct ForwardPlan {  // memory layout of the forward products
  int64_t channel_blocks, filter_blocks;
  int64_t tile_block, chunk;  // tiles and filter blocks that are processed together
  int64_t v_block, v_group, v_across, v_down;  // strides: channel block, ROWS tiles, position
  int64_t u_block, u_channel, u_across, u_down;
  int64_t s_block, s_tile, s_group, s_position;
  int64_t zeros, u, v, s, part;  // sizes in floats; `part`: a thread's workspace

  // The plan for a thread with at most `tiles` tiles.
  ForwardPlan(int64_t positions, int64_t channels, int64_t filters, int64_t pixels,
              int64_t tiles = 0)
      : channel_blocks(block_count(channels)), filter_blocks(block_count(filters)) {
    const int64_t all = positions * positions;
    zeros = round_to_cache_line(channels + LANES);
    if constexpr (BY_ROW) {
      // Few tiles keep v in the first-level cache; with many weights, more tiles save reads.
      tile_block = ROWS * (channels <= 64 ? 2 : channels <= 256 ? 4 : 8);
      chunk = 1;
      v_across = ROWS * LANES;
      v_block = positions * v_across;
      v_group = channel_blocks * v_block;
      v_down = tile_block / ROWS * v_group + 16;
      v = round_to_cache_line(positions * v_down);
      u_across = LANES;
      u_channel = positions * LANES;
      u_down = channels * u_channel;
      u_block = positions * u_down;
      u = round_to_cache_line(filter_blocks * u_block);
      s_position = pixels * LANES;
      s_tile = positions * s_position;
      s_group = ROWS * s_tile;
      s_block = round_to_cache_line(tile_block / ROWS * s_group);
      s = s_block;
    } else {
      // With few tiles the weights are read once.
      const int64_t groups = (tiles + ROWS - 1) / ROWS;
      const int64_t maximum = LANES == 16                     ? (channels < 128 ? 2 : 8)
                              : groups > 8 && channels <= 256 ? 4
                                                              : 8;
      tile_block = ROWS * std::min(groups, maximum);
      chunk = std::min<int64_t>(LANES == 16 ? 8 : 16, filter_blocks);
      v_block = ROWS * LANES;
      v_group = channel_blocks * v_block;
      v_across = tile_block / ROWS * v_group + 16;
      v_down = positions * v_across;
      v = round_to_cache_line(positions * v_down);
      u_channel = LANES;
      u_block = channels * u_channel;
      u_across = filter_blocks * u_block + 16;
      u_down = positions * u_across;
      u = round_to_cache_line(positions * u_down);
      s_tile = LANES;
      s_block = ROWS * LANES;
      s_group = chunk * s_block;
      s_position = tile_block / ROWS * s_group + 16;
      s = round_to_cache_line(all * s_position);
    }
    part = spaced_floats(v + s + strip_floats(tile_block));
  }
  int64_t floats(int threads, bool packed = false) const {  // of workspace
    return spaced_floats(zeros) + (packed ? 0 : spaced_floats(u)) + threads * part;
  }
  // The number of filter blocks whose weights are interleaved with those of block b.
  int64_t interleaved_block_count(int64_t b) const {
    return std::min<int64_t>(FILTERS, filter_blocks - b / FILTERS * FILTERS);
  }
  // The offset in u of a filter block's weights for a channel.
  int64_t u_offset(int64_t b, int64_t channel) const {  // of a block's weights in u
    return b / FILTERS * FILTERS * u_block + channel * interleaved_block_count(b) * u_channel +
           b % FILTERS * LANES;
  }
};

struct GradientPlan {  // memory layout of the weight gradient
  int64_t channel_blocks, filter_blocks, tile_block;
  int64_t chunk;  // filter blocks processed together: their sums fit the cache
  int64_t cuts;  // ranges of tiles with separate sums; depends on the shape alone
  int64_t u_block, u_position, v_block, v_position, m_position;
  // Sizes. `sums` and `part`: distances between two cuts' sums, and between two threads' scratch.
  int64_t zeros, u, v, m, sums, part;

  GradientPlan(int64_t positions, int64_t channels, int64_t filters, int64_t tiles)
      : channel_blocks(block_count(channels)), filter_blocks(block_count(filters)) {
    chunk = std::max<int64_t>(1, 32768 / (channel_blocks * LANES * LANES));
    chunk = std::min(chunk, filter_blocks);
    u_block = channel_blocks * LANES * LANES;
    u_position = chunk * u_block + 16;
    const int64_t all = positions * positions;
    u = round_to_cache_line(all * u_position);
    sums = spaced_floats(u);
    // More cuts, or cuts of fewer tiles, would cost more than threads gain.
    const bool in_cache = u <= 1 << 16;
    const int64_t maximum = in_cache ? 8 : u <= 1 << 18 ? 4 : 2;
    const int64_t least = std::min<int64_t>(tiles / 32 + 1, 2);
    cuts = std::clamp<int64_t>(tiles / (in_cache ? 32 : 1024), least, maximum);
    const int64_t own = (tiles + cuts - 1) / cuts;
    tile_block = LANES == 16 || BY_ROW ? 16 : std::clamp<int64_t>(own, 8, 48);
    v_block = tile_block * LANES;
    v_position = channel_blocks * v_block + 16;
    m_position = chunk * v_block + 16;
    zeros = round_to_cache_line(std::max(channels, filters) + LANES);
    v = round_to_cache_line(all * v_position);
    m = round_to_cache_line(all * m_position);
    part = spaced_floats(v + m + strip_floats(tile_block));
  }
  int64_t floats(int threads) const { return spaced_floats(zeros) + cuts * sums + threads * part; }
  // The number of parts of a chunk's groups: as many units of work as threads, or a multiple, if
  // possible. A sum is made of the same parts.
  int64_t spans_per_chunk(int64_t groups, int64_t threads) const {
    for (int64_t n = 1; n <= groups; ++n)
      if (cuts * n % threads == 0) return n;
    return std::min(groups, (threads + cuts - 1) / cuts);
  }
};
