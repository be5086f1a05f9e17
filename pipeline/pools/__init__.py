"""What games ask for: pools of proven-winnable deals, their difficulty, hints and daily deals."""
