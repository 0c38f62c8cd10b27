// The emulator has all of cooperative groups in one header.
#include "../cooperative_groups.h"
