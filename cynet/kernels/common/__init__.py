"""Parts of all loops: scalar functions, float16, conversions."""
