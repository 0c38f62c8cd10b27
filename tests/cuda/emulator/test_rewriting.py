"""Kernels that a rewriting by patterns could get wrong: against the same text left as it was."""

import ctypes
import functools
from typing import NamedTuple

import numpy as np
import pytest

from cynet.cuda.emulator import EmulatedModule
from cynet.cuda.emulator import module as module_of_kernels
from cynet.cuda.emulator.source import Source


class Case(NamedTuple):
    body: str
    helpers: str = ""
    head: str = "int *x, int *y, int n"
    same: bool = False  # x and y are one array
    block: object = 64
    refused: bool = False  # not taken apart


class Q(ctypes.Structure):
    _fields_ = [("v", ctypes.c_int)]


# x and y have 256 ints.
CASES = {
    "param moved no barrier": Case("""
  x += threadIdx.x; y += threadIdx.x; *y = *x + n;"""),
    "param counter no barrier": Case("""
  n += threadIdx.x; y[threadIdx.x] = n;"""),
    "n * *p again": Case("""
  __shared__ int one; int t = threadIdx.x;int *p = x + 3; int b = t * *p; __syncthreads();
  if (t == 0) x[3] = 77; __syncthreads(); y[t] = b;"""),
    "t**p again": Case("""
  __shared__ int one; int t = threadIdx.x;int b = t**x; __syncthreads(); if (t == 0) x[0]
  = 77; __syncthreads(); y[t] = b;"""),
    "t & *p again": Case("""
  __shared__ int one; int t = threadIdx.x;int b = t & *x; __syncthreads(); if (t == 0)
  x[0] = 1077; __syncthreads(); y[t] = b;"""),
    "shared named max": Case("""
  __shared__ int max; int t = threadIdx.x; if (t == 0) max = 5; __syncthreads(); int b =
  max + t; __syncthreads(); if (t == 0) max = 9; __syncthreads(); y[t] = b;"""),
    "reference to uniform": Case("""
  int t = threadIdx.x; int limit = 8; int &r = limit; if (t & 1) r = 16; __syncthreads();
  y[t] = limit + 0;"""),
    "reference to uniform 2": Case("""
  int t = threadIdx.x; int limit = 8; { int &r = limit; if (t & 1) r += t; }
  __syncthreads(); y[t] = limit + 0;"""),
    "struct array member": Case("""
  int t = threadIdx.x; S s = {1, 2}; s.v[t & 1] = t; __syncthreads(); y[t] = s.v[0] * 100
  + s.v[1];""",
        helpers="struct S { int v[2]; };"),
    "struct method": Case("""
  int t = threadIdx.x; S s = {1}; s.set(t); __syncthreads(); y[t] = s.v * 3;""",
        helpers="struct S { int v; __device__ void set(int a) { v += a; } };"),
    "struct uninit method": Case("""
  int t = threadIdx.x; S s; s.set(t); __syncthreads(); y[t] = s.v * 3;""",
        helpers="struct S { int v; __device__ void set(int a) { v = a; } };"),
    "struct param method": Case("""
  int t = threadIdx.x; q.set(t); __syncthreads(); y[t] = q.v * 3;""",
        helpers="struct Q { int v; __device__ void set(int a) { v += a; } };",
        head="int *x, int *y, int n, Q q",
        refused=True),
    "struct param functor": Case("""
  int t = threadIdx.x; int a = q(t); __syncthreads(); y[t] = q(t) + a;""",
        helpers="struct Q { int v; __device__ int operator()(int a) { v += a; return v; } };",
        head="int *x, int *y, int n, Q q",
        refused=True),
    "struct param no barrier": Case("""
  int t = threadIdx.x; q.v += t; y[t] = q.v;""",
        helpers="struct Q { int v; };",
        head="int *x, int *y, int n, Q q"),
    "unsigned stride wraps": Case("""
  for (unsigned i = threadIdx.x - 5; i < n; i += blockDim.x) y[i] = x[i] + threadIdx.x;
  __syncthreads(); y[threadIdx.x + 128] = 1;"""),
    "int stride sentinel": Case("""
  int t = threadIdx.x; int from = t < 32 ? t : 2147483647; for (int i = t < 32 ? t :
  2147483647; i < n; i += blockDim.x) y[i & 255] += 1;"""),
    "int stride sentinel 2": Case("""
  int t = threadIdx.x; for (int i = t * (2147483647 / 63); i < 1000; i += blockDim.x)
  atomicAdd(&y[i & 255], 1);"""),
    "float stride": Case("""
  for (float i = threadIdx.x * 0.1f; i < 20.0f; i += blockDim.x * 0.0137f) y[threadIdx.x]
  = y[threadIdx.x] * 3 + __float_as_int(i);"""),
    "stride char wraps": Case("""
  for (unsigned char i = 2 + threadIdx.x * 3; i < 240; i += blockDim.x / 8) y[threadIdx.x]
  += i;"""),
    "stride negative start": Case("""
  for (int i = threadIdx.x * -1.5; i < n; i += blockDim.x) y[threadIdx.x] = y[threadIdx.x]
  * 3 + i;"""),
    "stride comma decl": Case("""
  int k = 7; for (int i = threadIdx.x, k; i < n; i += blockDim.x) { y[i] = x[i] + 3; }"""),
    "stride bound or": Case("""
  unsigned k = 64; for (unsigned i = threadIdx.x; i < n - 64 | k == 65; i += blockDim.x) {
  y[i] = x[i] + 3; }"""),
    "stride bound ternary": Case("""
  for (int i = threadIdx.x; i < n ? i < 40 : 0; i += blockDim.x) { y[i & 63] = x[i & 63] +
  3; }"""),
    "stride bound eq": Case("""
  for (int i = threadIdx.x; i < n == 1; i += blockDim.x) { y[i] = x[i] + 3; }"""),
    "attribute shadows": Case("""
  int t = threadIdx.x; { [[maybe_unused]] int n = t; __syncthreads(); y[t] = n; }""",
        refused=True),
    "decltype shadows": Case("""
  int t = threadIdx.x; { decltype(t) n = t; __syncthreads(); y[t] = n; }""",
        refused=True),
    "parens shadows": Case("""
  int t = threadIdx.x; { int (n) = t; __syncthreads(); y[t] = n; }""",
        refused=True),
    "alignas shadows": Case("""
  int t = threadIdx.x; { alignas(16) int n = t; __syncthreads(); y[t] = n; }""",
        refused=True),
    "binding shadows": Case("""
  int t = threadIdx.x; { auto [n, m] = make_int2(t, 2); __syncthreads(); y[t] = n; }""",
        refused=True),
    "struct member address array": Case("""
  int t = threadIdx.x; float4 v = make_float4(x[t], 1, 2, 3); float *p = &v.x; p[x[t] & 3]
  += t; y[t] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;"""),
    "cast address array": Case("""
  int t = threadIdx.x; float4 v = make_float4(x[t], 1, 2, 3); ((float *)&v)[x[t] & 3] +=
  t; y[t] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;"""),
    "later declarator array": Case("""
  int t = threadIdx.x, h[4]; for (int k = 0; k < 4; ++k) h[k] = k; h[x[t] & 3] = t; y[t] =
  h[(x[t] + t) & 3] + h[0] * 100;"""),
    "later declarator array 2": Case("""
  int t = 0, h[2]; h[x[threadIdx.x] & 1] = x[threadIdx.x]; h[1 - (x[threadIdx.x] & 1)] =
  0; y[threadIdx.x] = h[0];"""),
    "using array": Case("""
  using A = int[2]; A h; h[x[threadIdx.x] & 1] = x[threadIdx.x]; h[1 - (x[threadIdx.x] &
  1)] = 0; y[threadIdx.x] = h[0];"""),
    "struct array after method": Case("""
  H s; s.h[x[threadIdx.x] & 1] = x[threadIdx.x]; s.h[1 - (x[threadIdx.x] & 1)] = 0;
  y[threadIdx.x] = s.h[0];""",
        helpers="struct H { __device__ H() {} int h[2]; };"),
    "macro array": Case("""
  ARR(h); h[x[threadIdx.x] & 1] = x[threadIdx.x]; h[1 - (x[threadIdx.x] & 1)] = 0;
  y[threadIdx.x] = h[0];""",
        helpers="#define ARR(h) int h[2]\n"),
    "barrier in lambda": Case("""
  int t = threadIdx.x; __shared__ int s[64]; auto f = [&]() { s[t] = x[t];
  __syncthreads(); }; f(); y[t] = s[63 - t];""",
        refused=True),
    "barrier behind comma": Case("""
  int t = threadIdx.x; __shared__ int s[64]; s[t] = x[t], __syncthreads(); y[t] = s[63 -
  t];""",
        refused=True),
    "threadIdx default argument": Case("""
  y[place()] = x[place() ^ 1];""",
        helpers="__device__ int place(int a = threadIdx.x) { return a; }"),
    "threadIdx member init": Case("""
  P p; y[p.a] = x[p.a ^ 1];""",
        helpers="struct P { int a = threadIdx.x; };"),
    "threadIdx init list": Case("""
  P p; y[p.a] = x[p.a ^ 1];""",
        helpers="struct P { int a; __device__ P() : a(threadIdx.x) {} };"),
    "threadIdx by macro": Case("""
  y[place()] = x[place() ^ 1];""",
        helpers="#define TID threadIdx.x\n__device__ int place() { return TID; }"),
    "array param moves": Case("""
  x += threadIdx.x; __syncthreads(); y[threadIdx.x] = *x;""",
        head="int x[], int y[], int n",
        refused=True),
    "pointer to region local": Case("""
  int t = threadIdx.x; int a = x[t]; int *p = &a; __syncthreads(); *p += 3; y[t] = *p;""",
        refused=True),
    "pointer to region array": Case("""
  int t = threadIdx.x; int a[2] = {x[t], t}; int *p = a; __syncthreads(); y[t] = p[0] +
  p[1];""",
        refused=True),
    "pointer from call": Case("""
  int t = threadIdx.x; int a = x[t], b = t; int *p = pick(&a, &b); __syncthreads(); y[t] =
  *p;""",
        helpers="__device__ int *pick(int *a, int *b) { return *a > *b ? a : b; }",
        refused=True),
    "pointer in struct": Case("""
  int t = threadIdx.x; int a[2] = {x[t], t}; V v{a}; __syncthreads(); y[t] = v.p[0] +
  v.p[1];""",
        helpers="struct V { int *p; };",
        refused=True),
    "paren assign": Case("""
  int t = threadIdx.x; int k = 8; (k) = t; __syncthreads(); y[t] = k + 0;"""),
    "paren inc": Case("""
  int t = threadIdx.x; int k = 8; if (t & 1) (k)++; __syncthreads(); y[t] = k + 0;"""),
    "paren reference arg": Case("""
  int t = threadIdx.x; int k = 8; bump((k), t); __syncthreads(); y[t] = k + 0;""",
        helpers="__device__ void bump(int &k, int t) { k += t; }"),
    "ternary lvalue": Case("""
  int t = threadIdx.x; int k = 8, j = 9; ((t & 1) ? k : j) = t; __syncthreads(); y[t] = k
  + j * 100;"""),
    "ternary ref arg": Case("""
  int t = threadIdx.x; int k = 8, j = 9; bump((t & 1) ? k : j, t); __syncthreads(); y[t] =
  k + j * 100;""",
        helpers="__device__ void bump(int &k, int t) { k += t; }"),
    "cast ref": Case("""
  int t = threadIdx.x; int k = 8; reinterpret_cast<unsigned &>(k) = t; __syncthreads();
  y[t] = k + 0;"""),
    "c cast ref": Case("""
  int t = threadIdx.x; int k = 8; ((unsigned &)k)++; if (t) ((unsigned &)(k)) += t;
  __syncthreads(); y[t] = k + 0;"""),
    "cast ref float4": Case("""
  int t = threadIdx.x; int4 v; reinterpret_cast<uint4 &>(v) = make_uint4(t, 2, 3, 4);
  __syncthreads(); y[t] = v.x + v.y;"""),
    "ref in struct": Case("""
  int t = threadIdx.x; int k = 8; R r{k}; r.k = t; __syncthreads(); y[t] = k + 0;""",
        helpers="struct R { int &k; };"),
    "lambda ref return": Case("""
  int t = threadIdx.x; int k = 8; auto f = [&]() -> int & { return k; }; f() = t;
  __syncthreads(); y[t] = k + 0;""",
        refused=True),
    "alternative token": Case("""
  int t = threadIdx.x; int k = 8; k or_eq t; __syncthreads(); y[t] = k + 0;""",
        refused=True),
    "separators": Case("""
  int t = threadIdx.x; int k = 8; int a = 1'000; k = t; int b = 2'000; __syncthreads();
  y[t] = k + a + b;""",
        refused=True),
    "macro names variable": Case("""
  int t = threadIdx.x; int k = 8; BUMP; __syncthreads(); y[t] = k + 0;""",
        helpers="#define BUMP bump(k, t)\n__device__ void bump(int &k, int t) { k += t; }",
        refused=True),
    "in place interleaved": Case("""
  int t = threadIdx.x; int a = x[2 * t]; y[2 * t + 1] = a + 1; int b = x[2 * t + 1]; y[2 *
  t] = b + 5;""",
        same=True),
    "in place interleaved 2": Case("""
  int t = threadIdx.x; y[2 * t] = x[2 * t + 1] + 1; y[2 * t + 1] = x[2 * t] * 3;""",
        same=True),
    "in place interleaved 3": Case("""
  int t = threadIdx.x; int a = x[4 * t]; y[4 * t + 1] = a; int b = x[4 * t + 1]; y[4 * t +
  2] = b * 3; int c = x[4 * t + 2]; y[4 * t + 3] = c + 1; y[4 * t] = x[4 * t + 3] + a;""",
        same=True),
    "in place loop": Case("""
  int t = threadIdx.x; for (int k = 0; k < 4; ++k) { y[t * 4 + k] = x[t * 4 + ((k + 3) &
  3)] + k; }""",
        same=True),
    "in place columns": Case("""
  int t = threadIdx.x; for (int k = 0; k < 4; ++k) { y[t + 64 * k] = x[t + 64 * ((k + 3) &
  3)] + k; }""",
        same=True),
    "in place swap": Case("""
  int t = threadIdx.x; int a = x[t]; y[t + 64] = a + 1; int b = x[t + 64]; y[t] = b * 2;""",
        same=True),
    "own row scan": Case("""
  int t = threadIdx.x; for (int k = 1; k < 4; ++k) x[4 * t + k] += x[4 * t + k - 1]; y[t]
  = x[4 * t + 3];"""),
    "thread 0 scans": Case("""
  int t = threadIdx.x; if (t == 0) for (int k = 1; k < 64; ++k) x[k] += x[k - 1];
  __syncthreads(); y[t] = x[63 - t];"""),
    "odd reads even": Case("""
  int t = threadIdx.x; if (t & 1) x[t] += x[t - 1]; y[t] = t;"""),
    "benign same value": Case("""
  int t = threadIdx.x; if (x[t] > 3) y[0] = 1; if (x[t] > 5) y[1] = 1;"""),
    "duplicate constant macro": Case("""
  int t = threadIdx.x; int k = K; __syncthreads(); y[t] = k;""",
        helpers="#define K 3\n#undef K\n#define K (int)threadIdx.x\n",
        refused=True),
    "uniform through swap": Case("""
  int t = threadIdx.x; int a = 1, b = 2; if (t & 1) { int c = a; a = b; b = c; }
  __syncthreads(); y[t] = a * 10 + b;"""),
    "pointer swap": Case("""
  __shared__ int s[128]; int *a = s, *b = s + 64; int t = threadIdx.x; a[t] = x[t]; for
  (int k = 1; k < 64; k *= 2) { __syncthreads(); b[t] = a[t] + (t >= k ? a[t - k] : 0);
  int *c = a; a = b; b = c; } __syncthreads(); y[t] = a[t];"""),
    "comma in for": Case("""
  int t = threadIdx.x; for (int k = 0, j = 10; k < j; ++k, --j) { y[t] += k * j;
  __syncthreads(); }"""),
    "comma changes": Case("""
  int t = threadIdx.x; int k = 3; y[t] = (k = t, k + 1); __syncthreads(); y[t] += k;"""),
    "inc in condition": Case("""
  int t = threadIdx.x; int k = 0; while (k++ < 3) { y[t] += k; __syncthreads(); }""",
        refused=True),
    "inc in index": Case("""
  int t = threadIdx.x; int k = 0; y[t] = x[k++]; y[t] += x[k++]; __syncthreads(); y[t] +=
  k;"""),
    "atomics returned": Case("""
  __shared__ int c; int t = threadIdx.x; if (t == 0) c = 0; __syncthreads(); int p =
  atomicAdd(&c, 1); __syncthreads(); y[p] = x[p] + c;"""),
    "switch shadow": Case("""
  int t = threadIdx.x; int k = 1; switch (n & 3) { case 0: { int k = t; y[t] = k; }
  default: y[t] += k; } __syncthreads(); y[t] += k;"""),
    "loop body changes counter": Case("""
  int t = threadIdx.x; for (int k = 0; k < 10; ++k) { __syncthreads(); y[t] += k; if (n >
  3) k += 2; }""",
        refused=True),
    "loop body changes counter 2": Case("""
  int t = threadIdx.x; for (int k = 0; k < 10; ++k) { y[t] += k; if (t > 3) k += 2; }
  __syncthreads(); y[t]++;"""),
    "continue in uniform loop": Case("""
  int t = threadIdx.x; for (int k = 0; k < 10; ++k) { if (k == n - 254) continue;
  __syncthreads(); y[t] += k; if (k == 7) break; }"""),
    "early return inside loop": Case("""
  int t = threadIdx.x; for (int k = 0; k < 4; ++k) { if (x[t] == k) return; y[t] += 3; }
  __syncthreads(); y[t] += 10;"""),
    "lambda changes": Case("""
  int t = threadIdx.x; int k = 1; auto f = [&](int a) { k += a; return k; }; y[t] = f(t) +
  f(2); __syncthreads(); y[t] += k;""",
        refused=True),
    "mutable lambda": Case("""
  int t = threadIdx.x; int k = 1; auto f = [k](int a) mutable { k += a; return k; }; y[t]
  = f(t) + f(2);"""),
    "uniform kept in each": Case("""
  int t = threadIdx.x; int k = n; const int *p = x + k; k = 5; __syncthreads(); y[t] = *(p
  - 1) + k;"""),
    "param changed uniform": Case("""
  int t = threadIdx.x; n = n / 2; __syncthreads(); y[t] = n; for (; n > 1; n >>= 1) {
  __syncthreads(); y[t] += n; }"""),
    "param changed by again": Case("""
  int t = threadIdx.x; int j = t + n; __syncthreads(); n = 7; __syncthreads(); y[t] = j +
  n;"""),
    "shift assign": Case("""
  int t = threadIdx.x; int k = 3; k <<= t & 3; __syncthreads(); y[t] = k + 0;"""),
    "volatile": Case("""
  volatile int k = 3; int t = threadIdx.x; if (t & 1) k = t; __syncthreads(); y[t] = k +
  0;"""),
    "static const": Case("""
  static const int k[2] = {3, 4}; int t = threadIdx.x; __syncthreads(); y[t] = k[t & 1];""",
        refused=True),
    "2d": Case("""
  __shared__ int s[16][5]; int i = threadIdx.y, j = threadIdx.x; s[i][j] = x[i * 4 + j];
  __syncthreads(); y[j * 16 + i] = s[15 - i][3 - j]; if (i & 1) return; __syncthreads();
  y[128 + i * 4 + j] = s[i][j];""",
        block=(4, 16)),
    "3d": Case("""
  __shared__ int s[64]; unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x
  + threadIdx.x; s[t] = x[t]; __syncthreads(); for (unsigned i = t; i < n; i += blockDim.x
  * blockDim.y * blockDim.z) y[i] = s[(i * 7) & 63];""",
        block=(4, 4, 4)),
    "struct local def": Case("""
  struct P { int a, b; }; int t = threadIdx.x; P p = {t, x[t]}; __syncthreads(); y[t] =
  p.a + p.b;""",
        refused=True),
    "struct local var": Case("""
  int t = threadIdx.x; struct { int a, b; } p = {t, x[t]}; y[t] = p.a + p.b;
  __syncthreads(); y[t]++;""",
        refused=True),
    "enum": Case("""
  enum { A = 3, B }; int t = threadIdx.x; __syncthreads(); y[t] = A + B;""",
        refused=True),
    "comment continues": Case("""
  int t = threadIdx.x; int k = 8; // \\
 k = 3;
 __syncthreads(); y[t] = k + t;""",
        refused=True),
    "begins like using": Case("""
  int t = threadIdx.x; int using_x = 3; using_x = t; __syncthreads(); y[t] = using_x + 0;"""),
    "const overload": Case("""
  int t = threadIdx.x; O o = {t}; __syncthreads(); y[t] = o.get();""",
        helpers="struct O { int v; __device__ int get() { return v + 1; }\n"
        "__device__ int get() const { return v + 2; } };"),
    "goto free do while 0": Case("""
  int t = threadIdx.x; do { if (t & 1) break; y[t] = 3; } while (0); __syncthreads(); y[t]
  += 1;"""),
    "if init": Case("""
  int t = threadIdx.x; if (int k = x[t]; k > 3) y[t] = k; __syncthreads(); y[t] += 1;"""),
    "nested returns": Case("""
  int t = threadIdx.x; if (t > 3) { if (x[t] & 1) { y[t] = 5; return; } else if (x[t] & 2)
  return; y[t] = 6; } __syncthreads(); y[t] += 10; if (t == 9) return; __syncthreads();
  y[t] += 100;"""),
    "macro loop": Case("""
  int t = threadIdx.x; UPTO(4) y[t] += x[t]; __syncthreads(); y[t]++;""",
        helpers="#define UPTO(n) for (int i : {1, 2, 3, 4})\n",
        refused=True),
    "macro braces": Case("""
  int t = threadIdx.x; BEGIN int t = 3; y[threadIdx.x] = t; END __syncthreads(); y[t]++;""",
        helpers="#define BEGIN {\n#define END }\n",
        refused=True),
    "shared pointer alias each": Case("""
  __shared__ int s[64]; int t = threadIdx.x; int *p = s + t; *p = x[t]; __syncthreads(); p
  = s + 63 - t; y[t] = *p;"""),
    "uint stride 64": Case("""
  for (size_t i = threadIdx.x; i < (size_t)n; i += blockDim.x) y[i] = x[i] * 2;"""),
    "ll index": Case("""
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; long long k = t << 33;
  __syncthreads(); y[threadIdx.x] = (k >> 33) + x[threadIdx.x];"""),
    "ushort again": Case("""
  unsigned short t = threadIdx.x * 3000; __syncthreads(); y[threadIdx.x] = t;"""),
    "char again": Case("""
  signed char c = threadIdx.x * 5; __syncthreads(); y[threadIdx.x] = c;"""),
    "bool again": Case("""
  bool b = threadIdx.x; __syncthreads(); y[threadIdx.x] = b;"""),
    "ctor decl": Case("""
  int t(threadIdx.x), k(t * 2); __syncthreads(); y[t] = k;""",
        refused=True),
    "uniform array const": Case("""
  const int k[2] = {n, 3}; int t = threadIdx.x; __syncthreads(); y[t] = k[t & 1];"""),
    "uniform redeclared in else": Case("""
  int t = threadIdx.x; if (n > 3) { int k = 2; __syncthreads(); y[t] = k; } else { int k =
  t; __syncthreads(); y[t] = k; }"""),
    "uniform if on changed": Case("""
  int t = threadIdx.x; int k = 0; for (int i = 0; i < 3; ++i) { if (k == 1) {
  __syncthreads(); y[t] += 100; } k = i; __syncthreads(); } y[t] += k;"""),
    "uniform assigned under divergence": Case("""
  int t = threadIdx.x; int k = 0; if (t > 5) { k = 4; } __syncthreads(); y[t] = k;"""),
    "assigned in striding": Case("""
  int k = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) { k = 3; y[i] = x[i] + k; }
  __syncthreads(); y[threadIdx.x] += k;"""),
    "assigned in striding 2": Case("""
  int k = 0; if (threadIdx.x < 3) return; for (int i = threadIdx.x; i < 33; i +=
  blockDim.x) k = 3; __syncthreads(); y[threadIdx.x] += k;"""),
    "bound changes in striding": Case("""
  int m = n; for (int i = threadIdx.x; i < m; i += blockDim.x) { y[i] = x[i]; m = 100; }"""),
    "step changes in striding": Case("""
  int d = 1; for (int i = threadIdx.x; i < n; i += blockDim.x * d) { y[i] = x[i]; d = 2; }"""),
    "struct step": Case("""
  int2 d = make_int2(1, 2); for (int i = threadIdx.x; i < n; i += blockDim.x * d.x) { y[i]
  = x[i]; d.x = 2; }"""),
    "uniform struct member changed": Case("""
  int2 d = {1, 2}; int t = threadIdx.x; d.x += t; __syncthreads(); y[t] = d.x + d.y;"""),
    "global device variable": Case("""
  int t = threadIdx.x; if (t == 0) g = 3; __syncthreads(); int b = g + t; __syncthreads();
  if (t == 0) g = 10; __syncthreads(); y[t] = b;""",
        helpers="__device__ int g;"),
}


