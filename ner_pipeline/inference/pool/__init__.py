"""The worker pool: texts in, spans out, whatever happens to the workers.

`ExtractionPool` is all that the rest of the project needs. Which rooms there are:

    extraction_pool   starts workers, hands out batches, collects results, replaces what has died
    ledger            which texts are open, which of their windows wait, who is to blame
    batching, cores, topology   how much goes together, how many workers, which processes
    slot, worker, spawning      one worker process from outside and from inside, and how it is started
    device_process, device_server, shared_network, remote_network
                      on a GPU: the one process that computes for all workers, and both ends of the wire
"""

from ner_pipeline.inference.pool.extraction_pool import ExtractionPool
from ner_pipeline.inference.pool.ledger import TextResult

__all__ = ["ExtractionPool", "TextResult"]
