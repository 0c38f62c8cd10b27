"""mx.rtc on the CPU: a softmax of rows as CUDA kernels, beside cynet's own; one launch."""

import numpy as np
from harness import Row, main, median_time

BODY = """
const int row = blockIdx.x * blockDim.x + threadIdx.x;
if (row >= x_dims[0]) return;
const int n = x_dims[1];
const float *from = x + row * n;
float *to = y + row * n;
float most = from[0], sum = 0.0f;
for (int j = 1; j < n; ++j) most = fmaxf(most, from[j]);
for (int j = 0; j < n; ++j) sum += to[j] = expf(from[j] - most);
for (int j = 0; j < n; ++j) to[j] /= sum;
"""

BLOCK = 256
# A block for each row.
BLOCK_BODY = """
__shared__ float partial[256];
const int t = threadIdx.x;
const int n = x_dims[1];
const float *from = x + blockIdx.x * n;
float *to = y + blockIdx.x * n;
float most = -INFINITY, sum = 0.0f;
for (int j = t; j < n; j += blockDim.x) most = fmaxf(most, from[j]);
partial[t] = most;
__syncthreads();
for (int s = blockDim.x / 2; s > 0; s >>= 1) {
  if (t < s) partial[t] = fmaxf(partial[t], partial[t + s]);
  __syncthreads();
}
most = partial[0];
__syncthreads();
for (int j = t; j < n; j += blockDim.x) sum += to[j] = expf(from[j] - most);
partial[t] = sum;
__syncthreads();
for (int s = blockDim.x / 2; s > 0; s >>= 1) {
  if (t < s) partial[t] += partial[t + s];
  __syncthreads();
}
for (int j = t; j < n; j += blockDim.x) to[j] /= partial[0];
"""


def in_numpy(x):
    """The same computation with NumPy, as a reference."""
    y = np.exp(x - x.max(1, keepdims=True))
    y /= y.sum(1, keepdims=True)
    return y


def rows(mx):
    if mx.__name__ != "cynet":
        return  # MXNet's CudaModule needs a GPU
    for shape in ((100, 10), (128, 1000), (10_000, 1000)):
        x = mx.nd.random.normal(shape=shape)
        y = mx.nd.empty(shape)
        kernel = mx.rtc("softmax", [("x", x)], [("y", y)], BODY)
        by_block = mx.rtc("softmax_by_block", [("x", x)], [("y", y)], BLOCK_BODY)
        block = min(shape[0], 16)

        def launch(x=x, y=y, kernel=kernel, block=block):
            kernel.push([x], [y], (-(-x.shape[0] // block), 1, 1), (block, 1, 1))
            y.wait_to_read()

        def launch_blocks(x=x, y=y, kernel=by_block):
            kernel.push([x], [y], (x.shape[0], 1, 1), (BLOCK, 1, 1))
            y.wait_to_read()

        def own(x=x, y=y):
            mx.nd.softmax(x, out=y)
            y.wait_to_read()

        array, text = x.asnumpy(), " x ".join(f"{n:,}" for n in shape)
        theirs = median_time(lambda array=array: in_numpy(array), 1, 7)
        yield Row(f"softmax of {text}, mx.rtc", median_time(launch, 1, 15), theirs)
        yield Row(f"softmax of {text}, a block a row", median_time(launch_blocks, 1, 15), theirs)
        yield Row(f"softmax of {text}, cynet's own", median_time(own, 1, 15), theirs)


if __name__ == "__main__":
    main(__doc__, rows)
