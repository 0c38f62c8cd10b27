// Loops of the random distributions, compiled for each level (levels.h), after philox_loops.h.
// Included by random_fill.h.

// Standard variates of elements [first, first + n); first is a multiple of CHUNK.
inline void fill_standard_uniform(const Philox& key, int64_t first, int64_t n, float* out) {
  for_pieces<4 * LANES>(first, n, out, [&](uint64_t block, float* to) {
    const PhiloxBlocks words(key, block);
    for (int j = 0; j < LANES; ++j)
      for (int w = 0; w < 4; ++w) to[4 * j + w] = unit_float(words.c[w][j]);
  });
}

inline void fill_standard_uniform(const Philox& key, int64_t first, int64_t n, double* out) {
  for_pieces<2 * LANES>(first, n, out, [&](uint64_t block, double* to) {
    const PhiloxBlocks words(key, block);
    for (int j = 0; j < LANES; ++j) {
      to[2 * j] = words.first_uniform(j);
      to[2 * j + 1] = words.second_uniform(j);
    }
  });
}

inline void fill_standard_normal(const Philox& key, int64_t first, int64_t n, float* out) {
  for_pieces<4 * LANES>(first, n, out, [&](uint64_t block, float* to) {
    const PhiloxBlocks words(key, block);
    float pairs[4][LANES];
    for (int w = 0; w < 4; w += 2)
      for (int j = 0; j < LANES; ++j)
        normal_floats(words.c[w][j], words.c[w + 1][j], &pairs[w][j], &pairs[w + 1][j]);
    for (int j = 0; j < LANES; ++j)
      for (int w = 0; w < 4; ++w) to[4 * j + w] = pairs[w][j];
  });
}

inline void fill_standard_normal(const Philox& key, int64_t first, int64_t n, double* out) {
  for_pieces<2 * LANES>(first, n, out, [&](uint64_t block, double* to) {
    const PhiloxBlocks words(key, block);
    for (int j = 0; j < LANES; ++j)
      normal_doubles(words.first_uniform(j), words.second_uniform(j), &to[2 * j], &to[2 * j + 1]);
  });
}

inline void fill_standard_exponential(const Philox& key, int64_t first, int64_t n, float* out) {
  fill_standard_uniform(key, first, n, out);
  for (int64_t i = 0; i < n; ++i) out[i] = -log_float(1.0f - out[i]);
}

inline void fill_standard_exponential(const Philox& key, int64_t first, int64_t n, double* out) {
  fill_standard_uniform(key, first, n, out);
  for (int64_t i = 0; i < n; ++i) out[i] = -log_double(1.0 - out[i]);
}

// Scales and shifts standard variates by the parameters a and b, in place.
template <typename T, typename C>
inline void scale_and_shift(int distribution, C a, C b, C* values, int64_t n) {
  if (is_standard<T>(distribution, a, b)) return;
  if (distribution == kUniform) {
    const C width = b - a, last = last_uniform<T>(a, b);
    for (int64_t i = 0; i < n; ++i) values[i] = scaled_uniform(values[i], a, width, last);
  } else if (distribution == kNormal) {
    for (int64_t i = 0; i < n; ++i) values[i] = CYNET_ADD(a, CYNET_MUL(values[i], b));
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = values[i] / a;
  }
}

// --- distributions with rejection ---------------------------------------------------------------
// LANES elements at a time make the first attempt of draw_gamma and draw_poisson, with the same
// operations on the same random words. Elements that it rejects are drawn again one by one.

// value[j] = the result of draw_gamma for alpha[j] if ok[j] stays true, from block next[j] on;
// next[j] advances by the number of blocks used.
inline void draw_gamma_lanes(const Philox& key, const double* alpha, uint64_t* next, double* value,
                             int64_t* ok) {
  double shape[LANES], factor[LANES], x[LANES];
  int64_t small = 0;
  for (int j = 0; j < LANES; ++j) {
    ok[j] = ok[j] && is_valid_shape(alpha[j]);
    shape[j] = alpha[j] < 1 ? alpha[j] + 1 : alpha[j];
    factor[j] = 1;
    small |= alpha[j] < 1;
  }
  if (small) {
    const PhiloxBlocks words(key, next);
    for (int j = 0; j < LANES; ++j) {
      factor[j] = alpha[j] < 1 ? gamma_factor(words.uniform(j), alpha[j]) : 1.0;
      next[j] += alpha[j] < 1 ? ATTEMPT_STRIDE : 0;
    }
  }
  const PhiloxBlocks proposed(key, next);
  for (int j = 0; j < LANES; ++j) {
    double sine;
    normal_doubles(proposed.first_uniform(j), proposed.second_uniform(j), &x[j], &sine);
    next[j] += ATTEMPT_STRIDE;
  }
  const PhiloxBlocks test(key, next);
  for (int j = 0; j < LANES; ++j) {
    const GammaConstants form(shape[j]);
    const double v = form.cube_root(x[j]), cube = third_power(v);
    ok[j] &= (v > 0) & form.is_accepted(cube, x[j], test.uniform(j));
    value[j] = CYNET_MUL(CYNET_MUL(form.d, cube), factor[j]);
    next[j] += ATTEMPT_STRIDE;
  }
}