class Plain(Source):
    """A source whose kernels stay as they are."""

    def in_regions(self, names):
        return self.rewritten(), {}


def text_of(name, kernel="f"):
    case = CASES[name]
    return f"{case.helpers}\n__global__ void {kernel}({case.head}) {{ {case.body}\n}}\n"


def build(text, plain):
    with pytest.MonkeyPatch.context() as patch:
        if plain:
            patch.setattr(module_of_kernels, "Source", Plain)
        return EmulatedModule(text, options=["-ffp-contract=off"])


def launch(kernel, case, threads=1):
    x = np.random.RandomState(5).randint(0, 99, 256).astype("i")
    y = x if case.same else np.arange(256, dtype="i")
    more = [Q(5)] if "Q q" in case.head else []
    kernel.launch([x, y, ctypes.c_int(256), *more], 1, case.block, 0, threads)
    return np.concatenate([x, y])


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].refused])
def test_refused(name):
    assert Source(text_of(name)).in_regions(["f"])[1] == {}


TOGETHER = [name for name in CASES if not CASES[name].refused and not CASES[name].helpers]
# What one of them has makes the rewriting careful in all of them.
APART = [name for name in CASES if not CASES[name].refused and "[" in CASES[name].helpers]
HELPED = [n for n in CASES if not CASES[n].refused and CASES[n].helpers and n not in APART]


