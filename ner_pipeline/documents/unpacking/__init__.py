"""Bytes out of packed bytes: gzip, zstd and zip, in bounded memory, disk and time.

Each packing yields all bytes before a break. What the unpacked bytes mean is no matter of this folder,
nor which member of an archive is read by which reader: that is `reading`.
"""
