"""The networks of this folder: ``get_symbol(num_classes, ...)`` in a module each."""
