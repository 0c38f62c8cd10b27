// Log likelihood of marked Hawkes processes with exponential decay, and its derivatives. A sample's
// marks are apart given the times, so each mark has a state of its own. Included by hawkesll.pyx
// alone.
#ifndef CYNET_HAWKES_H
#define CYNET_HAWKES_H

#include <cmath>
#include <cstdint>

#include "parallel.h"

namespace cynet {

template <typename T>
struct Hawkes {
  int64_t samples, steps, marks;
  const T *lda, *alpha, *beta, *state, *lags;  // (samples, marks), (marks), (marks), as lda, ...
  const int32_t* mark;                         // (samples, steps)
  const T *length, *end;                       // (samples)
};

// What becomes of one mark of a sample; s is its state at the time `last`.
struct HawkesMark {
  double last, s, s_beta, s_start;      // the state and its derivatives by beta and its start
  double lda, alpha, beta, start;       // derivatives of the log likelihood
};

// The first thing that is out of range, as its sample, or -1.
template <typename T>
int64_t hawkes_wrong(const Hawkes<T>& h) {
  for (int64_t n = 0; n < h.samples; ++n) {
    if (!(h.length[n] >= 0 && h.length[n] <= static_cast<T>(h.steps))) return n;
    for (int64_t j = 0; j < static_cast<int64_t>(h.length[n]); ++j) {
      const int32_t k = h.mark[n * h.steps + j];
      if (k < 0 || k >= h.marks) return n;
    }
  }
  return -1;
}

// Moves a mark to `time`, and takes from `ll` the integral of its rate until then.
template <typename T>
void hawkes_move(const Hawkes<T>& h, int64_t n, int64_t k, HawkesMark* m, double time,
                   double* ll) {
  const double lag = time - m->last, mu = h.lda[n * h.marks + k], a = h.alpha[k], b = h.beta[k];
  const double left = std::exp(-b * lag), gone = std::expm1(-b * lag);
  *ll -= mu * lag - a * m->s * gone;
  m->lda -= lag;
  m->alpha += m->s * gone;
  m->beta += a * (m->s_beta * gone - m->s * lag * left);
  m->start += a * m->s_start * gone;
  m->s_beta = m->s_beta * left - m->s * lag * left;
  m->s_start *= left;
  m->s *= left;
  m->last = time;
}

// The log likelihood of sample n; `found` (marks) gets the states at its end, and derivatives.
template <typename T>
double hawkes_sample(const Hawkes<T>& h, int64_t n, HawkesMark* found) {
  double ll = 0, time = 0;
  for (int64_t k = 0; k < h.marks; ++k)
    found[k] = {0, static_cast<double>(h.state[n * h.marks + k]), 0, 1, 0, 0, 0, 0};
  for (int64_t j = 0; j < static_cast<int64_t>(h.length[n]); ++j) {
    const int64_t k = h.mark[n * h.steps + j];
    HawkesMark* m = found + k;
    time += h.lags[n * h.steps + j];
    hawkes_move(h, n, k, m, time, &ll);
    const double a = h.alpha[k], b = h.beta[k];
    const double rate = h.lda[n * h.marks + k] + a * b * m->s;
    ll += std::log(rate);
    m->lda += 1 / rate;
    m->alpha += b * m->s / rate;
    m->beta += a * (m->s + b * m->s_beta) / rate;
    m->start += a * b * m->s_start / rate;
    m->s += 1;
  }
  for (int64_t k = 0; k < h.marks; ++k) hawkes_move(h, n, k, found + k, h.end[n], &ll);
  return ll;
}

// Everything of all samples: `found` is (samples, marks), ll (samples).
template <typename T>
void hawkes(int threads, const Hawkes<T>& h, HawkesMark* found, double* ll) {
  parallel_for(threads, h.samples, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) ll[n] = hawkes_sample(h, n, found + n * h.marks);
  });
}

}  // namespace cynet

#endif
