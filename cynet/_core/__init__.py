"""Services for operators: copies of arrays, and the rows of a gradient that are not zero."""
