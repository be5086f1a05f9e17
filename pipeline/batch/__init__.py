"""Many deals: settings, worker processes, the Parquet dataset, runs, checks and repairs."""
