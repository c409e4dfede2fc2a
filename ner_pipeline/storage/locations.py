"""Places on S3. No requests here: only names."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["S3Location"]


@dataclass(frozen=True, slots=True, order=True)
class S3Location:
    """A bucket and a key, or a key prefix: an opaque, byte-exact string that nothing here interprets.

    >>> S3Location.parse("s3://bucket/a/") / "b.txt"
    S3Location(bucket='bucket', key='a/b.txt')
    >>> str(S3Location("bucket", "a b/é"))
    's3://bucket/a b/é'
    """

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, uri: str) -> S3Location:
        """Read `s3://BUCKET/KEY`.

        Raises:
            ValueError: the text has another form.
        """
        scheme, separator, rest = uri.partition("://")
        bucket, _, key = rest.partition("/")
        if scheme != "s3" or not separator or not bucket:
            raise ValueError(f"{uri!r} is not of the form s3://BUCKET/PREFIX/")
        return cls(bucket, key)

    @classmethod
    def parse_prefix(cls, uri: str) -> S3Location:
        """Read `s3://BUCKET/PREFIX/` as a folder: the last slash may be left out."""
        place = cls.parse(uri)
        return place if not place.key or place.key.endswith("/") else place / "/"

    def __truediv__(self, suffix: str) -> S3Location:
        """Append `suffix` to the key, as it stands: no slash is added."""
        return S3Location(self.bucket, self.key + suffix)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"
