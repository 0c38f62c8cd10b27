// A fault of the processor in a kernel ends the launch, not the process: an unmapped address, an
// integer division by zero, a full stack.
//
// The signal comes on the system thread that runs the kernel. Its handler records the failure and
// leaves the kernel as any failure does; a signal from elsewhere goes to the previous handler.
#ifndef CYNET_FAULTS_H
#define CYNET_FAULTS_H

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

extern "C" char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" char _end[] __attribute__((visibility("hidden")));

namespace cynet_emulator {

enum { kFaults = 3, kSignalStackBytes = 64 << 10, kNullBytes = 64 << 10 };
// Kinds of faults, stored in `access` of the failure; for kNoMemory `offset` is the address.
enum { kDivision, kNull, kNoMemory, kNowhere, kStackFull };
static const int fault_signals[kFaults] = {SIGSEGV, SIGBUS, SIGFPE};
static struct sigaction actions_before[kFaults];

// Reads the kernel's instruction and stack addresses; 0 if the system does not report them.
static void read_fault_addresses(const void* context, uintptr_t* instruction, uintptr_t* stack) {
  const ucontext_t* found = static_cast<const ucontext_t*>(context);
#if defined(__linux__) && defined(__x86_64__)
  *instruction = static_cast<uintptr_t>(found->uc_mcontext.gregs[REG_RIP]);
  *stack = static_cast<uintptr_t>(found->uc_mcontext.gregs[REG_RSP]);
#elif defined(__linux__) && defined(__aarch64__)
  *instruction = static_cast<uintptr_t>(found->uc_mcontext.pc);
  *stack = static_cast<uintptr_t>(found->uc_mcontext.sp);
#else
  (void)found;
  *instruction = *stack = 0;
#endif
}

static void handle_fault_signal(int number, siginfo_t* info, void* context) {
  const bool was_checking = checking;
  set_checking(false);
  int i = 0;
  while (fault_signals[i] != number) ++i;
  if (!block || info->si_code <= 0) {  // not in a kernel, or sent by kill()
    const struct sigaction& before = actions_before[i];
    if (before.sa_flags & SA_SIGINFO) {
      before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(number);
    } else {
      sigaction(number, &before, nullptr);
      if (info->si_code <= 0) raise(number);  // a fault of the CPU recurs on return
    }
    set_checking(was_checking);
    return;
  }
  // A vectorised loop runs several threads at a time: the one that failed is unknown.
  const bool known = block->running != nullptr;
  note_failure(block, known ? block->running->thread : 0, kFault, 0, "%s", "");
  Failure* failure = block->failure;
  if (!known) failure->thread[0] = ~0u;
  uintptr_t at, stack;
  read_fault_addresses(context, &at, &stack);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(__ehdr_start);
  // the address behind the instruction, as of a caller
  if (at >= begin && at < reinterpret_cast<uintptr_t>(_end)) failure->caller = at - begin + 1;
  const uintptr_t place = reinterpret_cast<uintptr_t>(info->si_addr);
  failure->offset = static_cast<int64_t>(place);
  if (number == SIGFPE) failure->access = kDivision;
  else if (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR) failure->access = kNowhere;
  else if (place < kNullBytes) failure->access = kNull;
  else if (stack && place + kGuardBytes > stack && place < stack + kGuardBytes)
    failure->access = kStackFull;
  else failure->access = kNoMemory;
  stop();
}

static void install_fault_handlers() {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = handle_fault_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // never returns, so must not block
  for (int i = 0; i < kFaults; ++i) sigaction(fault_signals[i], &action, &actions_before[i]);
}

// The stack of the signal handler when the kernel's own stack is full: each system thread has one.
struct SignalStack {  // for the signal handler
  void* memory = nullptr;
  SignalStack() {
    stack_t found;
    if (sigaltstack(nullptr, &found) != 0 || !(found.ss_flags & SS_DISABLE)) return;
    memory = malloc(kSignalStackBytes);
    if (!memory) return;
    memset(&found, 0, sizeof(found));
    found.ss_sp = memory;
    found.ss_size = kSignalStackBytes;
    sigaltstack(&found, nullptr);
  }
  ~SignalStack() {
    stack_t found;
    if (!memory || sigaltstack(nullptr, &found) != 0) return;
    if (found.ss_sp == memory) {
      memset(&found, 0, sizeof(found));
      found.ss_flags = SS_DISABLE;
      sigaltstack(&found, nullptr);
    }
    free(memory);
  }
};

// Called on each system thread before it runs blocks.
static inline void catch_faults() {  // on this system thread
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_fault_handlers);
  static thread_local SignalStack own;
  (void)&own;
}

}  // namespace cynet_emulator

#endif
