"""Speed as ratios, and the papers' experiments. `make bench`, or `python -m benchmarks speed`, `... loss`, ..."""