// value[j] = the result of draw_poisson for lambda[j] from block next[j] on. Both of its methods
// run if there are lambdas of both kinds.
inline void draw_poisson_lanes(const Philox& key, const double* lambda, uint64_t* next,
                               double* value) {
  double limit[LANES], product[LANES];
  int64_t multiplies[LANES], done[LANES], few = 0;
  for (int j = 0; j < LANES; ++j) {
    multiplies[j] = (lambda[j] >= 0) & (lambda[j] < MIN_PROPOSAL_LAMBDA);
    limit[j] =
        multiplies[j] ? exact_exp_of_nonpositive(-lambda[j]) : 1.0;  // 1: no product exceeds it
    done[j] = multiplies[j];
    product[j] = 1;
    value[j] = 0;
    few += multiplies[j];
  }
  if (few < LANES) {
    uint64_t second[LANES];
    for (int j = 0; j < LANES; ++j) second[j] = next[j] + ATTEMPT_STRIDE;
    const PhiloxBlocks proposed(key, next), test(key, second);
    double k[LANES], log_k[LANES];
    for (int j = 0; j < LANES; ++j) {
      k[j] = PoissonProposal(lambda[j], proposed.uniform(j) - 0.5).k;
      log_k[j] = log_factorial_from_15(k[j]);
    }
    for (int j = 0; j < LANES; ++j)
      if (k[j] >= 0 && k[j] < 15) log_k[j] = log_factorial(k[j]);
    for (int j = 0; j < LANES; ++j) {
      const PoissonProposal form(lambda[j], proposed.uniform(j) - 0.5);
      const double v = test.uniform(j);
      const bool takes =
          form.is_accepted(v) | ((k[j] >= 0) & form.is_accepted_exactly(v, lambda[j], log_k[j]));
      done[j] |= takes & is_valid_shape(lambda[j]);
      value[j] = multiplies[j] ? 0.0 : k[j];
    }
    for (int j = 0; j < LANES; ++j) {
      if (done[j]) continue;
      ElementStream own(key, next[j]);
      value[j] = draw_poisson(own, lambda[j]);
    }
  }
  while (few > LANES / 6) {  // the last few elements are cheaper one by one
    const PhiloxBlocks words(key, next);
    few = 0;
    for (int j = 0; j < LANES; ++j) {
      product[j] = CYNET_MUL(product[j], words.uniform(j));
      const bool goes_on = product[j] > limit[j];
      value[j] += goes_on ? 1.0 : 0.0;
      few += goes_on;
      next[j] += ATTEMPT_STRIDE;
    }
  }
  for (int j = 0; j < LANES && few > 0; ++j) {
    if (!(product[j] > limit[j])) continue;
    ElementStream own(key, next[j]);
    const bool begun = value[j] > 0;
    value[j] =
        count_uniforms(own, begun ? product[j] : own.uniform(), limit[j], begun ? value[j] - 1 : 0);
  }
}

