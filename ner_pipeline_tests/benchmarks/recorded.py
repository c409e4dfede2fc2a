"""Figures as a run of the benchmark has left them, in small."""

from benchmarks.ways import BOUND, COMPILED, ONE

THROUGHPUT = {
    "texts": {"name": "a novel", "documents": 3, "chars": 900},
    "distinct_words": 120,
    "tokens": 200,
    "rounds": 2,
    "cores": 2,
    "model": "en_core_web_sm 3.8.0",
    "extractor": "compiled",
    "why": "cpu",
    "entities": 7,
    "flops_per_token": 734_464,
    "gflops_one_core": 95.2,
    "ways": [
        {
            "name": name,
            "tokens_per_s": rate,
            "rounds": [rate, rate],
            "ratio_to_nlp_pipe_all_cores": rate / 20_000,
            "differing_entities": differing,
            "peak_rss_mb": {"python 1": 200.5, "python 2": 180.0},
        }
        for name, rate, differing in ((ONE, 13_000, 0), (COMPILED, 250_000, 0), (BOUND, 138_000, None))
    ],
    "ratio_to_nlp_pipe_all_cores": 12.5,
    "differing_entities": 0,
    "sgemm_bound_share": 0.91,
    "peak_rss_mb": 380.5,
}

PARTS = {
    "throughput": THROUGHPUT,
    "linear": {"documents": 3, "chars": 900, "twice_as_many_documents": 2.01, "twice_as_long": 1.98},
    "memory": {
        "batches": {"count": 4, "rss_mb": [250.0, 300.0, 301.0, 302.0], "growth_mb": 1.0},
        "flood": {
            "distinct_words": 1_000_000,
            "most_held": {"types": 9},
            "rss_mb": [250.0, 400.0],
            "peak_rss_mb": 410.0,
        },
    },
    "loading": {"starts": {"spaCy": {"process_s": 1.2, "load_s": 0.8, "first_text_s": 0.01}}},
    "ticks": {"inboxes": [{"keys": 1_000, "listing_s": 0.1, "deciding_s": 0.01}]},
    "upload_to_result": {
        "chars": 1_000_000,
        "runs": [{"tick": 1.5, "merge": 1.0, "total": 2.5}],
        "parts_s": {"tick": 1.5, "merge": 1.0, "total": 2.5},
        "budget_s": {"tick": 5, "total": 29},
    },
    "small_sets": {
        "sets": 10,
        "seconds": 100.0,
        "sets_per_hour": 360,
        "cpu_seconds_per_set": 7.9,
        "idle_cpu_share_of_a_core": 0.1,
    },
    "s3_to_s3": {
        "texts": "a novel",
        "records": 200_000,
        "tokens_per_record": 99.6,
        "documents": {"ok": 200_000},
        "entities": 9,
        "extractor": "compiled",
        "parts_s": {"tick": 1.5, "total": 160.0},
        "documents_per_s": 1_250.0,
        "tokens_per_s": 124_500,
        "share_outside_inference": 0.4,
        "peak_rss_mb": {"weed 4": 120.0},
    },
}
