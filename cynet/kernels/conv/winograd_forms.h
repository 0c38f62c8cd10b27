// Winograd's loops at one CPU level, in each form that the level has (winograd_plans.h): by single
// positions, by rows of positions, or both. After simd.h; included by winograd.h for each level.

#include "conv/winograd_transforms.h"
#if WINOGRAD_REGISTERS == 16
#define WINOGRAD_BY_ROW false  // one position of all tiles at a time
namespace by_position {
#include "conv/winograd_plans.h"
#include "conv/winograd_products.h"
#include "conv/winograd_tiles.h"
#include "conv/winograd_loops.h"
}
#undef WINOGRAD_BY_ROW
#endif
#if WINOGRAD_REGISTERS == 32 || CYNET_LANES == 16
#define WINOGRAD_BY_ROW true  // one row of positions at a time
namespace by_row {
#include "conv/winograd_plans.h"
#include "conv/winograd_products.h"
#include "conv/winograd_tiles.h"
#include "conv/winograd_loops.h"
}
#undef WINOGRAD_BY_ROW
#endif
