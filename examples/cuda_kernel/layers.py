"""Three layers whose forward and backward are CUDA kernels: a softmax with loss, the reorganisation
layer of YOLO v2, and a fused activation."""

import cynet as mx

THREADS = 128  # threads of a block


def blocks(n):
    """The number of blocks of THREADS threads for n elements, a thread for each element."""
    return -(-n // THREADS)


class Softmax(mx.operator.NDArrayOp):
    """Softmax of the rows of ``data`` (N, K); its gradient is that of the cross-entropy with
    ``label`` (N,), as of `mx.sym.SoftmaxOutput`."""

    def __init__(self):
        super().__init__(need_top_grad=False)
        self.forward_kernel = self.backward_kernel = None

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        rows, classes = in_shape[0]
        return [(rows, classes), (rows,)], [(rows, classes)]

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        if self.forward_kernel is None:
            self.forward_kernel = mx.rtc(
                "softmax",
                [("x", x)],
                [("y", y)],
                """
                const int row = blockIdx.x * blockDim.x + threadIdx.x;
                if (row >= x_dims[0]) return;
                const int classes = x_dims[1];
                const float *from = x + row * classes;
                float *to = y + row * classes;
                float most = from[0];
                for (int j = 1; j < classes; ++j) most = fmaxf(most, from[j]);
                float sum = 0.0f;
                for (int j = 0; j < classes; ++j) {
                  to[j] = expf(from[j] - most);
                  sum += to[j];
                }
                for (int j = 0; j < classes; ++j) to[j] /= sum;
                """,
            )
        self.forward_kernel.push([x], [y], (blocks(x.shape[0]), 1, 1), (THREADS, 1, 1))

    def backward(self, out_grad, in_data, out_data, in_grad):
        y, label, dx = out_data[0], in_data[1], in_grad[0]
        if self.backward_kernel is None:
            self.backward_kernel = mx.rtc(
                "softmax_grad",
                [("y", y), ("label", label)],
                [("dx", dx)],
                """
                const int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i >= dx_dims[0] * dx_dims[1]) return;
                const int row = i / dx_dims[1], column = i % dx_dims[1];
                dx[i] = y[i] - (column == static_cast<int>(label[row]) ? 1.0f : 0.0f);
                """,
            )
        self.backward_kernel.push([y, label], [dx], (blocks(dx.size), 1, 1), (THREADS, 1, 1))


class Reorganise(mx.operator.NDArrayOp):
    """Every ``stride`` x ``stride`` square of an image becomes that many channels.

    (N, C, H, W) gives (N, C * stride**2, H / stride, W / stride); the channels of one input
    channel lie together, in the order of the square's rows. Nothing is lost, as a pooling would.
    """

    def __init__(self, stride=2):
        super().__init__(need_top_grad=True)
        self.stride = stride
        self.forward_kernel = self.backward_kernel = None

    def infer_shape(self, in_shape):
        n, c, h, w = in_shape[0]
        if h % self.stride or w % self.stride:
            raise ValueError(f"Reorganise: {h} x {w} is no multiple of the stride {self.stride}")
        out = (n, c * self.stride**2, h // self.stride, w // self.stride)
        return [in_shape[0]], [out]

    def body(self, assignment):
        """A thread for each element of x: `from` is its place, `to` its place in y."""
        return f"""
            const int from = blockIdx.x * blockDim.x + threadIdx.x;
            const int height = x_dims[2], width = x_dims[3];
            if (from >= x_dims[0] * x_dims[1] * height * width) return;
            const int column = from % width, row = from / width % height;
            const int image = from / (width * height);
            const int part = row % {self.stride} * {self.stride} + column % {self.stride};
            const int channel = image * {self.stride * self.stride} + part;
            const int to = (channel * (height / {self.stride}) + row / {self.stride})
                * (width / {self.stride}) + column / {self.stride};
            {assignment}
            """

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        if self.forward_kernel is None:
            self.forward_kernel = mx.rtc(
                "reorganise", [("x", x)], [("y", y)], self.body("y[to] = x[from];")
            )
        self.forward_kernel.push([x], [y], (blocks(x.size), 1, 1), (THREADS, 1, 1))

    def backward(self, out_grad, in_data, out_data, in_grad):
        y, x = out_grad[0], in_grad[0]
        if self.backward_kernel is None:
            self.backward_kernel = mx.rtc(
                "reorganise_grad", [("y", y)], [("x", x)], self.body("x[from] = y[to];")
            )
        self.backward_kernel.push([y], [x], (blocks(x.size), 1, 1), (THREADS, 1, 1))


BIAS_SWISH = r"""
__device__ float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

// z = data + bias of its channel, out = z * sigmoid(z)
extern "C" __global__ void bias_swish(const float *data, const float *bias, float *out, int n,
                                      int channels, int inner) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float z = data[i] + bias[i / inner % channels];
  out[i] = z * sigmoid(z);
}

// A block for each channel: its threads share the elements, and their sums meet in shared memory.
extern "C" __global__ void bias_swish_grad(const float *out_grad, const float *data,
                                           const float *bias, float *data_grad, float *bias_grad,
                                           int images, int inner) {
  extern __shared__ float sums[];
  const int channels = gridDim.x, channel = blockIdx.x;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < images * inner; k += blockDim.x) {
    const int i = (k / inner * channels + channel) * inner + k % inner;
    const float z = data[i] + bias[channel], s = sigmoid(z);
    const float grad = out_grad[i] * (s + z * s * (1.0f - s));
    data_grad[i] = grad;
    sum += grad;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) bias_grad[channel] = sums[0];
}
"""


class BiasSwish(mx.operator.NDArrayOp):
    """``z * sigmoid(z)`` of ``z = data + bias``, in one pass over the memory.

    ``data`` is (N, C, ...), ``bias`` (C,); made for a convolution with ``no_bias=True`` before it.
    """

    def __init__(self):
        super().__init__(need_top_grad=True)
        self.kernels = None

    def list_arguments(self):
        return ["data", "bias"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][1],)], [in_shape[0]]

    def compiled(self):
        """The kernels (forward, backward), compiled at first use."""
        if self.kernels is None:
            module = mx.rtc.CudaModule(BIAS_SWISH)
            arrays = "const float *data, const float *bias, "
            self.kernels = (
                module.get_kernel(
                    "bias_swish", arrays + "float *out, int n, int channels, int inner"
                ),
                module.get_kernel(
                    "bias_swish_grad",
                    "const float *out_grad, "
                    + arrays
                    + "float *data_grad, float *bias_grad, int images, int inner",
                ),
            )
        return self.kernels

    def forward(self, in_data, out_data):
        (data, bias), out = in_data, out_data[0]
        inner = data.size // (data.shape[0] * data.shape[1])
        self.compiled()[0].launch(
            [data, bias, out, data.size, data.shape[1], inner],
            data.context,
            (blocks(data.size), 1, 1),
            (THREADS, 1, 1),
        )

    def backward(self, out_grad, in_data, out_data, in_grad):
        (data, bias), (data_grad, bias_grad) = in_data, in_grad
        inner = data.size // (data.shape[0] * data.shape[1])
        self.compiled()[1].launch(
            [out_grad[0], data, bias, data_grad, bias_grad, data.shape[0], inner],
            data.context,
            (data.shape[1], 1, 1),
            (THREADS, 1, 1),
            shared_mem=4 * THREADS,
        )
