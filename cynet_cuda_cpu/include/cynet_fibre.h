// A fibre: a stack of its own, onto which a system thread switches and back. x86-64 switches in a
// dozen instructions, every other machine by ucontext.
#ifndef CYNET_FIBRE_H
#define CYNET_FIBRE_H

#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(CYNET_UCONTEXT)
#define CYNET_UCONTEXT  // fibres by ucontext.h
#endif

#ifdef CYNET_UCONTEXT
#include <ucontext.h>
#else
// Saves what a callee must keep, stores the stack pointer in *from and goes on at `to`.
extern "C" void cynet_switch_stack(void** from, void* to) __attribute__((visibility("hidden")));
__asm__(
    ".pushsection .text\n"
    ".hidden cynet_switch_stack\n"
    ".globl cynet_switch_stack\n"
    ".type cynet_switch_stack,@function\n"
    "cynet_switch_stack:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size cynet_switch_stack,.-cynet_switch_stack\n"
    ".popsection\n");
#endif

namespace cynet_emulator {

// Address space; the system gives memory to the pages that are used. A kernel whose frame is
// larger than half of it does not compile.
enum { kStackBytes = 256 << 10, kGuardBytes = 16 << 10 };

struct Fibre {  // a stack that runs threads of a CUDA block
  char* stack;  // the lowest page is a guard
  Fibre* next;  // next fibre in the list of free fibres
  int thread;   // the thread of the block that runs on it
#ifdef CYNET_UCONTEXT
  ucontext_t context;
#else
  void* sp;
#endif
};

#ifdef CYNET_UCONTEXT
typedef ucontext_t Context;  // context in which a system thread goes on when a fibre stops
static inline void enter_fibre(Context* from, Fibre* to) { swapcontext(from, &to->context); }
static inline void leave_fibre(Fibre* from, Context* to) { swapcontext(&from->context, to); }
#else
typedef void* Context;
static inline void enter_fibre(Context* from, Fibre* to) { cynet_switch_stack(from, to->sp); }
static inline void leave_fibre(Fibre* from, Context* to) { cynet_switch_stack(&from->sp, *to); }
#endif

// The fibre begins with `function`, which never returns, when it is entered next.
static void begin_fibre(Fibre* fibre, void (*function)()) {  // prepares it to run `function`
#ifdef CYNET_UCONTEXT
  getcontext(&fibre->context);
  fibre->context.uc_stack.ss_sp = fibre->stack + kGuardBytes;
  fibre->context.uc_stack.ss_size = kStackBytes - kGuardBytes;
  fibre->context.uc_link = nullptr;
  makecontext(&fibre->context, function, 0);
#else
  void** top = reinterpret_cast<void**>(fibre->stack + kStackBytes);
  *--top = nullptr;  // place of a return address: keeps the stack aligned to 16 bytes
  *--top = reinterpret_cast<void*>(function);  // address to which `ret` jumps
  for (int i = 0; i < 6; ++i) *--top = nullptr;  // rbp, rbx, r12 to r15
  fibre->sp = top;
#endif
}

static Fibre* new_fibre() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  Fibre* fibre = static_cast<Fibre*>(malloc(sizeof(Fibre)));
  if (!fibre) {
    munmap(memory, kStackBytes);
    return nullptr;
  }
  fibre->stack = static_cast<char*>(memory);
  return fibre;
}

static void free_fibre(Fibre* fibre) {
  munmap(fibre->stack, kStackBytes);
  free(fibre);
}

}  // namespace cynet_emulator

#endif
