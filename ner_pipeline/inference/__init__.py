"""Text to spans: the extractors, the windows, the worker pool, and the rules for a valid span."""
