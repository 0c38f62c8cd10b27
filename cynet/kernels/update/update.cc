// The table of the optimizers' update rules, whose loops are in update.h: the rules, the number of
// their states, and the devices.
#include "update/update.h"

namespace cynet {

// HOST_ONLY: for optimizers whose rates follow from norms; GPU_MASTER: on float32 masters, too
enum GpuSupport { HOST_ONLY, GPU, GPU_MASTER };

struct UpdateRow {  // an update rule and its loops
  const char* name;
  int states;  // number of states that the rule reads and writes
  bool rests;
  GpuSupport gpu;
  // float, double, half, bfloat16; half and bfloat16 with a float master
  UpdateLoop loop[N_REQ][6][N_LEVEL];
};

// Adding to the output, which no optimizer uses, is compiled for the baseline alone.
#define CYNET_UPDATES(R, add, ...)                                               \
  {                                                                              \
    __VA_ARGS__, {baseline::update_loop<R, double, double, double, false, add>}, \
        {baseline::update_loop<R, half, half, float, false, add>},               \
        {baseline::update_loop<R, bfloat16, bfloat16, float, false, add>},       \
        {baseline::update_loop<R, half, float, float, true, add>}, {             \
      baseline::update_loop<R, bfloat16, float, float, true, add>                \
    }                                                                            \
  }
#define CYNET_UPDATE(R, gpu)                                                                       \
  {                                                                                                \
    #R, R::N, R::RESTS != 0, gpu, {                                                                \
      CYNET_UPDATES(R, false, CYNET_AT_LEVELS(update_loop<R, float, float, float, false, false>)), \
          CYNET_UPDATES(R, true, {baseline::update_loop<R, float, float, float, false, true>})     \
    }                                                                                              \
  }
// Rules that run on float masters, at each level: narrow numbers are converted in vectors.
#define CYNET_MASTER_UPDATE(R, gpu)                                                            \
  {                                                                                            \
    #R, R::N, R::RESTS != 0, gpu, {                                                            \
      {CYNET_AT_LEVELS(update_loop<R, float, float, float, false, false>),                     \
       {baseline::update_loop<R, double, double, double, false, false>},                       \
       {baseline::update_loop<R, half, half, float, false, false>},                            \
       {baseline::update_loop<R, bfloat16, bfloat16, float, false, false>},                    \
       CYNET_AT_LEVELS(update_loop<R, half, float, float, true, false>),                       \
       CYNET_AT_LEVELS(update_loop<R, bfloat16, float, float, true, false>)},                  \
          CYNET_UPDATES(R, true, {baseline::update_loop<R, float, float, float, false, true>}) \
    }                                                                                          \
  }
static const UpdateRow update_table[] = {
    // all update rules
    CYNET_MASTER_UPDATE(sgd, GPU_MASTER),
    CYNET_MASTER_UPDATE(sgd_mom, GPU_MASTER),
    CYNET_MASTER_UPDATE(nag_mom, GPU_MASTER),
    CYNET_UPDATE(signsgd, GPU),
    CYNET_UPDATE(signum, GPU),
    CYNET_UPDATE(adam, GPU),
    CYNET_UPDATE(rmsprop, GPU),
    CYNET_UPDATE(rmspropalex, GPU),
    CYNET_UPDATE(ftrl, GPU),
    CYNET_UPDATE(ftml, GPU),
    CYNET_MASTER_UPDATE(nag, GPU_MASTER),
    CYNET_UPDATE(adagrad, GPU),
    CYNET_UPDATE(adamax, GPU),
    CYNET_UPDATE(nadam, GPU),
    CYNET_UPDATE(adadelta, GPU),
    CYNET_UPDATE(lion, GPU),
    CYNET_MASTER_UPDATE(adamw, GPU_MASTER),
    CYNET_MASTER_UPDATE(lamb_step, HOST_ONLY),
    CYNET_UPDATE(along, HOST_ONLY),
    CYNET_MASTER_UPDATE(lamb_move, HOST_ONLY),
    CYNET_UPDATE(hold, HOST_ONLY),
};

static const UpdateRow* find_update_row(const char* name) {
  for (const UpdateRow& row : update_table)
    if (std::strcmp(row.name, name) == 0) return &row;
  return nullptr;
}

bool rule_skips_zero_gradients(const char* name) {
  const UpdateRow* row = find_update_row(name);
  return row && row->rests;
}

const char* update_rule_name(size_t i, int* states, int* gpu) {
  if (i >= sizeof(update_table) / sizeof(update_table[0])) return nullptr;
  *states = update_table[i].states, *gpu = update_table[i].gpu;
  return update_table[i].name;
}

UpdateLoop find_update_loop(const char* name, int dtype, int master, int add, int level) {
  const bool narrow = dtype == F16 || dtype == BF16;
  if (!narrow && (master || dtype > F64)) return nullptr;
  const int column = (dtype == BF16 ? 3 : dtype) + (master ? 2 : 0);
  const UpdateRow* row = find_update_row(name);
  if (!row) return nullptr;
  const auto& loops = row->loop[add][column];
  return loops[level] ? loops[level] : loops[BASELINE];
}

}  // namespace cynet
