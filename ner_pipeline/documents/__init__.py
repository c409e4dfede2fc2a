"""Bytes to text: decoding, one reader per format, and the outcome of every document."""
