// Runs of arithmetic in a chain (fused.h): lines that follow one another, where each computes with
// the result of the line before it, become one loop. The value stays in vector registers from
// step to step; as loops of their own the lines would load and store it in between.
//
// join_arithmetic is the peephole that finds them when a chain is made. The results are the same,
// bit for bit, but for the payload of a NaN that is computed from two.
#ifndef CYNET_ARITHMETIC_H
#define CYNET_ARITHMETIC_H

#include <cstring>

#include "common/half.h"
#include "elementwise/fused.h"
#include "isa/levels.h"

namespace cynet {

// The operation on the value `a` in registers and the operand b. TAKE gives b, PUT stores a.
enum ArithmeticOp {
  NO_ARITHMETIC,
  TAKE,
  PLUS,
  MINUS,
  FROM,
  TIMES,
  OVER,
  UNDER,
  NEGATIVE,
  SQUARE,
  RELU,
  PUT
};
// An operand is an array, one element, or an array by a number. AHEAD: what the next tile reads of
// the array is prefetched.
enum OperandForm { PLAIN, PLAIN_AHEAD, SCALED, SCALED_AHEAD, REPEATED, FORMS };  // AHEAD: prefetch

struct ArithmeticStep {
  int code;  // ArithmeticOp * FORMS + OperandForm
  const char* at;  // the operand
  const char* number;  // constant factor of the form SCALED
};
enum { MOST_STEPS = 64 };  // most operations that one joined loop may do

}  // namespace cynet

#if defined(__GNUC__)
#define CYNET_PER_ISA_FILE "elementwise/arithmetic_loops.h"
#include "isa/for_each_isa.h"
#endif

namespace cynet {

#if defined(__GNUC__)
// Steps over n elements.
inline void run_arithmetic(int dtype, int level, const ArithmeticStep* steps, int count,
                           int64_t n) {
  typedef void (*Run)(const ArithmeticStep*, int, int64_t);
  static const Run floats[] = CYNET_AT_LEVELS(run_steps_on_array<float>);
  static const Run doubles[] = CYNET_AT_LEVELS(run_steps_on_array<double>);
  (dtype == F64 ? doubles : floats)[level](steps, count, n);
}
#else
inline void run_arithmetic(int, int, const ArithmeticStep*, int, int64_t) {}
#endif

// The loop of each ArithmeticOp, by dtype (F32, F64): set once by the module that runs chains.
static void* arithmetic_loops[2][PUT] = {};
inline void set_arithmetic_loop(int op, const Kernel& kernel) {
  arithmetic_loops[kernel.compute == F64][op] = kernel.loop;
}

// The peephole over the lines of one chain.
class ArithmeticJoiner {
 public:
  ArithmeticJoiner(FusedLoop* loops, int count, const FusedOperand* operands, int64_t columns,
                   FusedStep* steps)
      : loops(loops), count(count), operands(operands), columns(columns), steps(steps) {}

  // Returns the number of remaining loops.
  int join_all() {
    for (int k = 0; k < count; ++k) loops[k].op = op_of_line(k);
    for (int k = 0; k < count; ++k) fold_product_into_sum(k);
    int left = 0;
    for (int k = 0, end; k < count; k = end) {
      end = k + 1;
      if (loops[k].kind == FOLDED) continue;
      FusedLoop loop = loops[k];
      loop.first = n_steps;
      if (loops[k].op != NO_ARITHMETIC) end = join_lines_from(k);
      loop.n_steps = n_steps - loop.first;
      if (end > k + 1 || is_scaled(k)) loop.kind = ARITHMETIC;
      else n_steps = loop.first;  // a single step needs no saved value
      loops[left++] = loop;
    }
    return left;
  }

 private:
  enum { NOTHING = -1 };  // a step has no operand
  enum { SHORTEST_ROW = 256 };  // rows from this length on are fused
  FusedLoop* const loops;
  const int count;
  const FusedOperand* const operands;
  const int64_t columns;
  FusedStep* const steps;
  int n_steps = 0;

  const FusedOperand& operand_of(int k, int i) const { return operands[loops[k].operand[i]]; }
  const FusedOperand& target_of(int k) const { return operands[loops[k].target]; }
  // True if a line also reads its target.
  bool adds_to_target(int k) const { return loops[k].kind == FUSED_KERNEL && loops[k].kernel.add; }
  bool is_scaled(int k) const { return loops[k].scaled[0] || loops[k].scaled[1]; }

  // True if an operand has as many elements as the target.
  static bool has_target_size(const FusedOperand& o) {
    return o.array == -1 || (o.array >= 0 && o.column == 1);
  }
  static bool are_same_operand(const FusedOperand& a, const FusedOperand& b) {
    if (a.array != b.array || a.array == -2) return false;
    if (a.array == -1) return a.index == b.index;
    return a.offset == b.offset && a.row == b.row && a.column == b.column;
  }

  int op_of_line(int k) const {
    const FusedLoop& loop = loops[k];
    const Kernel& kernel = loop.kernel;
    if (loop.kind != FUSED_KERNEL || loop.reads > 2 || kernel.add || kernel.dtype > F64 ||
        kernel.compute != kernel.dtype || (loop.by_rows && columns < SHORTEST_ROW) ||
        !(has_target_size(operand_of(k, 0)) ||
          (loop.reads == 2 && has_target_size(operand_of(k, 1)))))
      return NO_ARITHMETIC;
    for (int op = PLUS; op < PUT; ++op)
      if (arithmetic_loops[kernel.dtype][op] == kernel.loop) return op;
    return NO_ARITHMETIC;
  }

