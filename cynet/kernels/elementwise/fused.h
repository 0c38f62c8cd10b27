// A chain: elementwise loops that run over their arrays together, a block at a time. The data
// structures of operators; fused_broadcast.h runs it.
#ifndef CYNET_CHAIN_H
#define CYNET_CHAIN_H

#include "isa/kernel_table.h"

namespace cynet {

// The space of a chain is rows x columns; an array lies in it by two strides, in elements. The
// stride along a row is 1, or 0 for an element that repeats.
struct FusedOperand {  // an array, register or constant
  int array;     // index of the array; -1: a register; -2: a constant
  int index;     // index of the register
  int column;    // stride along a row
  int bytes;     // bytes of an element
  int64_t row;   // stride from row to row
  int64_t offset;
  char number[8];  // the constant, in the arrays' dtype
};

// The work of a loop: a kernel over arrays of the chain's dtype; or a conversion between integers
// of 8 bits and floats, with operands source, step and zero point; or arithmetic of several lines,
// which arithmetic.h joins, as it makes a line FOLDED that is an operand of another one.
enum FusedLoopKind { FUSED_KERNEL, FROM_UINT8, FROM_INT8, TO_UINT8, TO_INT8, ARITHMETIC, FOLDED };

struct FusedLoop {  // one line of a chain
  Kernel kernel;
  int kind;        // FusedLoopKind
  int reads;       // number of operands: 1 UnaryLoop, 2 BinaryLoop, 3 GradLoop
  int operand[3];  // indices of the operands
  int target;
  int by_rows;     // 1: an operand's rows are not contiguous
  int op;          // an ArithmeticOp, while lines are joined
  int scaled[2];   // 1 + index of a constant operand that operand i is multiplied by, or 0
  int first;       // index of the first step of ARITHMETIC
  int n_steps;
};

// A step of ARITHMETIC: an ArithmeticOp (arithmetic.h) on the value in the registers.
struct FusedStep {
  int op;
  int operand;  // index of the operand; -1: none
  int scaled;   // index of a constant operand that `operand` is multiplied by, or -1
  int ahead;    // 1: the first step of its loop that touches this array
};

enum { FUSED_REGISTERS = 16, FUSED_BYTES = 32768 };  // maximum number; maximum bytes of all

struct FusedLoops {  // a chain of loops over blocks
  int64_t rows, columns;
  int64_t block;  // elements of a block, at most
  int64_t work;   // cost of an element in simple operations
  int element;    // bytes
  int n_loops;
  const FusedLoop* loops;
  const FusedOperand* operands;
  const FusedStep* steps;
};

}  // namespace cynet

#endif
