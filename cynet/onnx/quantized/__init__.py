"""Quantized networks in ONNX files: writing, reading, and the int8 layers made of float layers
between quantizers."""
