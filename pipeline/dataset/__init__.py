"""Rows at rest: the Parquet dataset, its parts, locks and manifests, checks and repairs."""
