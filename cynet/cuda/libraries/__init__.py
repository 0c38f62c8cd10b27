"""NVIDIA's libraries: found, loaded, called."""
