// Log likelihood of marked Hawkes processes with exponential decay, and its derivatives. Given the
// times, a sample's marks are independent, so each mark has its own state.
#include <cmath>

#include "kernel.h"

namespace cynet {
namespace {
template <typename T>
struct Hawkes {  // inputs of a Hawkes process
  int64_t samples, steps, marks;
  const T *lda, *alpha, *beta, *state, *lags;  // (samples, marks), (marks), (marks), as lda, ...
  const int32_t* mark;                         // (samples, steps)
  const T *length, *end;                       // (samples)
};

// The state and the derivatives of one mark of a sample; s is its state at the time `last`.
struct HawkesMark {  // state of one event type, with derivatives
  double last, s, s_beta, s_start;      // the state and its derivatives by beta and its start
  double lda, alpha, beta, start;       // derivatives of the log likelihood
};

// The first sample with a value that is out of range, or -1.
template <typename T>
int64_t first_invalid_sample(const Hawkes<T>& h) {
  for (int64_t n = 0; n < h.samples; ++n) {
    if (!(h.length[n] >= 0 && h.length[n] <= static_cast<T>(h.steps))) return n;
    for (int64_t j = 0; j < static_cast<int64_t>(h.length[n]); ++j) {
      const int32_t k = h.mark[n * h.steps + j];
      if (k < 0 || k >= h.marks) return n;
    }
  }
  return -1;
}

// Advances a mark to `time`, and subtracts the integral of its rate until then from `ll`.
template <typename T>
void advance_mark(const Hawkes<T>& h, int64_t n, int64_t k, HawkesMark* m, double time,
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

// Returns the log likelihood of sample n; `found` (marks) gets the final states and derivatives.
template <typename T>
double hawkes_likelihood(const Hawkes<T>& h, int64_t n, HawkesMark* found) {
  double ll = 0, time = 0;
  for (int64_t k = 0; k < h.marks; ++k)
    found[k] = {0, static_cast<double>(h.state[n * h.marks + k]), 0, 1, 0, 0, 0, 0};
  for (int64_t j = 0; j < static_cast<int64_t>(h.length[n]); ++j) {
    const int64_t k = h.mark[n * h.steps + j];
    HawkesMark* m = found + k;
    time += h.lags[n * h.steps + j];
    advance_mark(h, n, k, m, time, &ll);
    const double a = h.alpha[k], b = h.beta[k];
    const double rate = h.lda[n * h.marks + k] + a * b * m->s;
    ll += std::log(rate);
    m->lda += 1 / rate;
    m->alpha += b * m->s / rate;
    m->beta += a * (m->s + b * m->s_beta) / rate;
    m->start += a * b * m->s_start / rate;
    m->s += 1;
  }
  for (int64_t k = 0; k < h.marks; ++k) advance_mark(h, n, k, found + k, h.end[n], &ll);
  return ll;
}

// Makes the process from the operator's inputs, from in[first] on.
template <typename T>
Hawkes<T> make_hawkes(const Args& args, int first) {
  const Blob* const* in = args.in + first;
  auto at = [=](int i) { return static_cast<const T*>(in[i]->data); };
  return {in[0]->shape[0],
          in[4]->shape[1],
          in[0]->shape[1],
          at(0),
          at(1),
          at(2),
          at(3),
          at(4),
          static_cast<const int32_t*>(in[5]->data),
          at(6),
          at(7)};
}

template <int first>
int64_t hawkes_workspace_bytes(const Args& args) {
  const Blob& lda = *args.in[first];
  return lda.size * sizeof(HawkesMark) + lda.shape[0] * sizeof(double);
}

// Computes the marks of all samples in the workspace; nullptr if the run has failed.
template <typename T>
HawkesMark* compute_hawkes_marks(const Args& args, const Hawkes<T>& h) {
  HawkesMark* found = static_cast<HawkesMark*>(args.space);
  double* ll = reinterpret_cast<double*>(found + h.samples * h.marks);
  const int64_t wrong = first_invalid_sample(h);
  if (wrong >= 0) {
    args.fail(wrong, {static_cast<double>(h.steps), static_cast<double>(h.marks)});
    return nullptr;
  }
  parallel_for(args.threads, h.samples, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) ll[n] = hawkes_likelihood(h, n, found + n * h.marks);
  });
  return found;
}

template <typename T>
void write_rounded(const Args& args, int k, int64_t i, double value) {
  if (!args.wanted[k]) return;
  T& to = args.output<T>(k)[i];
  to = static_cast<T>(value) + (args.add[k] ? to : 0);
}

// out: the log likelihoods (samples) and the states at the end (samples, marks)
template <typename T>
void hawkesll(const Args& args) {
  const Hawkes<T> h = make_hawkes<T>(args, 0);
  const HawkesMark* found = compute_hawkes_marks(args, h);
  if (!found) return;
  const double* ll = reinterpret_cast<const double*>(found + h.samples * h.marks);
  for (int64_t i = 0; i < h.samples; ++i) write_rounded<T>(args, 0, i, ll[i]);
  for (int64_t i = 0; i < h.samples * h.marks; ++i) write_rounded<T>(args, 1, i, found[i].s);
}

// out: gradients of lda, alpha, beta and state by those of the two outputs, in[0] and in[1]
template <typename T>
void hawkesll_grad(const Args& args) {
  const Hawkes<T> h = make_hawkes<T>(args, 2);
  const HawkesMark* found = compute_hawkes_marks(args, h);
  if (!found) return;
  const T *dll = args.input<T>(0), *dstates = args.input<T>(1);
  for (int64_t k = 0; k < h.marks; ++k) {
    double alpha = 0, beta = 0;
    for (int64_t n = 0; n < h.samples; ++n) {
      const int64_t i = n * h.marks + k;
      const double g = dll ? dll[n] : 0, of_state = dstates ? dstates[i] : 0;
      alpha += g * found[i].alpha;
      beta += g * found[i].beta + of_state * found[i].s_beta;
      write_rounded<T>(args, 0, i, g * found[i].lda);
      write_rounded<T>(args, 3, i, g * found[i].start + of_state * found[i].s_start);
    }
    write_rounded<T>(args, 1, k, alpha);
    write_rounded<T>(args, 2, k, beta);
  }
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_SPACE_KERNEL(hawkesll, NoParams, 64, hawkes_workspace_bytes<0>, CYNET_FLOATS)
CYNET_PLAIN_SPACE_KERNEL(hawkesll_grad, NoParams, 64, hawkes_workspace_bytes<2>, CYNET_FLOATS)
