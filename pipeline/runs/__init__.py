"""Work in flight: settings, chunks, worker processes, runs and nights."""
