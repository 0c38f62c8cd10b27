// Runs a chain (fused.h): every loop of it over one block, then over the next. Values that only
// pass between loops stay in registers: blocks of memory on the stack that fit the first-level
// cache. Included by fused.pyx.
#ifndef CYNET_DRIVE_CHAIN_H
#define CYNET_DRIVE_CHAIN_H

#include "elementwise/arithmetic.h"
#include "elementwise/broadcast.h"
#include "elementwise/fused.h"

#include <atomic>
#include <limits>

#define CYNET_PER_ISA_FILE "quantization/bytes_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename T>
void floats_from_bytes(char* const* at, int64_t n) {  // at: bytes, two numbers, floats
  typedef void (*From)(const void*, float, float, float*, int64_t);
  static const From loops[] = CYNET_AT_LEVELS(dequantize_loop<T>);
  const float* numbers[2] = {reinterpret_cast<float*>(at[1]), reinterpret_cast<float*>(at[2])};
  loops[convert_level](at[0], *numbers[0], *numbers[1], reinterpret_cast<float*>(at[3]), n);
}

// Returns 1 if a float was NaN.
template <typename T>
int bytes_from_floats(char* const* at, int64_t n) {  // at: floats, two numbers, bytes; 1: a NaN
  typedef int (*To)(const float*, float, float, void*, int64_t);
  static const To loops[] = CYNET_AT_LEVELS(quantize_loop<T>);
  const float* numbers[2] = {reinterpret_cast<float*>(at[1]), reinterpret_cast<float*>(at[2])};
  return loops[convert_level](reinterpret_cast<float*>(at[0]), *numbers[0], *numbers[1], at[3], n);
}

// Returns 1 if a NaN had to become an integer.
inline int call_loop(const FusedLoop& loop, char* const* at, const int* stride, int64_t n) {
  switch (loop.kind) {
    case FROM_UINT8: floats_from_bytes<uint8_t>(at, n); return 0;
    case FROM_INT8: floats_from_bytes<int8_t>(at, n); return 0;
    case TO_UINT8: return bytes_from_floats<uint8_t>(at, n);
    case TO_INT8: return bytes_from_floats<int8_t>(at, n);
  }
  switch (loop.reads) {
    case 1: run_unary(loop.kernel, at[0], at[3], n); break;
    case 2: run_binary(loop.kernel, at[0], stride[0], at[1], stride[1], at[3], n); break;
    default: run_grad(loop.kernel, at[0], stride[0], at[1], stride[1], at[2], stride[2], at[3], n);
  }
  return 0;
}

// A part of the space: rows [row, row + rows) by columns [column, column + columns).
struct FusedBlock {
  const FusedLoops& chain;
  void* const* arrays;
  char* registers;
  int64_t row, rows, column, columns;

  // The address of an operand; sets its stride along a row, and its bytes from row to row.
  char* operand_address(int operand, int* stride, int64_t* step) const {
    const FusedOperand& o = chain.operands[operand];
    if (o.array >= 0) {
      *stride = o.column;
      *step = o.row * o.bytes;
      return static_cast<char*>(arrays[o.array]) +
             (o.offset + row * o.row + column * o.column) * o.bytes;
    }
    *stride = o.array == -1;
    *step = o.array == -1 ? columns * o.bytes : 0;
    if (o.array == -1) return registers + o.index * chain.block * chain.element;
    return const_cast<char*>(o.number);
  }

  int run_loop(const FusedLoop& loop) const {
    int wrong = 0;
    char* at[4] = {nullptr};
    int stride[4] = {1, 1, 1, 1};
    int64_t step[4] = {0};
    for (int i = 0; i < loop.reads; ++i)
      at[i] = operand_address(loop.operand[i], &stride[i], &step[i]);
    at[3] = operand_address(loop.target, &stride[3], &step[3]);
    if (!loop.by_rows) return call_loop(loop, at, stride, rows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      wrong |= call_loop(loop, at, stride, columns);
      for (int i = 0; i < loop.reads; ++i) at[i] += step[i];
      at[3] += step[3];
    }
    return wrong;
  }

  void run_arithmetic_steps(const FusedLoop& loop) const {
    ArithmeticStep steps[MOST_STEPS];
    int64_t step[MOST_STEPS];
    static const char zero[8] = {};
    for (int k = 0; k < loop.n_steps; ++k) {
      const FusedStep& each = chain.steps[loop.first + k];
      int stride = 0;
      step[k] = 0;
      steps[k].at = each.operand < 0 ? zero : operand_address(each.operand, &stride, &step[k]);
      steps[k].number = each.scaled < 0 ? nullptr : chain.operands[each.scaled].number;
      const int form = (each.scaled < 0 ? PLAIN : SCALED) + each.ahead;
      steps[k].code = each.op * FORMS + (stride ? form : REPEATED);
    }
    const int64_t parts = loop.by_rows ? rows : 1, n = loop.by_rows ? columns : rows * columns;
    for (int64_t r = 0; r < parts; ++r) {
      run_arithmetic(loop.kernel.dtype, convert_level, steps, loop.n_steps, n);
      for (int k = 0; k < loop.n_steps; ++k) steps[k].at += step[k];
    }
  }

  // Gives as call_loop.
  int run_loops() const {
    int wrong = 0;
    for (int k = 0; k < chain.n_loops; ++k) {
      if (chain.loops[k].kind == ARITHMETIC) run_arithmetic_steps(chain.loops[k]);
      else wrong |= run_loop(chain.loops[k]);
    }
    return wrong;
  }
};

// A block is some whole rows, or a part of a long row. Gives as call_loop.
inline int run_fused_blocks(int threads, const FusedLoops& c, void* const* arrays) {
  const int64_t many = c.block / c.columns;  // rows of a block
  const int64_t parts = many ? 1 : (c.columns + c.block - 1) / c.block;
  const int64_t blocks = many ? (c.rows + many - 1) / many : c.rows * parts;
  std::atomic<int> all{0};
  parallel_for(threads, blocks, [=, &c, &all](int64_t begin, int64_t end) {
    alignas(64) char registers[FUSED_BYTES];
    int wrong = 0;
    for (int64_t i = begin; i < end; ++i) {
      if (many) {
        const int64_t row = i * many, left = c.rows - row;
        wrong |= FusedBlock{c, arrays, registers, row, left < many ? left : many, 0, c.columns}
                     .run_loops();
      } else {
        const int64_t column = i % parts * c.block, left = c.columns - column;
        wrong |=
            FusedBlock{c, arrays, registers, i / parts, 1, column, left < c.block ? left : c.block}
                .run_loops();
      }
    }
    if (wrong) all = 1;
  });
  return all;
}

}  // namespace cynet

#endif
