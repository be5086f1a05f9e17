"""What outcomes say: statistics, reports, figures, comparisons."""
