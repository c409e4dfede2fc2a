"""One reader per format: each takes the unpacked bytes of an object and yields its documents.

A reader rejects a record that it can tell apart, and goes on; else it raises `BadInputError`, and `reading`
makes that the rejection of the rest.
"""
