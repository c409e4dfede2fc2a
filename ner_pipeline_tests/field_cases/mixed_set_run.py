"""One run over a mixed set, in a process of its own: prints the most memory that it held, in MB.

python -m ner_pipeline_tests.field_cases.mixed_set_run BUCKET COUNT
"""

import resource
import sys

import boto3
import dagster as dg

from ner_pipeline.settings import Places, Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline_tests.documents.broken_files import mixed_set
from ner_pipeline_tests.field_cases.test_mixed_set import upload
from ner_pipeline_tests.world import FakePool, World


def main(bucket, count):
    client = boto3.session.Session().client("s3")
    client.create_bucket(Bucket=bucket)
    places = Places(S3Location(bucket, "in/"), S3Location(bucket, "out/"))
    with dg.DagsterInstance.ephemeral() as instance:
        settings = Settings(inbox=str(places.inbox), results=str(places.results), settle_seconds=0)
        world = World(client, places, instance, FakePool(), settings)
        upload(world, mixed_set(count, seed=7))
        [request] = world.tick()
        assert world.run(request.partition_key).success
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
