/* Prints the nanoseconds that a cache line takes from one core to the other and back. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 100000 };
static _Alignas(128) atomic_int turn;

static void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void* answer(void* core) {
  stay_on(*(int*)core);
  for (int i = 0; i < ROUNDS; ++i) {
    while (atomic_load(&turn) != 2 * i + 1) {
    }
    atomic_store(&turn, 2 * i + 2);
  }
  return 0;
}

int main(void) {
  cpu_set_t allowed;
  int cores[2], found = 0;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE && found < 2; ++core)
    if (CPU_ISSET(core, &allowed)) cores[found++] = core;
  if (found < 2) return fputs("two cores are needed\n", stderr), 1;

  pthread_t other;
  if (pthread_create(&other, 0, answer, &cores[1])) return 1;
  stay_on(cores[0]);
  struct timespec begin, end;
  for (int i = 0; i < ROUNDS; ++i) {
    if (i == ROUNDS / 10) clock_gettime(CLOCK_MONOTONIC, &begin);
    atomic_store(&turn, 2 * i + 1);
    while (atomic_load(&turn) != 2 * i + 2) {
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  pthread_join(other, 0);
  const double ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
  printf("%.0f\n", ns / (ROUNDS - ROUNDS / 10));
  return 0;
}