// Draws elements [first, first + n), n <= LANES; parameters a and b have LANES elements.
template <typename C>
inline void draw_lanes(Distribution distribution, const Philox& key, int64_t first, int64_t n,
                       const double* a, const double* b, C* out) {
  uint64_t next[LANES];
  double value[LANES], shape[LANES], scale[LANES];
  int64_t ok[LANES];
  for (int j = 0; j < LANES; ++j) {
    next[j] = first + j;
    ok[j] = 1;
  }
  if (distribution == kNegativeBinomial) {
    for (int j = 0; j < LANES; ++j) {
      ok[j] = b[j] > 0 && b[j] < 1;
      shape[j] = a[j];
      scale[j] = (1 - b[j]) / b[j];
    }
  } else if (distribution == kGeneralizedNegativeBinomial) {
    for (int j = 0; j < LANES; ++j) {
      shape[j] = 1 / b[j];
      scale[j] = CYNET_MUL(a[j], b[j]);
      ok[j] = a[j] != 0;
    }
  } else if (distribution == kGamma) {
    for (int j = 0; j < LANES; ++j) {
      shape[j] = a[j];
      scale[j] = b[j];
    }
  }
  if (distribution == kPoisson) {
    draw_poisson_lanes(key, a, next, value);
  } else {
    draw_gamma_lanes(key, shape, next, value, ok);
    for (int j = 0; j < LANES; ++j) scale[j] = ok[j] ? CYNET_MUL(value[j], scale[j]) : 0.0;
    if (distribution == kGamma)
      for (int j = 0; j < LANES; ++j) value[j] = scale[j];
    else draw_poisson_lanes(key, scale, next, value);
  }
  for (int64_t j = 0; j < n; ++j) out[j] = static_cast<C>(value[j]);
  for (int64_t j = 0; j < n; ++j) {
    if (ok[j]) continue;
    ElementStream own(key, first + j);
    out[j] = static_cast<C>(draw_one(distribution, own, a[j], b[j]));
  }
}

// --- chunks --------------------------------------------------------------------------------------
template <typename T, typename Source>
inline void store(T* out, const Source* values, int64_t n, bool add) {
  if constexpr (is_narrow<T>) {
    for (int64_t i = 0; i < n; ++i) {
      const T value(static_cast<float>(values[i]));
      out[i] = add ? T(static_cast<float>(out[i]) + static_cast<float>(value)) : value;
    }
  } else if (add) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(out[i] + static_cast<T>(values[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(values[i]);
  }
}

// Draws elements [first, first + n) of an array; n <= CHUNK, and first is a multiple of CHUNK. C is
// the type of the arithmetic: float for narrow floats and float32.
template <typename T, typename C>
void fill_chunk(const DrawRequest& d, const Philox& key, int64_t first, int64_t n, T* out,
                bool add) {
  C buffer[CHUNK];
  const bool direct = std::is_same<T, C>::value && !add;
  C* values = direct ? reinterpret_cast<C*>(out) : buffer;
  const bool standard = d.distribution <= kExponential;
  if (d.distribution == kUniform) fill_standard_uniform(key, first, n, values);
  if (d.distribution == kNormal) fill_standard_normal(key, first, n, values);
  if (d.distribution == kExponential) fill_standard_exponential(key, first, n, values);
  if (standard) {
    for (int64_t i = 0; i < n;) {
      const ElementParameters p(d, first + i);
      const int64_t end = std::min(n, p.end - first);
      scale_and_shift<T>(d.distribution, static_cast<C>(p.a), static_cast<C>(p.b), values + i,
                         end - i);
      i = end;
    }
  } else {
    const Distribution distribution = static_cast<Distribution>(d.distribution);
    double a[LANES], b[LANES];
    ElementParameters p(d, first);
    for (int64_t i = 0; i < n; i += LANES) {
      const int64_t count = std::min<int64_t>(LANES, n - i);
      for (int64_t j = 0; j < LANES; ++j) {
        if (j < count && first + i + j >= p.end) p = ElementParameters(d, first + i + j);
        a[j] = p.a;
        b[j] = p.b;
      }
      if (count >= LANES / 4 && (CYNET_LANES > 4 || distribution == kGamma)) {
        draw_lanes(distribution, key, first + i, count, a, b, values + i);
        continue;
      }
      for (int64_t j = 0; j < count; ++j) {  // few elements: one by one
        ElementStream own(key, first + i + j);
        values[i + j] = static_cast<C>(draw_one(distribution, own, a[j], b[j]));
      }
    }
  }
  if (!direct) store(out, values, n, add);
}

template <typename T>
void fill_integer_chunk(const Philox& key, int64_t low, uint64_t range, int64_t first, int64_t n,
                        T* out, bool add) {
  int64_t values[CHUNK];
  for_pieces<2 * LANES>(first, n, values, [&](uint64_t block, int64_t* to) {
    const PhiloxBlocks words(key, block);
    for (int j = 0; j < LANES; ++j) {
      to[2 * j] = (int64_t)((uint64_t)low + integer_below(words.c[0][j], words.c[1][j], range));
      to[2 * j + 1] = (int64_t)((uint64_t)low + integer_below(words.c[2][j], words.c[3][j], range));
    }
  });
  store(out, values, n, add);
}
