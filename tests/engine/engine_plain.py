"""Search deals without the compiler and print what was found, as JSON; capacities may be made small.

Run as a program, its argument JSON: `{"capacities": {name: value}, "deals": [[variant, seed, limit], ...]}`.
"""

import json
import sys

from pipeline.engine import memory


def main() -> None:
    job = json.loads(sys.argv[1])
    for name, value in job["capacities"].items():
        assert hasattr(memory, name), name
        setattr(memory, name, value)

    from engine_deals import facts, numbered, searcher  # after the capacities: modules take them over when imported

    from pipeline.game.deals import deal
    from pipeline.game.variants import load_variant
    from pipeline.referee.replay import verify_line

    found = []
    for variant, seed, limit in job["deals"]:
        result = searcher(variant).solve(numbered(variant, seed), limit)
        if result.verdict == "won":
            verify_line(deal(load_variant(variant), seed), result.moves.tolist())
        m = searcher(variant)._memory.array[0]
        found.append([*facts(result), [int(m.passes), int(m.width)]])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
