"""How well a model finds entities: gold data in, scores out.

`gold` reads what people have annotated, `scores` counts, `run` lets a model read the same texts, `report`
shows what came of it. Knows no S3 and no Dagster.
"""
