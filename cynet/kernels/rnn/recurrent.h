// The steps of recurrent layers: recurrent products and gates, forward and backward.
//
// Sequences of a batch are independent, so each thread computes all steps of some of them. The
// recurrent weights are packed once a run in the order in which small.h reads them (float32), or
// read in place by BLAS (float64).
#ifndef CYNET_RECURRENT_H
#define CYNET_RECURRENT_H

#include "isa/kernel_table.h"
#include "gemm/small.h"
#include "common/scalar_math.h"

namespace cynet {

enum RecurrentMode { RNN_RELU, RNN_TANH, LSTM, GRU };

inline int64_t gate_count(int mode) { return mode == LSTM ? 4 : mode == GRU ? 3 : 1; }

typedef void (*Dgemm)(int, int, int64_t, int64_t, int64_t, double, const double*, int64_t,
                      const double*, int64_t, double, double*, int64_t);

// Functions for weights that are packed for another kernel than the level's loops (amx.h).
struct PackedProducts {  // functions for packed weights
  int64_t (*size)(int64_t k, int64_t n);
  void (*pack)(const float* b, int64_t b_row, bool transposed, int64_t k, int64_t n, float* to);
  void (*multiply_packed)(const float* a, int64_t a_row, int64_t m, const float* packed, int64_t k,
                          int64_t n, float* c, int64_t c_row, bool add);
};

// One direction of one layer; arrays are of float, or of double if `wide`. `h` and `c` have one
// step more than the sequence: the first in the layer's direction is the initial state.
//
// With `projection` (LSTM only), `full` is the hidden state, and h is its product with the
// projection, of length `state`; else `state` is `hidden`.
struct Recurrence {  // one layer and direction
  int64_t steps, batch, hidden, state;
  int mode;
  bool wide, reverse;
  const int64_t* lengths;  // lengths of the `batch` sequences, 0 .. steps; NULL: all full
  bool clip, clip_nan;     // options for the cells of an LSTM
  double clip_min, clip_max;
  Dgemm gemm;
  const void* weight;  // (gates * hidden, state)
  const void* packed;  // weight as packed by pack_recurrence
  const void* projection;  // (state, hidden), or NULL
  void* full;       // (steps, batch, hidden)
  void* dfull;      // (batch, hidden): scratch of backward
  void* dprojected;  // (steps, batch, state): gradient of the products
  const PackedProducts* products;  // NULL: the level's own
  void* gates;         // (steps, batch, gates, hidden): forward turns sums into gates
  void* h;             // (steps + 1, batch, state)
  void* c;             // (steps + 1, batch, hidden); LSTM
  void* n;             // (steps, batch, hidden): W_n h + b_n of forward; GRU
  const void* bias_n;  // (hidden,): b_n; GRU
  void* y;             // h of each step once more, y_row from one sequence to the next, or NULL
  int64_t y_row;
  bool y_add;
  const void* dy;  // gradient of y, or NULL
  void* dh;        // (batch, state): gradient of the last state, then of the first if `wants_dh`
  void* dc;        // gradient of the cells, (batch, hidden); LSTM
  void* dgates;    // gradient of the gates' sums, in the shape of gates
  void* dgates_h;  // gradient of the recurrent products (GRU); other modes: dgates
  bool wants_dh;

  // Indices in h and c of step t, and of the state before it.
  int64_t state_index(int64_t t) const { return reverse ? t : t + 1; }
  int64_t previous_index(int64_t t) const { return reverse ? t + 1 : t; }
  bool is_active(int64_t t, int64_t row) const { return !lengths || t < lengths[row]; }
};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "rnn/recurrent_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// AMX if most of a tile's rows are used, else the level's loops.
inline const PackedProducts* recurrent_products(int level, bool wide, int64_t batch,
                                                int64_t hidden) {
#ifdef CYNET_AMX
  static constexpr PackedProducts tiled = {&amx::packed_size<amx::PACKED_DEPTH>,
                                           &amx::pack<amx::PACKED_DEPTH>, &amx::multiply_packed};
  if (level == AMX && !wide && batch >= 32 && hidden >= 96) return &tiled;
#endif
  return nullptr;
}

// The elements (float or double) that pack_recurrence writes; they must be aligned to 64 bytes.
inline int64_t recurrent_packed_size(int level, const Recurrence& r) {
  static constexpr decltype(&baseline::packed_size) table[] = CYNET_AT_LEVELS(packed_size);
  const auto size = table[r.wide ? BASELINE : level];
  return std::max(size(r, false), size(r, true));
}

// The recurrent weights in the order in which a run reads them.
inline void pack_recurrence(int level, bool backward, const Recurrence& r, void* to) {
  static constexpr decltype(&baseline::pack_weights) table[] = CYNET_AT_LEVELS(pack_weights);
  table[r.wide ? BASELINE : level](r, backward, to);
}

// Calls run(begin, end) for all sequences. The sums of BLAS (double) depend on the number of rows
// of a product, so the partition follows from the shape, not from threads.
template <class Run>
inline void for_sequences(int threads, const Recurrence& r, const Run& run) {
  const int64_t together = r.wide ? 16 : 1;
  parallel_for(threads, (r.batch + together - 1) / together, [&](int64_t begin, int64_t end) {
    if (!r.wide) return run(r, begin, end);
    for (int64_t i = begin * together; i < std::min(end * together, r.batch); i += together)
      run(r, i, std::min(i + together, r.batch));
  });
}

inline void recurrent_forward(int level, int threads, const Recurrence& r) {
  static constexpr decltype(&baseline::forward_steps<float>) narrow[] =
      CYNET_AT_LEVELS(forward_steps<float>);
  const auto run = r.wide ? &baseline::forward_steps<double> : narrow[level];
  for_sequences(threads, r, run);
}

inline void recurrent_backward(int level, int threads, const Recurrence& r) {
  static constexpr decltype(&baseline::backward_steps<float>) narrow[] =
      CYNET_AT_LEVELS(backward_steps<float>);
  const auto run = r.wide ? &baseline::backward_steps<double> : narrow[level];
  for_sequences(threads, r, run);
}

// Called after recurrent_backward: true if the first step adds nothing to the gradient of the
// recurrent weights, as its initial state is zero.
inline bool is_first_step_skippable(int level, const Recurrence& r) {
  static constexpr decltype(&baseline::is_first_gradient_zero<float>) narrow[] =
      CYNET_AT_LEVELS(is_first_gradient_zero<float>);
  return (r.wide ? &baseline::is_first_gradient_zero<double> : narrow[level])(r);
}

}  // namespace cynet

#endif
