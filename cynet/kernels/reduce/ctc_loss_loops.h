// The loops of ctc_loss.h, compiled for each level (levels.h), after softmax_loops.h.
//
// Log probabilities, two arrays for each step: blank[i] is before label[i], the last blank behind
// all labels; label[-1] and label[n] are impossible. At each step the largest is subtracted from
// all, so that the numbers stay small and floats precise.

template <typename T>
void ctc_log_sum(const T* x, int64_t n, T* shift, T dy, T* dx, bool add) {
  const T top = largest(x, n, 1, T(1));
  const T all = top + math::log(exp_sum<false>(x, dx, n, 1, T(1), top));
  *shift = all;
  if (!dx) return;
  fill_line(dx, n, 1, add, [=](int64_t k) { return dy * math::exp(x[k] - all); });
}

// log(e^a + e^b)
template <typename T>
CYNET_XINLINE T ctc_log_add(T a, T b) {
  const T maximum = a < b ? b : a, least = a < b ? a : b;
  return maximum + math::log(T(1) + math::exp_of_nonpositive(least - maximum));
}
template <typename T>
CYNET_XINLINE T ctc_log_add(T a, T b, T c) {
  const T ab = a < b ? b : a, maximum = ab < c ? c : ab;
  return maximum +
         math::log(math::exp_of_nonpositive(a - maximum) + math::exp_of_nonpositive(b - maximum) +
                   math::exp_of_nonpositive(c - maximum));
}

// One sample of a CTC loss: the inputs of its steps.
template <typename T>
struct CTCSample {
  const int64_t* label;
  int64_t n, step, classes, blank;
  const T* x;
  const T* shift;
  T* chance;  // log probability of each label at a step
  T* skip;    // 0 if label i may follow label i - 1 without a blank, else log(0)

  CYNET_XINLINE CTCSample(const CTCShape& s, int64_t b, const T* data, const T* shifts, T* scratch)
      : label(s.labels + b * s.maximum),
        n(s.lengths[b]),
        step(s.batch),
        classes(s.classes),
        blank(s.blank),
        x(data + b * s.classes),
        shift(shifts + b),
        chance(scratch),
        skip(scratch + s.maximum + 2) {
    for (int64_t i = 0; i <= n; ++i)
      skip[i] = i == 0 || i == n || label[i] == label[i - 1] ? ctc_log_zero<T>() : T(0);
  }

  CYNET_XINLINE T log_probability(int64_t t, int64_t k) const {
    const T value = x[t * step * classes + k] - shift[t * step];
    return value < ctc_log_zero<T>() ? ctc_log_zero<T>() : value;
  }

  // Fills `chance`, and returns the log probability of the blank.
  CYNET_XINLINE T load_step_chances(int64_t t) const {
    for (int64_t i = 0; i < n; ++i) chance[i] = log_probability(t, label[i]);
    chance[n] = 0;
    return log_probability(t, blank);
  }
};

// Subtracts the largest of the n + 1 blanks and n labels from all, and returns it.
template <typename T>
CYNET_XINLINE T ctc_normalize(T* blanks, T* labels, int64_t n) {
  T maximum = blanks[0];
  for (int64_t i = 1; i <= n; ++i) maximum = greater_of(maximum, blanks[i]);
  for (int64_t i = 0; i < n; ++i) maximum = greater_of(maximum, labels[i]);
  for (int64_t i = 0; i <= n; ++i) blanks[i] -= maximum;
  for (int64_t i = 0; i < n; ++i) labels[i] -= maximum;
  return maximum;
}

// The first step.
template <typename T>
CYNET_XINLINE void ctc_init_states(const CTCSample<T>& s, T* blanks, T* labels) {
  for (int64_t i = 0; i <= s.n; ++i) blanks[i] = labels[i] = ctc_log_zero<T>();
  blanks[0] = s.log_probability(0, s.blank);
  if (s.n > 0) labels[0] = s.log_probability(0, s.label[0]);
  labels[-1] = ctc_log_zero<T>();
}

// Log probabilities of the next step, from the states of the step before.
template <typename T>
CYNET_XINLINE void ctc_next_step(const CTCSample<T>& s, int64_t t, const T* blanks, const T* labels,
                                 T* next_blanks, T* next_labels) {
  const T blank = s.load_step_chances(t);
  CYNET_IVDEP
  for (int64_t i = 0; i <= s.n; ++i) {
    const T before = labels[i - 1];
    next_blanks[i] = blank + ctc_log_add(blanks[i], before);
    next_labels[i] = s.chance[i] + ctc_log_add(labels[i], blanks[i], before + s.skip[i]);
  }
  next_labels[-1] = next_labels[s.n] = ctc_log_zero<T>();
}

// The log probability of the last two states, those at which a sequence may end.
template <typename T>
CYNET_XINLINE T ctc_end_probability(const T* blanks, const T* labels, int64_t n) {
  return n > 0 ? ctc_log_add(blanks[n], labels[n - 1]) : blanks[0];
}

