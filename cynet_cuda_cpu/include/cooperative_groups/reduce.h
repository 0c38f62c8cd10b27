// In the emulator all of it is one header.
#include "../cooperative_groups.h"
