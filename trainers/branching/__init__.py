"""`collect_branches`: same-state comparisons for comparators."""
