// Pooling and batch normalization of the simulated libcudnn.
#include <cmath>

#include "cudnn.h"

enum { COUNT_PADDING = 1, LEAVE_OUT_PADDING = 2 };  // maxima are nobody's here

static const char* misfit(const Pooling* p, const Tensor* x, const Tensor* y) {
  if (!p || !x || !y) return "descriptor";
  if (x->rank != p->axes + 2 || y->rank != x->rank || x->type != y->type) return "rank or type";
  if (x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1]) return "batch or channels";
  for (int i = 0; i < p->axes; ++i)
    if (y->dims[i + 2] != 1 + (x->dims[i + 2] + 2 * p->pad[i] - p->window[i]) / p->stride[i])
      return "output size";
  return nullptr;
}

// f(place in x) for every element of y's window; returns how many there are.
template <typename F>
static int64_t window(const Pooling& p, const Tensor& x, const int64_t* at, F f) {
  int64_t inside = 0;
  each(p.axes, p.window, [&](const int64_t* k) {
    int64_t from[8] = {at[0], at[1]};
    for (int i = 0; i < p.axes; ++i) {
      from[i + 2] = at[i + 2] * p.stride[i] - p.pad[i] + k[i];
      if (from[i + 2] < 0 || from[i + 2] >= x.dims[i + 2]) return;
    }
    ++inside;
    f(x.place(from));
  });
  return inside;
}

static double divisor(const Pooling& p, int64_t inside) {
  if (p.mode == LEAVE_OUT_PADDING) return static_cast<double>(inside);
  double all = 1;
  for (int i = 0; i < p.axes; ++i) all *= static_cast<double>(p.window[i]);
  return all;
}

static bool is_parameter(const Tensor* x, const Tensor* p) {
  if (p->rank != x->rank || p->type != (x->type == 1 ? 1 : 0)) return false;
  for (int i = 0; i < x->rank; ++i)
    if (p->dims[i] != (i == 1 ? x->dims[1] : 1)) return false;
  return true;
}

