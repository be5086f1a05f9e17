"""Winnable: proves which deals of the Spider family can be won, and turns the verdicts into statistics."""
