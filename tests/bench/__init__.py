"""Benchmarks: ratios against a peer or a floor measured in the same run. `make bench` runs all."""