static bool same(const Tensor* a, const Tensor* b) {
  if (a->rank != b->rank || a->type != b->type) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

// What the three calls of batch normalization check alike.
static int check_norm(void* handle, int mode, const Tensor* x, const Tensor* y, const Tensor* p,
                      double eps) {
  if (handles.find(handle) == nullptr) return NOT_INITIALIZED;
  if (!x || !y || !p) return refuse(BAD_PARAM, "descriptor");
  if (mode != 1 && mode != 2) return refuse(NOT_SUPPORTED, "mode");
  if (x->rank < 4 || x->rank > 5) return refuse(NOT_SUPPORTED, "rank");
  if (!same(x, y)) return refuse(BAD_PARAM, "shapes of x and y");
  if (!is_parameter(x, p)) return refuse(BAD_PARAM, "shape of the parameters");
  if (eps < 0) return refuse(BAD_PARAM, "epsilon");
  return SUCCESS;
}

extern "C" {
int cudnnSetPoolingNdDescriptor(void* d, int mode, int nan, int axes, const int* size,
                                const int* pad, const int* stride) {
  Pooling* p = poolings.find(d);
  if (p == nullptr || mode < COUNT_PADDING || mode > LEAVE_OUT_PADDING || nan < 0 || nan > 1)
    return refuse(BAD_PARAM, "descriptor or mode");
  if (axes < 2 || axes > 3) return refuse(NOT_SUPPORTED, "axes");
  p->mode = mode;
  p->axes = axes;
  for (int i = 0; i < axes; ++i) {
    if (size[i] < 1 || pad[i] < 0 || pad[i] >= size[i] || stride[i] < 1)
      return refuse(BAD_PARAM, "window");
    p->window[i] = size[i];
    p->pad[i] = pad[i];
    p->stride[i] = stride[i];
  }
  return SUCCESS;
}

int cudnnPoolingForward(void* handle, void* pooling, const void* alpha, void* x_desc, const void* x,
                        const void* beta, void* y_desc, void* y) {
  Handle* h = handles.find(handle);
  const Pooling* p = poolings.find(pooling);
  const Tensor *tx = tensors.find(x_desc), *ty = tensors.find(y_desc);
  if (h == nullptr) return NOT_INITIALIZED;
  if (const char* wrong = misfit(p, tx, ty)) return refuse(BAD_PARAM, wrong);
  if (!x || !y) return refuse(BAD_PARAM, "data");
  const Pooling shape = *p;
  const Tensor from = *tx, to = *ty;
  const double by = scalar(alpha, to.type == 1), keep = scalar(beta, to.type == 1);
  return run(h, [=] {
    with_type(to.type, [=](auto zero) {
      typedef decltype(zero) T;
      each(to.rank, to.dims, [=](const int64_t* at) {
        double sum = 0;
        const int64_t inside =
            window(shape, from, at, [&](int64_t i) { sum += static_cast<const T*>(x)[i]; });
        put(static_cast<T*>(y) + to.place(at), by * (sum / divisor(shape, inside)), keep);
      });
    });
  });
}

int cudnnPoolingBackward(void* handle, void* pooling, const void* alpha, void* y_desc,
                         const void* y, void* dy_desc, const void* dy, void* x_desc, const void* x,
                         const void* beta, void* dx_desc, void* dx) {
  Handle* h = handles.find(handle);
  const Pooling* p = poolings.find(pooling);
  const Tensor *tx = tensors.find(x_desc), *ty = tensors.find(y_desc);
  const Tensor *tdx = tensors.find(dx_desc), *tdy = tensors.find(dy_desc);
  if (h == nullptr) return NOT_INITIALIZED;
  if (const char* wrong = misfit(p, tx, ty)) return refuse(BAD_PARAM, wrong);
  if (!tdx || !tdy || !same(tx, tdx) || !same(ty, tdy)) return refuse(BAD_PARAM, "gradients");
  if (!x || !y || !dy || !dx) return refuse(BAD_PARAM, "data");
  const Pooling shape = *p;
  const Tensor to = *tx, from = *ty;
  const double by = scalar(alpha, to.type == 1), keep = scalar(beta, to.type == 1);
  return run(h, [=] {
    int64_t size = 1;
    for (int i = 0; i < to.rank; ++i) size *= to.dims[i];
    double* sums = new double[size]();
    with_type(to.type, [=](auto zero) {
      typedef decltype(zero) T;
      each(from.rank, from.dims, [=](const int64_t* at) {
        const double g = static_cast<const T*>(dy)[from.place(at)];
        const double share = g / divisor(shape, window(shape, to, at, [](int64_t) {}));
        window(shape, to, at, [=](int64_t i) { sums[i] += share; });
      });
      for (int64_t i = 0; i < size; ++i) put(static_cast<T*>(dx) + i, by * sums[i], keep);
    });
    delete[] sums;
  });
}

int cudnnBatchNormalizationForwardInference(void* handle, int mode, const void* alpha,
                                            const void* beta, void* x_desc, const void* x,
                                            void* y_desc, void* y, void* p_desc, const void* gamma,
                                            const void* shift, const void* mean,
                                            const void* variance, double eps) {
  const Tensor *tx = tensors.find(x_desc), *p = tensors.find(p_desc);
  const int wrong = check_norm(handle, mode, tx, tensors.find(y_desc), p, eps);
  if (wrong) return wrong;
  if (!x || !y || !gamma || !shift || !mean || !variance) return refuse(BAD_PARAM, "data");
  const Tensor shape = *tx;
  const double by = scalar(alpha, shape.type == 1), keep = scalar(beta, shape.type == 1);
  return run(handles.find(handle), [=] {
    with_type(shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      with_type(shape.type == 1, [=](auto one) {
        typedef decltype(one) P;
        each(shape.rank, shape.dims, [=](const int64_t* at) {
          const int64_t c = at[1], i = shape.place(at);
          auto of = [c](const void* p) { return double(static_cast<const P*>(p)[c]); };
          const double z =
              (double(static_cast<const T*>(x)[i]) - of(mean)) / std::sqrt(of(variance) + eps);
          put(static_cast<T*>(y) + i, by * (z * of(gamma) + of(shift)), keep);
        });
      });
    });
  });
}

int cudnnBatchNormalizationForwardTraining(void* handle, int mode, const void* alpha,
                                           const void* beta, void* x_desc, const void* x,
                                           void* y_desc, void* y, void* p_desc, const void* gamma,
                                           const void* shift, double factor, void* running_mean,
                                           void* running_variance, double eps, void* mean,
                                           void* inv_std) {
  const Tensor *tx = tensors.find(x_desc), *p = tensors.find(p_desc);
  const int wrong = check_norm(handle, mode, tx, tensors.find(y_desc), p, eps);
  if (wrong) return wrong;
  if (!x || !y || !gamma || !shift) return refuse(BAD_PARAM, "data");
  if (!running_mean != !running_variance || !mean != !inv_std)
    return refuse(BAD_PARAM, "one of two statistics");
  if (running_mean) return refuse(NOT_SUPPORTED, "the tests keep no running statistics here");
  (void)factor;
  const Tensor shape = *tx;
  const double by = scalar(alpha, shape.type == 1), keep = scalar(beta, shape.type == 1);
  return run(handles.find(handle), [=] {
    const int64_t channels = shape.dims[1];
    int64_t count = 1;
    for (int i = 0; i < shape.rank; ++i) count *= i == 1 ? 1 : shape.dims[i];
    double* middle = new double[2 * channels]();
    double* spread = middle + channels;
    with_type(shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      with_type(shape.type == 1, [=](auto one) {
        typedef decltype(one) P;
        auto value = [=](int64_t i) { return double(static_cast<const T*>(x)[i]); };
        each(shape.rank, shape.dims,
             [=](const int64_t* at) { middle[at[1]] += value(shape.place(at)) / count; });
        each(shape.rank, shape.dims, [=](const int64_t* at) {
          const double d = value(shape.place(at)) - middle[at[1]];
          spread[at[1]] += d * d / count;
        });
        for (int64_t c = 0; c < channels && mean; ++c) {
          static_cast<P*>(mean)[c] = static_cast<P>(middle[c]);
          static_cast<P*>(inv_std)[c] = static_cast<P>(1 / std::sqrt(spread[c] + eps));
        }
        each(shape.rank, shape.dims, [=](const int64_t* at) {
          const int64_t c = at[1], i = shape.place(at);
          const double z = (value(i) - middle[c]) / std::sqrt(spread[c] + eps);
          put(static_cast<T*>(y) + i,
              by * (z * static_cast<const P*>(gamma)[c] + static_cast<const P*>(shift)[c]), keep);
        });
      });
    });
    delete[] middle;
  });
}

