// Connectionist temporal classification: the probability of a label sequence, summed over its
// alignments with a longer sequence of scores. Included by ctc_loss.cc.
#ifndef CYNET_CTC_LOSS_H
#define CYNET_CTC_LOSS_H

#include <cstdint>

#include "reduce/softmax.h"

namespace cynet {

// Scores are (steps, batch, classes), labels (batch, most). States of a label sequence of length n
// are its n labels and the n + 1 blanks around them.
struct CTCShape {
  int64_t steps, batch, classes, maximum, blank;
  const int64_t* labels;
  const int64_t* lengths;  // number of labels of each sample, at most `maximum`
  const int64_t* times;    // number of time steps of each sample, at most `steps`
};

// The logarithm of 0: finite, so that differences of two are 0 and not NaN.
template <typename T>
constexpr T ctc_log_zero() {
  return T(-1e30);
}

// Length of an array of states (blanks or labels) with one extra element at each end.
CYNET_XINLINE int64_t ctc_state_count(const CTCShape& s) { return s.maximum + 2; }  // per sample

}  // namespace cynet

#define CYNET_PER_ISA_FILE "reduce/ctc_loss_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// True if the time steps suffice for the labels and a blank between equal ones.
inline bool is_ctc_feasible(const CTCShape& s, int64_t b) {
  const int64_t* label = s.labels + b * s.maximum;
  int64_t needed = s.lengths[b];
  for (int64_t i = 1; i < s.lengths[b]; ++i) needed += label[i] == label[i - 1];
  return needed <= s.times[b];
}

// Elements of workspace for all samples, and for each thread.
inline int64_t ctc_shared_elements(const CTCShape& s) { return s.steps * s.batch; }  // of workspace
inline int64_t ctc_thread_elements(const CTCShape& s, bool backward) {  // of workspace
  return ctc_state_count(s) * (backward ? 2 * s.steps + 8 : 8);
}

// shift[t, b] = the logarithm of the sum of e^x over the classes. With dx also
// dx (+)= dy[b] softmax(x), and zeros behind the times and for samples without alignment.
template <typename T>
void ctc_log_sums(int level, const CTCShape& s, const T* x, T* shift, const T* dy, T* dx, bool add,
                  int threads) {
  typedef void (*Row)(const T* x, int64_t n, T* shift, T dy, T* dx, bool add);
  static const Row rows[] = CYNET_AT_LEVELS(ctc_log_sum<T>);
  const Row row = rows[sizeof(T) == sizeof(float) ? level : BASELINE];
  parallel_for(threads, s.steps * s.batch, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i % s.batch;
      T* const to = dx ? dx + i * s.classes : nullptr;
      if (i / s.batch < s.times[b] && is_ctc_feasible(s, b)) {
        row(x + i * s.classes, s.classes, shift + i, dx ? dy[b] : T(0), to, add);
      } else if (dx && !add) {
        for (int64_t k = 0; k < s.classes; ++k) to[k] = 0;
      }
    }
  });
}

// y[b] (+)= - log probability; 0 for a sample without alignment.
template <typename T>
void ctc_forward(int level, const CTCShape& s, const T* x, T* y, bool add, T* space, int threads) {
  typedef double (*Sample)(const CTCShape& s, int64_t b, const T* x, const T* shift, T* scratch);
  static const Sample samples[] = CYNET_AT_LEVELS(ctc_likelihood<T>);
  const Sample sample = samples[sizeof(T) == sizeof(float) ? level : BASELINE];
  T* const scratches = space + ctc_shared_elements(s);
  ctc_log_sums<T>(level, s, x, space, nullptr, nullptr, false, threads);
  const int parts = threads < s.batch ? threads : static_cast<int>(s.batch);
  for_parts(parts, [&](int64_t part) {
    for (int64_t b = s.batch * part / parts; b < s.batch * (part + 1) / parts; ++b) {
      T* const scratch = scratches + part * ctc_thread_elements(s, false);
      const T loss =
          is_ctc_feasible(s, b) ? static_cast<T>(0 - sample(s, b, x, space, scratch)) : T(0);
      y[b] = add ? y[b] + loss : loss;
    }
  });
}

// dx (+)= dy[b] (softmax(x) - the probability of each class over the alignments)
template <typename T>
void ctc_backward(int level, const CTCShape& s, const T* dy, const T* x, T* dx, bool add, T* space,
                  int threads) {
  typedef void (*Sample)(const CTCShape& s, int64_t b, T dy, const T* x, const T* shift, T* dx,
                         T* scratch);
  static const Sample samples[] = CYNET_AT_LEVELS(ctc_gradient<T>);
  const Sample sample = samples[sizeof(T) == sizeof(float) ? level : BASELINE];
  T* const scratches = space + ctc_shared_elements(s);
  ctc_log_sums(level, s, x, space, dy, dx, add, threads);
  const int parts = threads < s.batch ? threads : static_cast<int>(s.batch);
  for_parts(parts, [&](int64_t part) {
    for (int64_t b = s.batch * part / parts; b < s.batch * (part + 1) / parts; ++b)
      if (is_ctc_feasible(s, b))
        sample(s, b, dy[b], x, space, dx, scratches + part * ctc_thread_elements(s, true));
  });
}

}  // namespace cynet

#endif
