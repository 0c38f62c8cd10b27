// Adafactor: steps along gradients over the root of their mean square; for a matrix only the means
// of rows and of columns are stored. Sums are over fixed tiles, whatever the number of threads.
#ifndef CYNET_LANES
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "update/update.h"

namespace cynet {

// lr: rate of this step; decay: weight decay; share: factor of new squares in the means.
#define ADAFACTOR_FIELDS(field)                                                                   \
  field(double, lr) field(double, decay) field(double, rescale_grad) field(double, clip_gradient) \
      field(double, epsilon) field(double, min_scale) field(double, clip_threshold)               \
          field(double, share)
CYNET_PARAMS(Adafactor, ADAFACTOR_FIELDS)

enum : int64_t { ADA_COLUMNS = 1024, ADA_GROUPS = 16, ADA_BLOCK = 4096 };

// A weight as a matrix in tiles of some rows by ADA_COLUMNS columns.
struct AdafactorTiles {  // a weight cut into tiles
  int64_t rows, columns, high, groups, across;
  explicit AdafactorTiles(const Blob& weight) {
    rows = weight.shape[0], columns = rows ? weight.size / rows : 0;
    high = std::max<int64_t>(1, (rows + ADA_GROUPS - 1) / ADA_GROUPS);
    groups = (rows + high - 1) / high, across = (columns + ADA_COLUMNS - 1) / ADA_COLUMNS;
  }
  int64_t tile_count() const { return groups * across; }
};

// Bytes for doubles (sums of squares per tile, per row and tile, factors of rows), then for sums
// and factors of columns.
static int64_t adafactor_workspace_bytes(const Args& args) {
  const AdafactorTiles t(*args.in[0]);
  const int64_t doubles = 2 * t.tile_count() + t.rows * t.across + t.rows;
  return (doubles + (t.groups + 1) * t.columns) * sizeof(double);
}

static int64_t adafactor_vector_workspace_bytes(const Args& args) {
  const int64_t n = args.in[0]->size, blocks = (n + ADA_BLOCK - 1) / ADA_BLOCK;
  return (2 * blocks + n) * sizeof(double);
}

// The factor of the step, from the sums of squares of weight and step.
static double adafactor_rate(const Adafactor& p, double weight, double step, int64_t n) {
  const double size = std::max(std::sqrt(step / n) / p.clip_threshold, 1.0);
  const double scale = p.min_scale < 0 ? 1 : std::max(std::sqrt(weight / n), p.min_scale);
  return std::isnan(step) ? step : p.lr * scale / size;
}

}  // namespace cynet
#define CYNET_PER_ISA_FILE "update/adafactor.cc"
#include "isa/for_each_isa.h"
CYNET_SPACE_KERNEL(adafactor, Adafactor, 4, adafactor_workspace_bytes, float, double, half,
                   bfloat16)
CYNET_SPACE_KERNEL(adafactor_vector, Adafactor, 4, adafactor_vector_workspace_bytes, float, double,
                   half, bfloat16)
#else
namespace {

// The type of states and of the arithmetic.
template <typename W>
struct ComputeType {  // type of the arithmetic for a weight's type
  typedef float type;
};
template <>
struct ComputeType<double> {  // type of the arithmetic for doubles
  typedef double type;
};

enum : int64_t { ADA_LANES = 4 * CYNET_LANES };

// Calls take(i, k) for n elements; k is the lane of ADA_LANES partial sums.
template <class Take>
CYNET_XINLINE void for_ada_lanes(int64_t n, const Take& take) {
  int64_t i = 0;
  for (; i + ADA_LANES <= n; i += ADA_LANES) {
    CYNET_IVDEP
    for (int64_t k = 0; k < ADA_LANES; ++k) take(i + k, k);
  }
  for (; i < n; ++i) take(i, 0);
}
template <typename T>
CYNET_XINLINE double sum_ada_lanes(const T* lanes) {
  double total = 0;
  for (int64_t k = 0; k < ADA_LANES; ++k) total += static_cast<double>(lanes[k]);
  return total;
}

// One step of a matrix in four passes over its tiles. C: the type of states and of the arithmetic.
template <typename W, typename C>
struct AdafactorStep {  // one step of a matrix, in passes over tiles
  const Args& args;
  const Adafactor& p;
  AdafactorTiles t;
  const W *w, *g;
  C rescale, clip, share;
  double *squares, *of_rows, *row_factor;  // of weight and step, a pair a tile; of (row, tile)
  C *of_columns, *factor;

