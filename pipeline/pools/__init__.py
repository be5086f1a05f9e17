"""What games ask for: pools of deals proved winnable, their difficulty, hints and daily deals."""
