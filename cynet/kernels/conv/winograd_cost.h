// Estimated cycles of a convolution by Winograd's algorithm and by a direct sum. Included by
// winograd.h, and by small.h, which compares its own algorithm with these.
#ifndef CYNET_WINOGRAD_COST_H
#define CYNET_WINOGRAD_COST_H

#include <algorithm>
#include <cstdint>
#include <limits>

#include "isa/levels.h"
#include "conv/winograd_sizes.h"

namespace cynet {
namespace winograd {

// Winograd's loops have one form per CPU level (winograd_plans.h) and a second one for AVX-512, by
// rows of positions. By single positions each number that is read serves two multiplications, which
// processors with two multipliers need. With one vector of filters it serves only one, and then
// small blocks of tiles, by rows, are faster.
enum { AVX512_BY_ROW = N_LEVEL };

// The form for this machine and these sizes.
inline int form_at(int level, const WinogradShape& s) {
#ifdef CYNET_X86_LEVELS
  const bool one = std::max(s.channels * s.stride * s.stride, s.filters) <= 16;
  if (level >= AVX512 && (one || multiplies_once())) return AVX512_BY_ROW;
#endif
  return level;
}

// Cycles of the parts of a convolution in one form, fitted to measured times
// (docs/notes/performance-log.md).
struct Cost {
  int64_t lanes, least;          // lanes of a vector; fewest channels and filters
  double product;                // of a tile, by a channel and a vector of filters
  double input, output;          // of a tile, by a vector of channels, by one of filters
  double odd_input, odd_output;  // the same where the vector is not full
  double packing, making;        // to transform a weight: in forward, in the mean of all three
  double reading;                // of a transformed weight
  double direct;                 // a direct sum, by a vector of filters
  double window, window_result, window_start;  // sums over taps (small.h): a multiply-add of
                                               // a vector, a vector of results, a constant
};

inline const Cost& cost_at(int form) {
  static constexpr Cost by_row = {16,  16, 37.5, 260, 240,  300, 200,
                                  40, 105, 25,   0.83, 0.6, 80,  8000};
  static constexpr Cost wide = {16, 8, 33, 230, 220, 260, 170, 40, 150, 25, 0.83, 0.6, 80, 8000};
  static constexpr Cost narrow = {8, 4, 18, 200, 170, 0, 0, 105, 105, 20, 0.75, 0.6, 0, 20000};
#ifdef CYNET_X86_LEVELS
  if (form == AVX512_BY_ROW) return by_row;
  if (form >= AVX512) return wide;
#endif
  return narrow;
}

struct Cycles {
  double tiles, packing, making, reading;  // of all tiles; of all weights (see Cost)
  Cycles(const Cost& cost, const WinogradShape& s, double tile_count) {
    const int64_t lanes = cost.lanes;
    const double phases = s.stride * s.stride, share = taps_of(s) == 2 ? 25.0 / 36 : 1;
    const double c = phases * ((s.channels + lanes - 1) / lanes);
    const double f = (s.filters + lanes - 1) / lanes;
    const double channels = s.stride == 1 ? s.channels : lanes * c;
    const double products = cost.product * (2 * f * channels + c * s.filters) / 3;
    const double odd = (s.channels % lanes ? cost.odd_input * phases : 0) +
                       (s.filters % lanes ? cost.odd_output : 0);
    tiles = share * tile_count * (products + cost.input * c + cost.output * f + odd);
    const double weights = share * lanes * lanes * c * f;
    packing = cost.packing * weights;
    making = cost.making * weights;
    reading = cost.reading * weights;
  }
};

// A third of the cycles of forward and both gradients; with `packed`, those of forward with packed
// weights. Infinite where Winograd's algorithm must not be used.
inline double cycles(int form, const WinogradShape& s, bool packed) {
  const Cost& cost = cost_at(form);
  const Image y = output_of(s);
  if (!knows(s) || std::min(s.channels, s.filters) < cost.least || s.pad_h < 0 || s.pad_w < 0 ||
      s.batch < 1 || s.height < 1 || s.width < 1 || y.height < 1 || y.width < 1)
    return std::numeric_limits<double>::infinity();
  const int64_t side = side_of(taps_of(s));
  const int64_t own_tiles = Tiles(y, side).count;
  const int64_t data_tiles = spreads(s) ? own_tiles : Tiles(input_of(s), side).count;
  const Cycles own(cost, s, packed ? own_tiles : (2.0 * own_tiles + data_tiles) / 3);
  return own.tiles + (packed ? own.reading : own.making);
}

// Cycles of oneDNN's direct sum of `taps` taps for so many pixels.
inline double direct_cycles(int form, int64_t taps, int64_t pixels, int64_t channels,
                            int64_t filters) {
  const Cost& cost = cost_at(form);
  const int64_t vectors = (filters + cost.lanes - 1) / cost.lanes;
  return cost.direct * static_cast<double>(taps) * pixels * channels * vectors;
}

}  // namespace winograd
}  // namespace cynet

#endif
