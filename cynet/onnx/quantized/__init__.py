"""Quantized networks in ONNX files: exporters, importers, and the forming of int8 layers."""
