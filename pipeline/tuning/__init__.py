"""The search for better evaluation weights."""
