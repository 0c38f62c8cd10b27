"""What operators need of arrays: copies, and which rows of a gradient are not zero."""