@functools.cache
def modules(names):
    parts = []
    for i, name in enumerate(names):
        lines = CASES[name].helpers.split("\n")
        macros = "".join(line + "\n" for line in lines if line.startswith("#"))
        helpers = "\n".join(line for line in lines if not line.startswith("#"))
        body = f"__global__ void f{i}({CASES[name].head}) {{ {CASES[name].body}\n}}\n"
        parts.append(f"{macros}namespace n{i} {{ {helpers}\n{body} }}\n")
    return build("".join(parts), False), build("".join(parts), True)


@pytest.mark.parametrize("name", TOGETHER + HELPED + APART)
def test_agrees(name):
    names = next(tuple(each) for each in (TOGETHER, HELPED, APART) if name in each)
    kernel = f"n{names.index(name)}::f{names.index(name)}"
    quick, plain = (module.get(kernel) for module in modules(names))
    assert not plain.in_regions
    want = launch(plain, CASES[name])
    for threads in (1, 2):
        np.testing.assert_array_equal(launch(quick, CASES[name], threads), want)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("threadIdx")])
def test_other_functions_get_threads(name):
    assert "::threadIdx = threadIdx" in Source(text_of(name)).in_regions(["f"])[0]


@pytest.mark.parametrize("names", [TOGETHER], ids=["together"])
def test_text_compiles(names):
    """The rewriting, not what stands in for it where that does not compile."""
    quick, _ = modules(tuple(names))
    assert all(kernel.in_regions for kernel in quick.kernels.values())
