// Levels of processors that are not x86-64's; levels.h includes it within namespace cynet.
#ifndef CYNET_ONE_SET_H
#define CYNET_ONE_SET_H

#if defined(__aarch64__) && defined(__GNUC__)
enum Level { BASELINE, NEON, N_LEVEL };
#define CYNET_SAME_AT_LEVELS(...) {__VA_ARGS__, __VA_ARGS__}
#else
enum Level { BASELINE, N_LEVEL };
#define CYNET_SAME_AT_LEVELS(...) {__VA_ARGS__}
#endif
#define CYNET_AT_LEVELS(...) CYNET_SAME_AT_LEVELS(baseline::__VA_ARGS__)

#endif
