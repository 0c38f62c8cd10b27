// The vector types: char2 ... double4 with make_*, and dim3.
#ifndef CYNET_VECTORS_H
#define CYNET_VECTORS_H

#define CYNET_VECTOR_TYPES(T, Name, a2, a4)                                                   \
  struct Name##1 { T x; };                                                                    \
  struct __attribute__((aligned(a2))) Name##2 { T x, y; };                                    \
  struct Name##3 { T x, y, z; };                                                              \
  struct __attribute__((aligned(a4))) Name##4 { T x, y, z, w; };                              \
  static inline constexpr Name##1 make_##Name##1(T x) { return Name##1 {x}; }                 \
  static inline constexpr Name##2 make_##Name##2(T x, T y) { return Name##2 {x, y}; }         \
  static inline constexpr Name##3 make_##Name##3(T x, T y, T z) { return Name##3 {x, y, z}; } \
  static inline constexpr Name##4 make_##Name##4(T x, T y, T z, T w) {                        \
    return Name##4 {x, y, z, w};                                                              \
  }

CYNET_VECTOR_TYPES(signed char, char, 2, 4)
CYNET_VECTOR_TYPES(unsigned char, uchar, 2, 4)
CYNET_VECTOR_TYPES(short, short, 4, 8)
CYNET_VECTOR_TYPES(unsigned short, ushort, 4, 8)
CYNET_VECTOR_TYPES(int, int, 8, 16)
CYNET_VECTOR_TYPES(unsigned int, uint, 8, 16)
CYNET_VECTOR_TYPES(long, long, 16, 16)
CYNET_VECTOR_TYPES(unsigned long, ulong, 16, 16)
CYNET_VECTOR_TYPES(long long, longlong, 16, 16)
CYNET_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
CYNET_VECTOR_TYPES(float, float, 8, 16)
CYNET_VECTOR_TYPES(double, double, 16, 16)
#undef CYNET_VECTOR_TYPES

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
