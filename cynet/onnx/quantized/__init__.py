"""Quantized networks in ONNX files: writing, reading, and layers joined to int8 ones."""
