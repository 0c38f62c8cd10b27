"""What operators ask of shapes and dtypes."""
