"""The one tree of errors that this package raises on purpose.

A fault of a *document* is no error: it is an outcome row (`documents.document`). What stands here
ends a command or a step, with a message made for the person who reads it: what, where, why, what to do.

    NerPipelineError
    ├── SettingsError           an environment variable is missing or wrong
    ├── ModelError              the model or its device cannot be used
    ├── GoldError               gold data cannot be read
    ├── WorkerFault             the worker pool broke as a whole          (transient)
    └── StorageError            S3 said no
        ├── StorageUnavailable  S3 did not answer, or answered 5xx        (transient)
        ├── ObjectGone          the object or its bucket is not there
        ├── ObjectChanged       the object is no longer the listed version
        ├── ObjectArchived      the object must be restored from an archive first
        └── Superseded          somebody else published meanwhile
"""

__all__ = [
    "GoldError",
    "ModelError",
    "NerPipelineError",
    "ObjectArchived",
    "ObjectChanged",
    "ObjectGone",
    "SettingsError",
    "StorageError",
    "StorageUnavailable",
    "Superseded",
    "WorkerFault",
]


class NerPipelineError(Exception):
    """Whatever this package raises on purpose.

    `transient` tells whether the same action may succeed when tried again a little later.
    """

    transient = False


class SettingsError(NerPipelineError):
    """An environment variable is missing or has a value that cannot be used."""


class ModelError(NerPipelineError):
    """The model cannot be found or loaded, or the device asked for is not there."""


class GoldError(NerPipelineError):
    """Gold data is not there, cannot be read, or marks nothing."""


class WorkerFault(NerPipelineError):
    """The worker pool broke as a whole, through no document's fault."""

    transient = True


class StorageError(NerPipelineError):
    """S3 refused a request, and will refuse it again."""


class StorageUnavailable(StorageError):
    """S3 did not answer, broke off, or answered with a server error."""

    transient = True


class ObjectGone(StorageError):
    """The object is not there (any more)."""


class ObjectArchived(StorageError):
    """The object lies in an archive such as Glacier, and cannot be read before it is restored."""


class ObjectChanged(StorageError):
    """The object is no longer the version that was listed."""


class Superseded(StorageError):
    """A conditional put was refused: somebody else has published in the meantime."""