// Returns minus infinity for a log probability at or near log(0).
template <typename T>
CYNET_XINLINE double ctc_zero_as_minus_infinity(double total) {
  return total <= static_cast<double>(ctc_log_zero<T>()) / 2
             ? -std::numeric_limits<double>::infinity()
             : total;
}

// Returns the log probability of sample b; needs 8 rows of memory.
template <typename T>
double ctc_likelihood(const CTCShape& shape, int64_t b, const T* x, const T* shift, T* scratch) {
  const int64_t row = shape.maximum + 2;
  const CTCSample<T> s(shape, b, x, shift, scratch);
  T* blanks = scratch + 2 * row;
  T* labels = scratch + 3 * row + 1;
  T* next_blanks = scratch + 4 * row;
  T* next_labels = scratch + 5 * row + 1;
  if (shape.times[b] == 0) return 0;  // loss of a sequence of 0 steps without labels
  ctc_init_states(s, blanks, labels);
  double total = ctc_normalize(blanks, labels, s.n);
  for (int64_t t = 1; t < shape.times[b]; ++t) {
    ctc_next_step(s, t, blanks, labels, next_blanks, next_labels);
    total += ctc_normalize(next_blanks, next_labels, s.n);
    T* const free_blanks = blanks;
    T* const free_labels = labels;
    blanks = next_blanks, labels = next_labels;
    next_blanks = free_blanks, next_labels = free_labels;
  }
  return ctc_zero_as_minus_infinity<T>(total + ctc_end_probability(blanks, labels, s.n));
}

// dx[t, b, k] -= dy * probability of class k; needs 2 rows of memory for each step, and 8.
template <typename T>
void ctc_gradient(const CTCShape& shape, int64_t b, T dy, const T* x, const T* shift, T* dx,
                  T* scratch) {
  const int64_t row = shape.maximum + 2, times = shape.times[b];
  const CTCSample<T> s(shape, b, x, shift, scratch);
  // probability of the remaining steps after a state, without the state's own step
  T* blanks = scratch + 2 * row;
  T* labels = scratch + 3 * row;
  T* after_blanks = scratch + 4 * row;  // blanks after the step
  T* after_labels = scratch + 5 * row;
  T* share = scratch + 6 * row;  // probabilities of blanks, then of labels
  T* const from = scratch + 8 * row;
  double total = 0;
  for (int64_t t = 0; t < times; ++t) {
    T* const here = from + 2 * row * t;
    if (t == 0) ctc_init_states(s, here, here + row + 1);
    else ctc_next_step(s, t, here - 2 * row, here - row + 1, here, here + row + 1);
    total += ctc_normalize(here, here + row + 1, s.n);
    if (t == times - 1) total += ctc_end_probability(here, here + row + 1, s.n);
  }
  // without a possible alignment there is no gradient
  if (ctc_zero_as_minus_infinity<T>(total) < std::numeric_limits<double>::lowest())
    dy = std::numeric_limits<T>::quiet_NaN();
  for (int64_t i = 0; i <= s.n + 1; ++i) blanks[i] = labels[i] = ctc_log_zero<T>();
  blanks[s.n] = 0;
  if (s.n > 0) labels[s.n - 1] = 0;
  for (int64_t t = times - 1; t >= 0; --t) {
    const T* const here = from + 2 * row * t;
    T* const to = dx + (t * shape.batch + b) * s.classes;
    T maximum = ctc_log_zero<T>() * 4, of_blank = 0, of_labels = 0;
    for (int64_t i = 0; i <= s.n; ++i) {
      share[i] = here[i] + blanks[i];
      share[row + i] = here[row + 1 + i] + labels[i];
      maximum = greater_of(maximum, greater_of(share[i], share[row + i]));
    }
    for (int64_t i = 0; i <= s.n; ++i) share[i] = math::exp_of_nonpositive(share[i] - maximum);
    for (int64_t i = 0; i < s.n; ++i)
      share[row + i] = math::exp_of_nonpositive(share[row + i] - maximum);
    for (int64_t i = 0; i <= s.n; ++i) of_blank += share[i];
    for (int64_t i = 0; i < s.n; ++i) of_labels += share[row + i];
    const T factor = dy / (of_blank + of_labels);
    to[s.blank] -= factor * of_blank;
    for (int64_t i = 0; i < s.n; ++i) to[s.label[i]] -= factor * share[row + i];
    if (t == 0) break;
    const T blank = s.load_step_chances(t);
    for (int64_t i = 0; i <= s.n; ++i) {
      after_blanks[i] = blank + blanks[i];
      after_labels[i] = s.chance[i] + labels[i];
    }
    after_labels[s.n] = after_labels[s.n + 1] = after_blanks[s.n + 1] = ctc_log_zero<T>();
    CYNET_IVDEP
    for (int64_t i = 0; i <= s.n; ++i) {
      blanks[i] = ctc_log_add(after_blanks[i], after_labels[i]);
      labels[i] = ctc_log_add(after_labels[i], after_blanks[i + 1],
                              after_labels[i + 1] + (i < s.n ? s.skip[i + 1] : ctc_log_zero<T>()));
    }
    ctc_normalize(blanks, labels, s.n);
    labels[s.n] = ctc_log_zero<T>();
  }
}
