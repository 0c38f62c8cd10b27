// <cuda_runtime.h> of the toolkit: what it declares is in cynet_emulator.h.
#include "cynet_emulator.h"