  explicit AdafactorStep(const Args& args)
      : args(args),
        p(args.as<Adafactor>()),
        t(*args.in[0]),
        w(args.input<W>(0)),
        g(args.input<W>(1)),
        rescale(C(p.rescale_grad)),
        clip(C(clip_limit(p.clip_gradient))),
        share(C(p.share)) {
    squares = static_cast<double*>(args.space);
    of_rows = squares + 2 * t.tile_count(), row_factor = of_rows + t.rows * t.across;
    of_columns = reinterpret_cast<C*>(row_factor + t.rows);
    factor = of_columns + t.groups * t.columns;
  }

  // Calls body(tile, first row, last row, first column, number of columns).
  template <class Body>
  void for_tiles(const Body& body) const {
    parallel_for(args.threads, t.tile_count(), [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t group = tile / t.across, column = tile % t.across * ADA_COLUMNS;
        body(tile, group * t.high, std::min(t.rows, (group + 1) * t.high), column,
             std::min(t.columns - column, +ADA_COLUMNS));
      }
    });
  }

  // Sums the squares of the gradient by row and by column, and of the weight by tile.
  void sum_squares() const {
    for_tiles([s = *this](int64_t tile, int64_t row, int64_t last, int64_t first, int64_t n) {
      const bool scales = s.p.min_scale >= 0;
      C* sums = s.of_columns + row / s.t.high * s.t.columns + first;
      std::fill(sums, sums + n, C(0));
      double weight = 0;
      for (; row < last; ++row) {
        const W *w = s.w + row * s.t.columns + first, *g = s.g + row * s.t.columns + first;
        C lanes[ADA_LANES] = {}, own[ADA_LANES] = {};
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const C d = clamp(s.rescale * static_cast<C>(g[i]), s.clip);
          sums[i] += d * d, lanes[k] += d * d;
        });
        s.of_rows[row * s.t.across + tile % s.t.across] = sum_ada_lanes(lanes);
        if (!scales) continue;
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const C v = static_cast<C>(w[i]);
          own[k] += v * v;
        });
        weight += sum_ada_lanes(own);
      }
      s.squares[2 * tile] = weight;
    });
  }

  // Moves the means of rows and columns towards the new squares; computes the factors of the step.
  void update_means(C* rows, C* columns) const {
    double mean = 0;
    for (int64_t row = 0; row < t.rows; ++row) {
      double sum = 0;
      for (int64_t k = 0; k < t.across; ++k) sum += of_rows[row * t.across + k];
      rows[row] += share * (C(sum / t.columns + p.epsilon) - rows[row]);
      mean += static_cast<double>(rows[row]);
    }
    mean /= t.rows;
    for (int64_t row = 0; row < t.rows; ++row)
      row_factor[row] = std::sqrt(mean / static_cast<double>(rows[row]));
    const int threads = args.threads_of(t.groups * t.columns);
    parallel_for(threads, t.columns, [=, s = *this](int64_t begin, int64_t end) {
      for (int64_t group = 1; group < s.t.groups; ++group)
        for (int64_t i = begin; i < end; ++i)
          s.of_columns[i] += s.of_columns[group * s.t.columns + i];
      for (int64_t i = begin; i < end; ++i) {
        columns[i] += s.share * (s.of_columns[i] / C(s.t.rows) + C(s.p.epsilon) - columns[i]);
        s.factor[i] = C(1) / std::sqrt(columns[i]);
      }
    });
  }

  // Sums the squares of the step by tile.
  void sum_steps() const {
    for_tiles([s = *this](int64_t tile, int64_t row, int64_t last, int64_t first, int64_t n) {
      const C* across = s.factor + first;
      double step = 0;
      for (; row < last; ++row) {
        const W* g = s.g + row * s.t.columns + first;
        const C of_row = C(s.row_factor[row]);
        C lanes[ADA_LANES] = {};
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const C d = clamp(s.rescale * static_cast<C>(g[i]), s.clip) * of_row * across[i];
          lanes[k] += d * d;
        });
        step += sum_ada_lanes(lanes);
      }
      s.squares[2 * tile + 1] = step;
    });
  }

  void write_weight(W* out) const {
    double weight = 0, step = 0;
    for (int64_t tile = 0; tile < t.tile_count(); ++tile)
      weight += squares[2 * tile], step += squares[2 * tile + 1];
    const C by = C(adafactor_rate(p, weight, step, args.in[0]->size)), decay = C(1 - p.decay);
    const bool add = args.add[0];
    for_tiles([=, s = *this](int64_t, int64_t row, int64_t last, int64_t first, int64_t n) {
      const C* across = s.factor + first;
      for (; row < last; ++row) {
        const W *w = s.w + row * s.t.columns + first, *g = s.g + row * s.t.columns + first;
        W* y = out + row * s.t.columns + first;
        const C of_row = C(s.row_factor[row]), rescale = s.rescale, clip = s.clip;
        CYNET_IVDEP
        for (int64_t i = 0; i < n; ++i) {
          const C d = clamp(rescale * static_cast<C>(g[i]), clip) * of_row * across[i];
          const C next = static_cast<C>(w[i]) * decay - by * d;
          y[i] = static_cast<W>(add ? static_cast<C>(y[i]) + next : next);
        }
      }
    });
  }
};

