"""Options: their types, ranges, defaults and documentation, and the one reader that checks them."""
