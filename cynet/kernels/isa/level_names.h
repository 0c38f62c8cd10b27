// Names of the levels, as CYNET_CPU_CAPABILITY has them.
#ifndef CYNET_LEVEL_NAMES_H
#define CYNET_LEVEL_NAMES_H

#include "isa/levels.h"

namespace cynet {

#if defined(CYNET_X86_LEVELS)
static const char* const level_names[] = {"baseline", "avx2", "avx512", "amx"};
#else
static const char* const level_names[] = {"baseline", "neon"};
#endif

}  // namespace cynet

#endif
