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
struct AdafactorTiles {
  int64_t rows, columns, high, groups, across;
  explicit AdafactorTiles(const Blob& weight) {
    rows = weight.shape[0], columns = rows ? weight.size / rows : 0;
    high = std::max<int64_t>(1, (rows + ADA_GROUPS - 1) / ADA_GROUPS);
    groups = (rows + high - 1) / high, across = (columns + ADA_COLUMNS - 1) / ADA_COLUMNS;
  }
  int64_t tiles() const { return groups * across; }
};

// Bytes for doubles (sums of squares per tile, per row and tile, factors of rows), then for sums
// and factors of columns.
static int64_t adafactor_workspace_bytes(const Args& args) {
  const AdafactorTiles t(*args.in[0]);
  const int64_t doubles = 2 * t.tiles() + t.rows * t.across + t.rows;
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
struct ComputeType {
  typedef float type;
};
template <>
struct ComputeType<double> {
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

// reads weight, grad (rows, ...); writes output, and the means of squares of rows and of columns
template <typename W>
void adafactor(const Args& args) {
  typedef typename ComputeType<W>::type T;
  const Adafactor& p = args.as<Adafactor>();
  const AdafactorTiles t(*args.in[0]);
  const W *w = args.input<W>(0), *g = args.input<W>(1);
  W* y = args.output<W>(0);
  if (!y || args.in[0]->size == 0) return;
  T *rows = static_cast<T*>(args.out[1]->data), *columns = static_cast<T*>(args.out[2]->data);
  const T rescale = T(p.rescale_grad), clip = T(clip_limit(p.clip_gradient)), share = T(p.share);
  double* squares = static_cast<double*>(args.space);
  double *of_rows = squares + 2 * t.tiles(), *row_factor = of_rows + t.rows * t.across;
  T* of_columns = reinterpret_cast<T*>(row_factor + t.rows);
  T* factor = of_columns + t.groups * t.columns;
  const bool scales = p.min_scale >= 0;

  parallel_for(args.threads, t.tiles(), [=](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t group = tile / t.across, across = tile % t.across;
      const int64_t first = across * ADA_COLUMNS, n = std::min(t.columns - first, +ADA_COLUMNS);
      const int64_t last = std::min(t.rows, (group + 1) * t.high);
      T* sums = of_columns + group * t.columns + first;
      std::fill(sums, sums + n, T(0));
      double weight = 0;
      for (int64_t row = group * t.high; row < last; ++row) {
        const int64_t at = row * t.columns + first;
        T lanes[ADA_LANES] = {}, own[ADA_LANES] = {};
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const T d = clamp(rescale * static_cast<T>(g[at + i]), clip);
          sums[i] += d * d, lanes[k] += d * d;
        });
        of_rows[row * t.across + across] = sum_ada_lanes(lanes);
        if (!scales) continue;
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const T v = static_cast<T>(w[at + i]);
          own[k] += v * v;
        });
        weight += sum_ada_lanes(own);
      }
      squares[2 * tile] = weight;
    }
  });

  double mean = 0;
  for (int64_t row = 0; row < t.rows; ++row) {
    double sum = 0;
    for (int64_t k = 0; k < t.across; ++k) sum += of_rows[row * t.across + k];
    rows[row] += share * (T(sum / t.columns + p.epsilon) - rows[row]);
    mean += static_cast<double>(rows[row]);
  }
  mean /= t.rows;
  for (int64_t row = 0; row < t.rows; ++row)
    row_factor[row] = std::sqrt(mean / static_cast<double>(rows[row]));
  parallel_for(args.threads_of(t.groups * t.columns), t.columns, [=](int64_t begin, int64_t end) {
    for (int64_t group = 1; group < t.groups; ++group)
      for (int64_t i = begin; i < end; ++i) of_columns[i] += of_columns[group * t.columns + i];
    for (int64_t i = begin; i < end; ++i) {
      columns[i] += share * (of_columns[i] / T(t.rows) + T(p.epsilon) - columns[i]);
      factor[i] = T(1) / std::sqrt(columns[i]);
    }
  });

  parallel_for(args.threads, t.tiles(), [=](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t group = tile / t.across, first = tile % t.across * ADA_COLUMNS;
      const int64_t n = std::min(t.columns - first, +ADA_COLUMNS);
      const int64_t last = std::min(t.rows, (group + 1) * t.high);
      const T* across = factor + first;
      double step = 0;
      for (int64_t row = group * t.high; row < last; ++row) {
        const int64_t at = row * t.columns + first;
        const T of_row = T(row_factor[row]);
        T lanes[ADA_LANES] = {};
        for_ada_lanes(n, [&](int64_t i, int64_t k) {
          const T d = clamp(rescale * static_cast<T>(g[at + i]), clip) * of_row * across[i];
          lanes[k] += d * d;
        });
        step += sum_ada_lanes(lanes);
      }
      squares[2 * tile + 1] = step;
    }
  });

  double weight = 0, step = 0;
  for (int64_t tile = 0; tile < t.tiles(); ++tile)
    weight += squares[2 * tile], step += squares[2 * tile + 1];
  const double rate = adafactor_rate(p, weight, step, args.in[0]->size);
  const T decay_factor = T(1 - p.decay);
  const bool add = args.add[0];
  parallel_for(args.threads, t.tiles(), [=](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t group = tile / t.across, first = tile % t.across * ADA_COLUMNS;
      const int64_t n = std::min(t.columns - first, +ADA_COLUMNS);
      const int64_t last = std::min(t.rows, (group + 1) * t.high);
      const T* across = factor + first;
      for (int64_t row = group * t.high; row < last; ++row) {
        const int64_t at = row * t.columns + first;
        const T of_row = T(row_factor[row]), by = T(rate);
        CYNET_IVDEP
        for (int64_t i = 0; i < n; ++i) {
          const T d = clamp(rescale * static_cast<T>(g[at + i]), clip) * of_row * across[i];
          const T next = static_cast<T>(w[at + i]) * decay_factor - by * d;
          y[at + i] = static_cast<W>(add ? static_cast<T>(y[at + i]) + next : next);
        }
      }
    }
  });
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
