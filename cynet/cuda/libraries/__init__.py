"""cuBLAS and cuDNN: finding the libraries, loading them, and calling their functions."""
