// Probability densities of samples, or their logarithms, and gradients.
#include "kernel.h"
#include "rng/density.h"

namespace cynet {
namespace {

#define DENSITY_FIELDS(field) field(int, law) field(bool, is_log)
CYNET_PARAMS(DensityParams, DENSITY_FIELDS)

// reads samples, and parameters a, b: one pair for each block of samples
template <typename T>
void density(const Args& args) {
  const DensityParams& p = args.as<DensityParams>();
  const int64_t n = args.in[0]->size;
  cynet::density(p.law, args.threads, p.is_log, n, n / args.in[1]->size, args.input<T>(0),
                 args.input<T>(1), args.input<T>(2), args.output<T>(0), args.add[0]);
}

// reads d_output, samples, a, b; writes their gradients
template <typename T>
void density_grad(const Args& args) {
  const DensityParams& p = args.as<DensityParams>();
  const int64_t n = args.in[1]->size;
  const int add[3] = {args.add[0], args.add[1], args.add[2]};
  density_gradient(p.law, args.threads, p.is_log, n, n / args.in[2]->size, args.input<T>(0),
                   args.input<T>(1), args.input<T>(2), args.input<T>(3), args.output<T>(0),
                   args.output<T>(1), args.output<T>(2), add);
}

#define DIRICHLET_FIELDS(field) field(bool, is_log)
CYNET_PARAMS(DirichletParams, DIRICHLET_FIELDS)

// reads samples (..., size), alpha (..., size)
template <typename T>
void dirichlet(const Args& args) {
  const Blob& alpha = *args.in[1];
  dirichlet_forward(args.threads, args.as<DirichletParams>().is_log, args.out[0]->size,
                    args.in[0]->size / alpha.size, alpha.shape[alpha.ndim - 1], args.input<T>(0),
                    args.input<T>(1), args.output<T>(0), args.add[0]);
}

// reads d_output, samples, alpha; writes d_samples, d_alpha
template <typename T>
void dirichlet_grad(const Args& args) {
  const Blob& alpha = *args.in[2];
  const int add[2] = {args.add[0], args.add[1]};
  dirichlet_backward(args.threads, args.as<DirichletParams>().is_log, args.in[0]->size,
                     args.in[1]->size / alpha.size, alpha.shape[alpha.ndim - 1], args.input<T>(0),
                     args.input<T>(1), args.input<T>(2), args.output<T>(0), args.output<T>(1), add);
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(density, DensityParams, 32, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(density_grad, DensityParams, 32, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(dirichlet, DirichletParams, 32, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(dirichlet_grad, DirichletParams, 32, CYNET_FLOATS)
