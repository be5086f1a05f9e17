"""The search: a widening stage beam that wins, and a complete search that proves losses."""
