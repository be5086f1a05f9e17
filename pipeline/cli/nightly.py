"""`nightly`: a night's work, from new deals to the page of all nights."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options
from pipeline.game.numbers import counted, json_text

if TYPE_CHECKING:
    from pipeline.runs.nightly import NightWork


@click.command()
@click.argument("config", required=False, type=options.Existing(), metavar="[CONFIG]")
@options.data_option
@options.variants_option
@options.nodes_option()
@options.workers_option
@click.option(
    "--max-time",
    type=options.DURATION,
    metavar="T",
    help="Stop settling after this time, for example 6h, and report what there is; the next night continues.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Directory of the nights' reports.  [default: reports]",
)
@click.option("--date", "day", metavar="DATE", help="The night's name, like 2026-11-30.  [default: today, UTC]")
@options.format_option("line", "json", default="line")
@options.verbosity_options
def nightly(
    config: Path | None, reports: Path | None, day: str | None, output_format: str, verbosity: int, **flags: Any
) -> None:
    r"""Do a night's work: new seeds, retries, checks, report.

    It settles the next new deals of every variant, retries unsettled ones at a larger limit, replays a sample of the
    stored lines, proves a sample of the losses again, and writes the report of everything so far to reports/DATE/ and
    the trend of all nights to reports/index.html. How many of each is set by [nightly] in CONFIG.

    After a kill the same command continues; once the night is done it does nothing. A later night settles what an
    earlier one left; once it has begun, the earlier one never changes. The result is one line, and
    reports/DATE/summary.json for programs.

    Exit codes: 0 done (also when --max-time ended it early), 3 a damaged dataset, 4 a solver fault, 5 some deals
    failed.

    \b
    Examples:
      winnable nightly configs/nightly.toml
      winnable nightly configs/nightly.toml --max-time 6h -q
    """
    from pipeline.cli.main import goes_on
    from pipeline.cli.progress import RunBar
    from pipeline.dataset.store import Store
    from pipeline.runs.configuration import load_settings
    from pipeline.runs.logs import show_on_terminal
    from pipeline.runs.night import Nights
    from pipeline.runs.nightly import NightWork, nightly_settings

    date = _date(day)
    settings = load_settings(config, flags, need_seeds=False)
    numbers = nightly_settings(settings, config, reports)
    show_on_terminal(verbosity)
    goes_on()
    nights = Nights(Store(settings.data))
    echo = partial(options.message, verbosity=verbosity)
    with nights.working():
        work = NightWork(nights, nights.load(date), settings, numbers, partial(RunBar, verbosity), echo)
        why = work.over()
        if why is not None:
            echo(f"the night of {date} is {why}")
        else:
            work.plan()
            echo(_announcement(work))
            work.settle()
            work.check()
            lines, losses = counted(work.audit.lines, "line"), counted(work.audit.losses, "lost deal")
            echo(f"{lines} replayed, {losses} proved again, {counted(len(work.audit.findings), 'fault')}")
            work.publish()
        summary = work.night.summary
        assert summary is not None
        click.echo(_line(summary) if output_format == "line" else json_text(summary, indent=2))
    work.raise_if_failed()


def _date(text: str | None) -> str:
    from datetime import UTC, datetime

    from pipeline.runs.night import read_date

    if text is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return read_date(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: expected {error}", param_hint="'--date'") from None


def _announcement(work: NightWork) -> str:
    """Say how much the night is going to do: without a configuration nobody has said it yet."""
    alike: dict[tuple[int, int], list[str]] = {}
    for partition, node_limit in work.node_limits.items():
        name = str(partition).removesuffix("/native")
        alike.setdefault((work.night.new[partition].count, node_limit), []).append(name)
    new = "; ".join(
        f"{counted(count, 'new deal')} of {'each of ' if len(names) > 1 else ''}{', '.join(names)} "
        f"at {counted(node_limit, 'position')}"
        for (count, node_limit), names in alike.items()
    )
    again = f"at most {work.nightly.retry_at_most:,} unsettled ones of each again"
    if all(node_limit <= work.nightly.retry_nodes for node_limit in work.node_limits.values()):
        again += f" at {work.nightly.retry_nodes:,}"
    return f"the night of {work.night.date}: {new}; then {again}"


def _line(summary: dict[str, Any]) -> str:
    def total(what: str, key: str) -> int:
        return sum(entry[what][key] for entry in summary["variants"])

    parts = [
        f"{counted(total('new', 'deals') - total('new', 'missing'), 'new deal')} ({total('new', 'won'):,} won, "
        f"{total('new', 'lost'):,} lost, {total('new', 'unsettled'):,} unsettled)"
    ]
    if retried := total("retried", "deals"):
        parts.append(f"{retried:,} tried again ({total('retried', 'won') + total('retried', 'lost'):,} settled)")
    parts.append(f"{counted(summary['verified']['lines'], 'line')} replayed")
    if losses := summary["verified"]["losses"]:
        parts.append(f"{counted(losses, 'lost deal')} proved again")
    if summary["failed"]:
        parts.append(f"{counted(len(summary['failed']), 'deal')} FAILED")
    elif total("new", "missing"):
        parts.append(f"{counted(total('new', 'missing'), 'deal')} left")
    if summary["verified"]["faults"]:
        parts.append(f"{summary['verified']['faults']} FAULTS in the dataset, no report")
    return f"{summary['date']} {summary['status']}: {', '.join(parts)}; {summary['report'] or '-'}"