  // Folds array * constant into the one sum that reads it.
  void fold_product_into_sum(int k) {
    if (loops[k].op != TIMES || is_scaled(k) || target_of(k).array != -1) return;
    const int number = operand_of(k, 0).array == -2 ? 0 : 1;
    const FusedOperand& source = operand_of(k, 1 - number);
    if (operand_of(k, number).array != -2) return;
    int user = -1, side = -1;
    for (int j = k + 1; j < count; ++j) {
      for (int i = 0; i < loops[j].reads; ++i) {
        if (loops[j].kind == FOLDED || !are_same_operand(operand_of(j, i), target_of(k))) continue;
        if (user >= 0) return;
        user = j;
        side = i;
      }
      if (are_same_operand(target_of(j), target_of(k))) {
        if (adds_to_target(j)) return;
        break;
      }
      // The array is read later then, so it must not change in between. Arrays may share memory.
      if (user < 0 && (target_of(j).array >= 0 || are_same_operand(target_of(j), source))) return;
    }
    if (user < 0) return;
    const int op = loops[user].op, other = 1 - side;
    if ((op != PLUS && op != MINUS) || is_scaled(user) || loops[user].by_rows != loops[k].by_rows)
      return;
    // The next line finds the product in registers, unless it needs its other operand there.
    if (user == k + 1 && !(k > 0 && loops[k - 1].kind != FOLDED &&
                           are_same_operand(operand_of(user, other), target_of(k - 1))))
      return;
    loops[user].scaled[side] = loops[k].operand[number] + 1;
    loops[user].operand[side] = loops[k].operand[1 - number];
    loops[k].kind = FOLDED;
    loops[k].op = NO_ARITHMETIC;
  }

  // Appends a step; `first` is the loop's first step.
  void append_step(int first, int op, int operand, int scaled = 0) {
    int ahead = op != PUT && operand != NOTHING && operands[operand].array >= 0;
    for (int k = first; ahead && k < n_steps; ++k)
      if (steps[k].operand != NOTHING &&
          are_same_operand(operands[steps[k].operand], operands[operand]))
        ahead = 0;
    steps[n_steps++] = {op, operand, scaled - 1, ahead};
  }

  // Joins lines from k on into one loop; returns the first line after it.
  int join_lines_from(int k) {
    const int first = n_steps, by_rows = loops[k].by_rows;
    int side = !has_target_size(operand_of(k, 0));
    append_step(first, TAKE, loops[k].operand[side], loops[k].scaled[side]);
    while (true) {
      const FusedLoop& loop = loops[k];
      if (loop.reads == 1) append_step(first, loops[k].op, NOTHING);
      else
        append_step(first, side ? reversed_op(loops[k].op) : loops[k].op, loop.operand[1 - side],
                    loop.scaled[1 - side]);
      int next = k + 1;
      while (next < count && loops[next].kind == FOLDED) ++next;
      const bool goes_on = next < count && loops[next].op != NO_ARITHMETIC &&
                           loops[next].by_rows == by_rows && n_steps - first < MOST_STEPS - 3;
      side = goes_on ? operand_in_register(next, target_of(k)) : -1;
      if (target_of(k).array >= 0 || is_read_from_memory(target_of(k), next, side >= 0))
        append_step(first, PUT, loop.target);
      if (side < 0) return next;
      k = next;
    }
  }

  // The index of the operand of line k that is in registers after `value` was computed, or -1.
  int operand_in_register(int k, const FusedOperand& value) const {
    int found = -1;
    for (int i = 0; i < loops[k].reads; ++i) {
      if (!are_same_operand(operand_of(k, i), value)) continue;
      if (found >= 0 || loops[k].scaled[i]) return -1;
      found = i;
    }
    return found;
  }

  // True if a line from line k on reads `value` from memory; line k does not if it `has` it in a
  // register.
  bool is_read_from_memory(const FusedOperand& value, int k, bool has) const {
    for (int j = k; j < count; ++j) {
      for (int i = 0; i < loops[j].reads && !(has && j == k); ++i)
        if (loops[j].kind != FOLDED && are_same_operand(operand_of(j, i), value)) return true;
      if (loops[j].kind != FOLDED && are_same_operand(target_of(j), value))
        return adds_to_target(j);
    }
    return false;
  }

  static int reversed_op(int op) {  // the same with its operands exchanged
    return op == MINUS ? static_cast<int>(FROM) : op == OVER ? static_cast<int>(UNDER) : op;
  }
};

// Joins lines of the chain's `loops`; `steps` must have capacity for three steps a loop.
inline void join_arithmetic(FusedLoops* chain, FusedLoop* loops, FusedStep* steps) {
#if defined(__GNUC__)
  chain->n_loops =
      ArithmeticJoiner(loops, chain->n_loops, chain->operands, chain->columns, steps).join_all();
#endif
  chain->steps = steps;
}

}  // namespace cynet

#endif
