// <assert.h> in device code: a false assertion ends the launch with an exception, not the process.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : ::cynet_emulator::assertion_failed(#condition, __LINE__))
#endif
