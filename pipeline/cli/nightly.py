"""`nightly`: a night's work, from new deals to the page of all nights."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli import options, records
from pipeline.game.numbers import json_text

if TYPE_CHECKING:
    from pipeline.dataset.audit import AuditResult
    from pipeline.dataset.seeds import Seeds
    from pipeline.dataset.store import Partition, Store
    from pipeline.runs.night import Night, Nights, Tally
    from pipeline.runs.settings import NightlySettings, RunSettings
    from pipeline.runs.summary import FailedDeal


LOSSES_A_NIGHT = 10  # proved again, of each partition


@click.command()
@click.argument(
    "config", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="[CONFIG]"
)
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
    from pipeline.dataset.store import Store
    from pipeline.errors import ConfigError, UsageError
    from pipeline.runs import night as planning
    from pipeline.runs.logs import show_on_terminal
    from pipeline.runs.settings import load_settings

    date = _date(day)
    settings = load_settings(config, flags, need_seeds=False)
    if config is not None and settings.nightly is None:
        raise ConfigError(f"{config}: has no table [nightly], which says how much a night does")
    numbers = settings.nightly or planning.DEFAULTS
    limit = min(job.nodes for job in settings.deals)
    stated = numbers.retry_nodes != planning.DEFAULTS.retry_nodes
    if stated and numbers.retry_at_most and numbers.retry_nodes <= limit:
        text = f"nightly.retry_nodes = {numbers.retry_nodes}: expected more than the node limit, which is {limit:,}"
        raise ConfigError(f"{config}: {text}; without retries, retry_at_most = 0")
    show_on_terminal(verbosity)
    goes_on()
    nights = planning.Nights(Store(settings.data))
    with nights.working():
        night = nights.load(date)
        work = _Work(nights, night, settings, replace(numbers, reports=reports or numbers.reports), verbosity)
        later = next((day for day in nights.dates() if day > date), None)
        if later and night.summary is None:
            raise UsageError(
                f"--date {date}: the night of {later} has begun already; expected that date or a later one"
            )
        if later or work.is_done():
            why = f"over: the night of {later} has begun" if later else "done already"
            options.message(f"the night of {night.date} is {why}", verbosity)
        else:
            work.settle()
            work.check()
            work.publish()
        assert night.summary is not None
        click.echo(_line(night.summary) if output_format == "line" else json_text(night.summary, indent=2))
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


@dataclass(slots=True)
class _Work:
    """What one call does of a night, step by step; each step asks the dataset what is left of it.

    Attributes
    ----------
    in_time
        Whether all of the plan was come to before `--max-time`.
    tallies
        What became of the new deals and of those tried again.
    """

    nights: Nights
    night: Night
    settings: RunSettings
    numbers: NightlySettings
    verbosity: int
    failed: list[FailedDeal] = field(default_factory=list)
    in_time: bool = True
    tallies: dict[Partition, tuple[Tally, Tally]] = field(default_factory=dict)
    audit: AuditResult | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def store(self) -> Store:
        """The dataset."""
        return self.nights.store

    @property
    def folder(self) -> Path:
        """Where the night's report goes."""
        return self.numbers.reports / self.night.date

    def is_done(self) -> bool:
        """Whether nothing is left of the night; deals that failed are left."""
        from pipeline.runs.night import FINISHED

        summary = self.night.summary or {"failed": 1}
        planned = all(partition in self.night.retry for partition, _ in self._jobs())
        return planned and self.night.status == FINISHED and not summary["failed"]

    def settle(self) -> None:
        """Settle the new deals, then try the unsettled ones again, as long as there is time."""
        from pipeline.dataset.seeds import Seeds

        self.nights.plan(self.night, self.settings.deals, self.numbers)
        self.nights.save(self.night)
        options.message(self._announcement(), self.verbosity)
        self._run(self.night.new, None)
        if self.in_time:
            self.nights.plan_retries(self.night, self.settings.deals, self.numbers)
            self.nights.save(self.night)
            self._run(self.night.retry, self.numbers.retry_nodes)
        for partition, _ in self._jobs():
            retried = self.night.retry.get(partition, Seeds(()))
            tally = partial(self.nights.tally, partition)
            self.tallies[partition] = tally(self.night.new[partition]), tally(retried)

    def _announcement(self) -> str:
        """Say how much the night is going to do: without a configuration nobody has said it yet."""
        alike: dict[tuple[int, int], list[str]] = {}
        for partition, nodes in self._jobs():
            alike.setdefault((self.night.new[partition].count, nodes), []).append(
                str(partition).removesuffix("/native")
            )
        new = "; ".join(
            f"{records.counted(count, 'new deal')} of {'each of ' if len(names) > 1 else ''}{', '.join(names)} "
            f"at {records.counted(nodes, 'position')}"
            for (count, nodes), names in alike.items()
        )
        again = f"at most {self.numbers.retry_at_most:,} unsettled ones of each again"
        if all(nodes <= self.numbers.retry_nodes for _, nodes in self._jobs()):
            again += f" at {self.numbers.retry_nodes:,}"
        return f"the night of {self.night.date}: {new}; then {again}"

    def _run(self, plan: dict[Partition, Seeds], nodes: int | None) -> None:
        """Settle what is left of a plan."""
        from pipeline.cli.main import raise_if_stopped
        from pipeline.cli.progress import RunBar, wanted
        from pipeline.runs.night import run_settings
        from pipeline.runs.run import run
        from pipeline.runs.window import Progress

        settings = run_settings(self.settings, plan, nodes)
        if not settings.deals:
            return
        if settings.max_time is not None:
            left = settings.max_time - (time.monotonic() - self.began)
            settings = replace(settings, max_time=max(0.001, left))
        bar = RunBar() if wanted(self.verbosity) else Progress()
        summary = run(settings, progress=bar, echo=partial(options.message, verbosity=self.verbosity))
        self.failed += summary.failed
        raise_if_stopped(summary.stopped)
        self.in_time = summary.stopped is None

    def check(self) -> None:
        """Check the night's partitions and replay a sample of their lines; all of them where faults were found."""
        from pipeline.dataset.audit import Audit
        from pipeline.dataset.losses import check_losses, lost_seeds
        from pipeline.runs.executors import make_executor
        from pipeline.runs.flight import replay_with

        partitions = {partition for partition, _ in self._jobs()}
        executor = make_executor(self.settings)
        try:
            rules = {job.variant.id: job.variant for job in self.settings.deals}
            audit = Audit(self.store, rules, replay_with(executor), only=partitions.__contains__)
            self.audit = audit.check(None if self.nights.distrusted(self.night) else self.numbers.verify_sample)
        finally:
            executor.close(now=True)
        known = sorted(partitions)
        losses = [(part, rules[part.variant], lost_seeds(self.store, part, LOSSES_A_NIGHT)) for part in known]
        check_losses(self.store, losses, self.audit)
        proved = records.counted(self.audit.losses, "lost deal")
        lines, faults = records.counted(self.audit.lines, "line"), records.counted(len(self.audit.findings), "fault")
        options.message(f"{lines} replayed, {proved} proved again, {faults}", self.verbosity)

    def publish(self) -> None:
        """Write the report, but none of a dataset with faults; then the page of all nights and the summary."""
        from pipeline.analysis.nights import next_pages, nights_page
        from pipeline.dataset.files import write_text
        from pipeline.runs import night as planning

        faulty = self.audit is not None and bool(self.audit.findings)
        totals = {} if faulty else self._report()
        night = self.night
        night.status = planning.FAULTY if faulty else planning.FINISHED if self.in_time else planning.CUT
        night.summary = self._summary(totals)
        write_text(self.folder / "summary.json", json_text(night.summary, indent=2) + "\n")
        write_text(self.numbers.reports / "index.html", nights_page(self.numbers.reports))
        for path, page in next_pages(self.numbers.reports).items():
            write_text(path, page)
        self.nights.save(night)

    def _report(self) -> dict[str, dict[str, Any]]:
        """Write report.html and report.json; return the latter's entries by partition."""
        from pipeline.analysis.nights import night_head
        from pipeline.analysis.page import report_page
        from pipeline.analysis.report import report_json, report_of
        from pipeline.analysis.samples import read_samples
        from pipeline.dataset.files import write_text
        from pipeline.dataset.manifest import read_runs

        held = {partition.variant for partition in self.store.partitions()}
        variants = [job.variant for job in self.settings.deals if job.variant.id in held]
        if not variants:
            return {}
        runs = read_runs(self.store)
        made = report_of(read_samples(self.store, runs, variants=variants), date=self.night.date)
        content = report_json(made)
        head = night_head(self._summary({}), self.numbers.reports)
        write_text(self.folder / "report.html", report_page(made, runs, head))
        write_text(self.folder / "report.json", json_text(content, indent=2) + "\n")
        options.message(f"wrote {self.folder / 'report.html'}", self.verbosity)
        return {f"{entry['variant']}/{entry['numbering']}": entry for entry in content["variants"]}

    def _summary(self, totals: dict[str, dict[str, Any]]) -> dict[str, Any]:
        from pipeline.version import solver_id

        audit = self.audit
        assert audit is not None
        before = (self.night.summary or {}).get("seconds", 0.0)  # of a call that ran out of time
        return {
            "date": self.night.date,
            "status": self.night.status,
            "solver": solver_id(),
            "seconds": round(before + time.monotonic() - self.began, 1),
            "variants": [self._variant_entry(partition, nodes, totals) for partition, nodes in self._jobs()],
            "verified": {
                "parts": audit.parts,
                "lines": audit.lines,
                "losses": audit.losses,
                "faults": len(audit.findings),
            },
            "faults": [f"{fault.path}: {fault.text}" for fault in audit.findings[:20]],
            "failed": [str(deal) for deal in self.failed],
            "report": str(self.folder / "report.html") if totals else None,
        }

    def _variant_entry(self, partition: Partition, nodes: int, totals: dict[str, dict[str, Any]]) -> dict[str, Any]:
        new, retry = self.tallies[partition]
        total = totals.get(str(partition))
        keys = ("deals", "won", "lost", "unsettled", "proved_win_rate", "upper_bound", "interval", "node_limit")
        return {
            "variant": partition.variant,
            "numbering": partition.numbering,
            "seeds": [f"{piece.start}:{piece.stop - 1}" for piece in self.night.new[partition].ranges],
            "node_limit": nodes,
            "new": new.record(),
            "retry_node_limit": max(nodes, self.numbers.retry_nodes),
            "retried": retry.record(),
            "total": {key: total[key] for key in keys} if total else None,
        }

    def _jobs(self) -> list[tuple[Partition, int]]:
        """List the night's partitions and their node limits."""
        from pipeline.dataset.store import Partition

        return [(Partition(job.variant.id, job.numbering), job.nodes) for job in self.settings.deals]

    def raise_if_failed(self) -> None:
        """Raise what the exit code follows from: faults in the dataset, then deals that failed."""
        from pipeline.runs.summary import RunSummary

        if self.audit is not None:
            self.audit.raise_if_faulty()
        RunSummary("", (), self.failed).raise_if_failed()


def _line(summary: dict[str, Any]) -> str:
    """Return a night in one line."""

    def total(what: str, key: str) -> int:
        return sum(entry[what][key] for entry in summary["variants"])

    parts = [
        f"{records.counted(total('new', 'deals') - total('new', 'missing'), 'new deal')} ({total('new', 'won'):,} won, "
        f"{total('new', 'lost'):,} lost, {total('new', 'unsettled'):,} unsettled)",
        f"{total('retried', 'deals'):,} tried again ({total('retried', 'won') + total('retried', 'lost'):,} settled)",
        f"{records.counted(summary['verified']['lines'], 'line')} replayed, "
        f"{records.counted(summary['verified']['losses'], 'lost deal')} proved again",
    ]
    if summary["failed"]:
        parts.append(f"{records.counted(len(summary['failed']), 'deal')} FAILED")
    elif total("new", "missing"):
        parts.append(f"{records.counted(total('new', 'missing'), 'deal')} left")
    if summary["verified"]["faults"]:
        parts.append(f"{summary['verified']['faults']} FAULTS in the dataset, no report")
    return f"{summary['date']} {summary['status']}: {', '.join(parts)}; {summary['report'] or '-'}"
