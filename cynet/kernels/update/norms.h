// Learning rates that follow from the norms of whole weights (optimizer/_joined.pyx alone).
#ifndef CYNET_NORMS_H
#define CYNET_NORMS_H

#include <cmath>
#include <cstdint>
#include <cstring>

#include "clones.h"
#include "reduce/whole.h"
#include "update/update_arrays.h"

namespace cynet {

// The factor of a learning rate, from the sums of squares of the weight and of its gradient (or of
// the step of rule `first`).
typedef double (*NormRate)(const UpdateParams& params, double weight, double other);
constexpr int64_t NORM_BLOCK = 8 * UPDATE_BLOCK;  // elements whose squares are one partial sum

inline double lamb_rate(const UpdateParams& p, double weight, double step) {
  const double smallest = p.e, largest = p.f;  // limits of the weight's norm, negative for none
  double length = std::sqrt(weight);
  if (smallest >= 0 && length < smallest) length = smallest;
  if (largest >= 0 && length > largest) length = largest;
  return length * step > 0 ? length / std::sqrt(step) : 1;
}

inline double lars_rate(const UpdateParams& p, double weight, double grad) {
  const double eta = p.b, epsilon = p.c, scales = p.d;  // scales 0: the rate is unchanged
  const double length = std::sqrt(weight), slope = std::sqrt(grad) * std::abs(p.rescale);
  return scales != 0 && length * slope > 0 ? eta * length / (slope + p.wd * length + epsilon) : 1;
}

inline double lbsgd_rate(const UpdateParams& p, double weight, double grad) {
  const double ratio = std::sqrt(weight / (grad + p.wd * weight + 1e-18));
  return ratio < 0.01 ? 0.01 : ratio > 100 ? 100 : ratio;
}

struct NormRow {  // a rule whose rate needs norms
  const char *name, *first;
  NormRate rate;
};
static const NormRow norm_table[] = {  // rules whose rates need norms
                                     {"lamb", "lamb_step", lamb_rate},
                                     {"lars", nullptr, lars_rate},
                                     {"lbsgd", nullptr, lbsgd_rate}};

inline NormRate find_norm_rate(const char* name, const char** first) {
  for (const NormRow& row : norm_table)
    if (std::strcmp(row.name, name) == 0) return *first = row.first, row.rate;
  return nullptr;
}

CYNET_CLONES inline double sum_of_squares(int dtype, const void* x, int64_t n) {
  switch (dtype) {
    case F64: return sum_range_squares(static_cast<const double*>(x), 0, n);
    case F32: return sum_range_squares(static_cast<const float*>(x), 0, n);
    case BF16: return sum_range_squares(static_cast<const bfloat16*>(x), 0, n);
    default: return sum_range_squares(static_cast<const half*>(x), 0, n);
  }
}

}  // namespace cynet

#endif
