"""Credit terms, and what is logged about them."""
