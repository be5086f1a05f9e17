"""The games: variants, deals, boards, lines, and the rules as readable Python."""
