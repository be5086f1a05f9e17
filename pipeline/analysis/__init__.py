"""What the outcomes say: statistics, reports, figures, comparisons."""
