"""Quantized networks in ONNX files: as they are written, as they are read, and the int8 layers that
float layers between quantizers become."""
