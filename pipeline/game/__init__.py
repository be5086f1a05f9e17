"""What the games are: variants, deals, boards, the referee, lines."""
