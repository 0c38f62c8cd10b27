"""What all loops are made of: scalar functions, float16, conversions."""
