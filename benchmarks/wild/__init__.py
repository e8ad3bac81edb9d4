"""devlint on code that nobody here wrote: what it says there, and what a reader thought of it.

    python -m benchmarks.wild karpathy/minGPT@37baab7=../minGPT ultralytics@8.4=../unpacked/ultralytics
    python -m benchmarks.wild --judge judgements.tsv
    python -m benchmarks.wild --figures

`ledger.jsonl` keeps a verdict and a reason for each finding, `repositories.jsonl` the size of what was read. No code of
the repositories is kept.
"""
