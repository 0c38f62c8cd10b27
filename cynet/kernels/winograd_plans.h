// How the scratch of Winograd's convolutions is laid out in one form, in floats, each part 64-byte
// aligned. Included by winograd_forms.h for each form. P, M, N and K as in winograd_loops.h; a
// position is (row i, column j) of a PxP transform.
//
// By row, a row of positions is multiplied at a time, and its sums leave with their columns turned
// to pixels. Every multiplication reads a number from the cache:
//   forward   u[filter block][i][channel][j][LANES]                     weights
//             v[i][tile / ROWS][channel block][j][tile % ROWS][LANES]   tiles of one block
//             s[filter block][tile][i][N][LANES]                        products
// By position, numbers serve for FILTERS multiplications and weights for ROWS; weights lie in the
// order in which they are read:
//   forward   u[i][j][filter block / FILTERS][channel][filter block % FILTERS][LANES]
//             v[i][j][tile / ROWS][channel block][tile % ROWS][LANES]
//             s[i][j][tile / ROWS][filter block][tile % ROWS][LANES]
// For the weights' gradient:
//   gradient  du[i][j][filter block][channel][LANES]                    sums for the weights
//             v[i][j][channel block][tile][LANES], m[i][j][filter block][tile][LANES]

constexpr bool BY_ROW = WINOGRAD_BY_ROW;
// Sums that are held in registers: of ROWS tiles, or fewer by STEP, by all positions of a row, or
// by FILTERS blocks of filters.
constexpr int ROWS = BY_ROW ? 4 : LANES == 16 ? 12 : 6, STEP = BY_ROW ? ROWS : ROWS / 3;
constexpr int FILTERS = BY_ROW ? 1 : 2;

constexpr int64_t blocks_of(int64_t n) { return (n + LANES - 1) / LANES; }
constexpr int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }
// n floats that others read or write than what follows.
constexpr int64_t apart(int64_t n) { return padded(n) + FLOATS_APART; }

// Whether tiles beside each other are transformed together.
constexpr bool STRIPS = LANES < 16 && !BY_ROW;

// Floats for the columns of `tiles` tiles beside each other (read_run): at most 6 positions of each
// column, 4 columns a tile and 2 more.
constexpr int64_t strip_of(int64_t tiles) { return STRIPS ? 6 * (4 * tiles + 2) * LANES : 0; }

// An odd number of cache lines between the streams that a transform writes keeps them out of each
// other's cache sets.
struct ForwardPlan {
  int64_t channel_blocks, filter_blocks;
  int64_t tile_block, chunk;                   // tiles, and filter blocks, worked on at a time
  int64_t v_block, v_group, v_across, v_down;  // of a channel block, ROWS tiles, a position
  int64_t u_block, u_channel, u_across, u_down;
  int64_t s_block, s_tile, s_group, s_position;
  int64_t zeros, u, v, s, part;  // sizes: a pixel of zeros, ..., from one thread's to the next's

  // Of a thread that has `tiles` tiles at most.
  ForwardPlan(int64_t positions, int64_t channels, int64_t filters, int64_t pixels,
              int64_t tiles = 0)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    const int64_t all = positions * positions;
    zeros = padded(channels + LANES);
    if constexpr (BY_ROW) {
      // few tiles: v stays in the first cache; with many weights, the more tiles the fewer reads
      tile_block = ROWS * (channels <= 64 ? 2 : channels <= 256 ? 4 : 8);
      chunk = 1;
      v_across = ROWS * LANES;
      v_block = positions * v_across;
      v_group = channel_blocks * v_block;
      v_down = tile_block / ROWS * v_group + 16;
      v = padded(positions * v_down);
      u_across = LANES;
      u_channel = positions * LANES;
      u_down = channels * u_channel;
      u_block = positions * u_down;
      u = padded(filter_blocks * u_block);
      s_position = pixels * LANES;
      s_tile = positions * s_position;
      s_group = ROWS * s_tile;
      s_block = padded(tile_block / ROWS * s_group);
      s = s_block;
    } else {
      // weights are read once where the tiles are few
      const int64_t groups = (tiles + ROWS - 1) / ROWS;
      const int64_t most = LANES == 16                      ? (channels < 128 ? 2 : 8)
                           : groups > 8 && channels <= 256 ? 4
                                                           : 8;
      tile_block = ROWS * std::min(groups, most);
      chunk = std::min<int64_t>(LANES == 16 ? 8 : 16, filter_blocks);
      v_block = ROWS * LANES;
      v_group = channel_blocks * v_block;
      v_across = tile_block / ROWS * v_group + 16;
      v_down = positions * v_across;
      v = padded(positions * v_down);
      u_channel = LANES;
      u_block = channels * u_channel;
      u_across = filter_blocks * u_block + 16;
      u_down = positions * u_across;
      u = padded(positions * u_down);
      s_tile = LANES;
      s_block = ROWS * LANES;
      s_group = chunk * s_block;
      s_position = tile_block / ROWS * s_group + 16;
      s = padded(all * s_position);
    }
    part = apart(v + s + strip_of(tile_block));
  }
  int64_t size(int threads, bool packed = false) const {
    return apart(zeros) + (packed ? 0 : apart(u)) + threads * part;
  }
  // Filter blocks whose weights lie between each other, of which b is one.
  int64_t beside(int64_t b) const {
    return std::min<int64_t>(FILTERS, filter_blocks - b / FILTERS * FILTERS);
  }
  // Where the weights of a filter block and channel begin in u.
  int64_t weights(int64_t b, int64_t channel) const {
    return b / FILTERS * FILTERS * u_block + channel * beside(b) * u_channel + b % FILTERS * LANES;
  }
};

struct GradientPlan {
  int64_t channel_blocks, filter_blocks, tile_block;
  int64_t chunk;  // filter blocks worked on at a time, so that their sums stay in the cache
  int64_t u_block, u_position, v_block, v_position, m_position;
  // Sizes: a pixel of zeros, a thread's sums, ...; from one thread's sums, and from what else it
  // has, to the next one's.
  int64_t zeros, u, v, m, sums, part;

  GradientPlan(int64_t positions, int64_t channels, int64_t filters, int64_t tiles, int threads)
      : channel_blocks(blocks_of(channels)), filter_blocks(blocks_of(filters)) {
    const int64_t own = (tiles + threads - 1) / threads;
    tile_block = LANES == 16 || BY_ROW ? 16 : std::clamp<int64_t>(own, 8, 48);
    chunk = std::max<int64_t>(1, 32768 / (channel_blocks * LANES * LANES));
    chunk = std::min(chunk, filter_blocks);
    u_block = channel_blocks * LANES * LANES;
    u_position = chunk * u_block + 16;
    v_block = tile_block * LANES;
    v_position = channel_blocks * v_block + 16;
    m_position = chunk * v_block + 16;
    zeros = padded(std::max(channels, filters) + LANES);
    const int64_t all = positions * positions;
    u = padded(all * u_position);
    v = padded(all * v_position);
    m = padded(all * m_position);
    sums = apart(u);
    part = apart(v + m + strip_of(tile_block));
  }
  int64_t size(int threads) const { return apart(zeros) + threads * (sums + part); }
};
