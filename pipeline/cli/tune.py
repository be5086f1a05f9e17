"""`tune`: the search for better evaluation weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli import options, records
from pipeline.game.numbers import counted

if TYPE_CHECKING:
    from pipeline.tuning.tune import Generation, Tuning

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@options.variants_option
@click.option(
    "--generations", type=click.IntRange(1, 100_000), default=30, show_default=True, help="Generations in all."
)
@click.option(
    "--deals",
    type=click.IntRange(1, 100_000),
    default=24,
    show_default=True,
    help="New deals per generation and variant.",
)
@options.nodes_option(40_000)
@click.option(
    "--population", type=click.IntRange(4, 10_000), default=14, show_default=True, help="Candidates per generation."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Seed of the random numbers."
)
@click.option(
    "--from",
    "start",
    metavar="NAME|FILE",
    help="Initial weights: a shipped set or a file (x.toml).  [default: those of the first variant]",
)
@click.option("--out", type=_FILE, required=True, metavar="FILE.toml", help="File for the tuned weights.")
@click.option(
    "--state",
    type=_FILE,
    metavar="FILE.json",
    help="Save the state here after every generation; the same command continues from it.  [default: do not save]",
)
@click.option(
    "--first-seed",
    "--first",
    "first_seed",
    type=options.COUNT,
    metavar="N",
    help="First native seed to train on; the final check takes the seeds after those.  [default: 900000000]",
)
@click.option(
    "--held-out",
    type=click.IntRange(0, 1_000_000),
    default=1000,
    show_default=True,
    metavar="N",
    help="New deals per variant for the final comparison of the result with the start.",
)
@options.workers_option
@options.format_option()
@options.verbosity_options
def tune(
    variants: tuple[str, ...],
    generations: int,
    deals: int,
    nodes: int | None,
    population: int,
    seed: int,
    start: str | None,
    out: Path,
    state: Path | None,
    first_seed: int | None,
    held_out: int,
    workers: int | None,
    output_format: str,
    verbosity: int,
) -> None:
    r"""Search for better evaluation weights.

    An evolution strategy (separable CMA-ES) changes the weights so that new deals take fewer positions. Every
    generation has new deals. At the end the result is compared with the start on held-out deals: exact McNemar test of
    the deals settled, paired ratio of positions. The result depends on the flags only, not on --workers. The weights
    file holds its provenance; 'winnable compare shipped FILE.toml' tries it on any deals.

    Needs an extra: pip install '.[tune]' in a checkout.

    \b
    Examples:
      winnable tune --variant spider-4 --out tuned.toml --state tuned.json
      winnable tune --variant spider-1 --variant spider-2 --nodes 20k --from spider-2 --out tuned.toml
    """
    from pipeline.cli.main import goes_on
    from pipeline.dataset.files import write_text
    from pipeline.errors import UsageError
    from pipeline.runs.executors import InlineExecutor, make_processes
    from pipeline.solver import warm
    from pipeline.tuning import tune as search
    from pipeline.tuning import tuned

    chosen = options.chosen_variants(variants)
    if not chosen:
        raise UsageError("tune needs --variant V")
    word = start or search.default_start(chosen[0])
    tuning = search.Tuning(
        variants=tuple(chosen),
        start=search.read_start(word),
        start_name=Path(word).name,
        deals=deals,
        node_limit=options.setting("nodes", nodes, 40_000),
        population=population,
        seed=seed,
        first_seed=search.FIRST_SEED if first_seed is None else first_seed,
    )
    tuning.check_seeds(generations, held_out)
    search.require_cmaes()
    history = search.History(tuning, state)
    if state is not None:
        goes_on()
    if history.generations:
        options.message(f"continuing after generation {min(len(history.generations), generations)}", verbosity)
    size = options.worker_count(workers)
    warm(chosen, lambda text: options.message(text, verbosity))
    with make_processes(size) if size > 1 else InlineExecutor() as executor:
        result = search.tune(tuning, generations, history, executor, partial(_report, tuning, generations, verbosity))
        untouched = tuning.untouched(generations, held_out)
        if held_out:
            options.message(f"comparing with the start on {counted(held_out, 'held-out deal')} per variant", verbosity)
        checks = search.check(tuning, result, untouched, executor) if held_out else []
    write_text(out, tuned.weights_text(tuning, result.weights, generations, untouched, checks))
    options.message(f"wrote {out}", verbosity)
    if checks:
        click.echo(records.table([tuned.check_record(check) for check in checks], output_format), nl=False)


def _report(tuning: Tuning, generations: int, verbosity: int, number: int, generation: Generation) -> None:
    """Print a line about a generation: how the candidates did against the start on the same deals."""
    from math import exp
    from statistics import median

    best, middle = (exp(value - generation.start) for value in (min(generation.values), median(generation.values)))
    effort = exp(generation.start) * tuning.node_limit  # geometric mean, an unsettled deal at twice the limit
    options.message(
        f"generation {number} of {generations}: {effort:,.0f} positions per deal at the start, "
        f"best candidate {best:.3f} times that, median {middle:.3f}",
        verbosity,
    )
