"""Single-shot detectors as symbols: networks, heads, and what is trained."""
