// Convolution as a matrix product: the columns that a kernel sees, and their sum back into the
// image. (cuDNN is to do what it has; this is the form that every parameter has.)
#include "common.cuh"

struct Patches {
  Index channels;
  int height, width, out_height, out_width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilate_h, dilate_w;
};

// columns[(c, i, j), (h, w)] = image[c, h * stride - pad + i * dilate, ...], 0 outside
template <typename T>
__global__ void image_to_columns(const T* image, T* columns, const Patches s) {
  const Index places = static_cast<Index>(s.out_height) * s.out_width;
  CYNET_EACH(i, s.channels * s.kernel_h * s.kernel_w * places) {
    const Index place = i % places, tap = i / places;
    const int kw = static_cast<int>(tap % s.kernel_w);
    const int kh = static_cast<int>(tap / s.kernel_w % s.kernel_h);
    const Index channel = tap / s.kernel_w / s.kernel_h;
    const int h = static_cast<int>(place / s.out_width) * s.stride_h - s.pad_h + kh * s.dilate_h;
    const int w = static_cast<int>(place % s.out_width) * s.stride_w - s.pad_w + kw * s.dilate_w;
    const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
    const computed<T> nothing = 0;
    put(columns, i, inside ? load(image, (channel * s.height + h) * s.width + w) : nothing, 0);
  }
}

// image (+)= for each of its elements the sum of the columns' elements that were read from it
template <typename T>
__global__ void columns_to_image(const T* columns, T* image, const Patches s, int add) {
  const Index places = static_cast<Index>(s.out_height) * s.out_width;
  CYNET_EACH(i, s.channels * s.height * s.width) {
    const int w = static_cast<int>(i % s.width), h = static_cast<int>(i / s.width % s.height);
    const Index channel = i / s.width / s.height;
    computed<T> sum = 0;
    for (int kh = 0; kh < s.kernel_h; ++kh)
      for (int kw = 0; kw < s.kernel_w; ++kw) {
        const int y = h + s.pad_h - kh * s.dilate_h, x = w + s.pad_w - kw * s.dilate_w;
        if (y < 0 || x < 0 || y % s.stride_h || x % s.stride_w) continue;
        if (y / s.stride_h >= s.out_height || x / s.stride_w >= s.out_width) continue;
        const Index row = (channel * s.kernel_h + kh) * s.kernel_w + kw;
        const Index place = static_cast<Index>(y / s.stride_h) * s.out_width + x / s.stride_w;
        sum += load(columns, row * places + place);
      }
    put(image, i, sum, add);
  }
}
