// Conversion of a run, compiled for each level (levels.h). Included by drive.h.

template <typename From, typename To>
void convert_run(const void* src_, void* dst_, int64_t n) {
  const From* src = static_cast<const From*>(src_);
  To* dst = static_cast<To*>(dst_);
  for (int64_t i = 0; i < n; ++i) dst[i] = convert_one<To>(src[i]);
}
