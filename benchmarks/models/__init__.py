"""Networks that are trained in several libraries."""
