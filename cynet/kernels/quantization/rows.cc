// Rows of a quantized array by index.
#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "quantization/units.h"

namespace cynet {

#define ROWS_FIELDS(field) field(int64_t, rows) field(int64_t, length)  // of a table
CYNET_PARAMS(QuantizedRows, ROWS_FIELDS)

// The index of a row: truncated, and clipped to [0, rows). NaN is reported.
template <typename T>
int64_t read_row_number(const Args& args, int64_t i, int64_t rows) {
  const double at = static_cast<double>(args.input<T>(0)[i]);
  if (at != at) report_nan(args, 0, i, at);
  return at > 0 ? static_cast<int64_t>(std::min(at, static_cast<double>(rows - 1))) : 0;
}

template <typename T>
void quantized_rows(const Args& args) {
  const QuantizedRows& p = args.as<QuantizedRows>();
  const Blob& data = *args.in[0];
  const T* weight = args.input<T>(1);
  T* y = args.output<T>(0);
  parallel_for(args.threads, data.size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = data.dtype == F32   ? read_row_number<float>(args, i, p.rows)
                          : data.dtype == F64 ? read_row_number<double>(args, i, p.rows)
                          : data.dtype == I32 ? read_row_number<int32_t>(args, i, p.rows)
                          : data.dtype == I64 ? read_row_number<int64_t>(args, i, p.rows)
                          : data.dtype == U8  ? read_row_number<uint8_t>(args, i, p.rows)
                                              : read_row_number<int8_t>(args, i, p.rows);
      std::memcpy(y + i * p.length, weight + row * p.length, p.length * sizeof(T));
    }
  });
  if (float* to = args.output<float>(1)) *to = *args.input<float>(2);
  if (float* to = args.output<float>(2)) *to = *args.input<float>(3);
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(quantized_rows, QuantizedRows, 1, uint8_t, int8_t)