// reads weight, grad (rows, ...); writes output, and the means of squares of rows and of columns
template <typename W>
void adafactor(const Args& args) {
  typedef typename ComputeType<W>::type C;
  W* out = args.output<W>(0);
  if (!out || args.in[0]->size == 0) return;
  const AdafactorStep<W, C> step(args);
  step.sum_squares();
  step.update_means(static_cast<C*>(args.out[1]->data), static_cast<C*>(args.out[2]->data));
  step.sum_steps();
  step.write_weight(out);
}

// reads weight, grad; writes output, and the means of squares
template <typename W>
void adafactor_vector(const Args& args) {
  typedef typename ComputeType<W>::type T;
  const Adafactor& p = args.as<Adafactor>();
  const int64_t size = args.in[0]->size, blocks = (size + ADA_BLOCK - 1) / ADA_BLOCK;
  const W *w = args.input<W>(0), *g = args.input<W>(1);
  W* y = args.output<W>(0);
  if (!y || size == 0) return;
  T* means = static_cast<T*>(args.out[1]->data);
  const T rescale = T(p.rescale_grad), clip = T(clip_limit(p.clip_gradient));
  const T share = T(p.share), epsilon = T(p.epsilon);
  double* squares = static_cast<double*>(args.space);
  T* moves = reinterpret_cast<T*>(squares + 2 * blocks);
  const bool scales = p.min_scale >= 0;

  parallel_for(args.threads, blocks, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t at = block * ADA_BLOCK, n = std::min(size - at, +ADA_BLOCK);
      T lanes[ADA_LANES] = {}, own[ADA_LANES] = {};
      CYNET_IVDEP
      for (int64_t i = at; i < at + n; ++i) {
        const T d = clamp(rescale * static_cast<T>(g[i]), clip);
        const T mean = means[i] + share * (d * d + epsilon - means[i]);
        means[i] = mean;
        moves[i] = d / std::sqrt(mean);
      }
      for_ada_lanes(n, [&](int64_t i, int64_t k) { lanes[k] += moves[at + i] * moves[at + i]; });
      if (scales)
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const T v = static_cast<T>(w[at + i]);
          own[k] += v * v;
        });
      squares[2 * block] = sum_ada_lanes(own), squares[2 * block + 1] = sum_ada_lanes(lanes);
    }
  });
  double weight = 0, step = 0;
  for (int64_t block = 0; block < blocks; ++block)
    weight += squares[2 * block], step += squares[2 * block + 1];
  const T rate = T(adafactor_rate(p, weight, step, size)), decay_factor = T(1 - p.decay);
  const bool add = args.add[0];
  parallel_for(args.threads, blocks, [=](int64_t begin, int64_t end) {
    const int64_t last = std::min(size, end * ADA_BLOCK);
    CYNET_IVDEP
    for (int64_t i = begin * ADA_BLOCK; i < last; ++i) {
      const T next = static_cast<T>(w[i]) * decay_factor - rate * moves[i];
      y[i] = static_cast<W>(add ? static_cast<T>(y[i]) + next : next);
    }
  });
}

}  // namespace
#endif
