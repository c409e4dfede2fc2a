"""Documents dropped into S3 become validated named entities on S3, by themselves."""

__version__ = "0.1.0"
