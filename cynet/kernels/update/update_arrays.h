// Arguments of an update rule, for code that calls its loops without compiling them.
#ifndef CYNET_UPDATE_ARRAYS_H
#define CYNET_UPDATE_ARRAYS_H

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cynet {

constexpr int64_t UPDATE_BLOCK = 512;  // elements that an update loop takes together

// Arguments of all updates; a negative clip means none.
struct UpdateParams {  // numbers of an update rule
  double lr, wd, rescale, clip;
  double a, b, c, d, e, f;  // parameters of the rule, see update.h and norms.h
};

// Arrays of one update; a state that a rule does not have is NULL. out may be the weight itself.
struct UpdateArrays {  // weight, gradient, states, output
  const void* weight;
  const void* grad;
  void* out;
  void* state[4];
};

// True if a rule with RESTS may skip gradients that are 0.
inline bool can_skip_zero_gradients(const UpdateParams& p) {
  return p.wd == 0 && p.rescale >= 0 && std::isfinite(p.rescale) && std::isfinite(p.lr);
}

typedef void (*UpdateLoop)(int threads, const UpdateParams& params, const UpdateArrays& arrays,
                           int64_t n);

// The table in update.cc. dtype is F32, F64, F16 or BF16; nullptr: no such loop.
UpdateLoop find_update_loop(const char* name, int dtype, int master, int add, int level);
// True if the rule does not change weights whose gradient is 0.
bool rule_skips_zero_gradients(const char* name);
// The name of rule i, or nullptr, and its number of states; gpu 1: on GPUs, 2: float32 masters.
const char* update_rule_name(size_t i, int* states, int* gpu);

}  // namespace cynet

#endif
