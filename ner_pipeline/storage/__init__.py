"""S3 to S3: document sets, tables, manifests, and the local S3 server."""
