// CYNET_CLONES before a function: it is compiled for several levels of CPU capability, and the
// loader picks one when the module is loaded. Nothing where the compiler or the loader cannot.
#ifndef CYNET_CLONES_H
#define CYNET_CLONES_H

#include <cstdlib>  // defines __GLIBC__ where the loader resolves such functions

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define CYNET_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CYNET_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
// Cython writes the type before variables as well, where the attribute has no effect.
#pragma GCC diagnostic ignored "-Wattributes"
#else
#define CYNET_CLONES  // one version of a function alone
#endif

#endif