int cudnnBatchNormalizationBackward(void* handle, int mode, const void* alpha_data,
                                    const void* beta_data, const void* alpha_parameter,
                                    const void* beta_parameter, void* x_desc, const void* x,
                                    void* dy_desc, const void* dy, void* dx_desc, void* dx,
                                    void* p_desc, const void* gamma, void* dgamma, void* dbeta,
                                    double eps, const void* mean, const void* inv_std) {
  const Tensor *tx = tensors.find(x_desc), *p = tensors.find(p_desc);
  int wrong = check_norm(handle, mode, tx, tensors.find(dy_desc), p, eps);
  if (!wrong) wrong = check_norm(handle, mode, tx, tensors.find(dx_desc), p, eps);
  if (wrong) return wrong;
  if (!x || !dy || !dx || !gamma || !dgamma || !dbeta) return refuse(BAD_PARAM, "data");
  if (!mean || !inv_std) return refuse(NOT_SUPPORTED, "the tests always give the statistics");
  const Tensor shape = *tx;
  const bool wide = shape.type == 1;
  const double by = scalar(alpha_data, wide), keep = scalar(beta_data, wide);
  const double by_p = scalar(alpha_parameter, wide), keep_p = scalar(beta_parameter, wide);
  return run(handles.find(handle), [=] {
    const int64_t channels = shape.dims[1];
    int64_t count = 1;
    for (int i = 0; i < shape.rank; ++i) count *= i == 1 ? 1 : shape.dims[i];
    double* total = new double[2 * channels]();
    double* product = total + channels;
    with_type(shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      with_type(shape.type == 1, [=](auto one) {
        typedef decltype(one) P;
        auto grad = [=](int64_t i) { return double(static_cast<const T*>(dy)[i]); };
        auto normal = [=](int64_t i, int64_t c) {
          return (double(static_cast<const T*>(x)[i]) - static_cast<const P*>(mean)[c]) *
                 static_cast<const P*>(inv_std)[c];
        };
        each(shape.rank, shape.dims, [=](const int64_t* at) {
          const int64_t i = shape.place(at);
          total[at[1]] += grad(i);
          product[at[1]] += grad(i) * normal(i, at[1]);
        });
        each(shape.rank, shape.dims, [=](const int64_t* at) {
          const int64_t c = at[1], i = shape.place(at);
          const double d = grad(i) - total[c] / count - normal(i, c) * product[c] / count;
          put(static_cast<T*>(dx) + i,
              by * d * static_cast<const P*>(gamma)[c] * static_cast<const P*>(inv_std)[c], keep);
        });
        for (int64_t c = 0; c < channels; ++c) {
          put(static_cast<P*>(dgamma) + c, by_p * product[c], keep_p);
          put(static_cast<P*>(dbeta) + c, by_p * total[c], keep_p);
        }
      });
    });
    delete[] total;
  });
}
}
