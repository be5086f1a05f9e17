"""A night's work: settle the plan, check the dataset, write the reports. Each step asks the dataset what is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.dataset.audit import Audit, AuditResult
from pipeline.dataset.files import write_text
from pipeline.dataset.losses import check_losses, lost_seeds
from pipeline.dataset.manifest import read_runs
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import ConfigError, UsageError
from pipeline.game.numbers import json_text
from pipeline.runs import run as running
from pipeline.runs.executors import make_executor
from pipeline.runs.flight import replay_with
from pipeline.runs.night import CUT, DEFAULTS, FAULTY, FINISHED, Night, Nights, Standing, run_settings
from pipeline.runs.progress import Progress
from pipeline.runs.settings import NightlySettings, RunSettings
from pipeline.runs.summary import FailedDeal, raise_if_failed, raise_if_stopped
from pipeline.version import solver_id

LOSSES_A_NIGHT = 10  # proved again, of each partition
_TOTALS = ("deals", "won", "lost", "unsettled", "proved_win_rate", "upper_bound", "interval", "node_limit")


def nightly_settings(settings: RunSettings, config: Path | None, reports: Path | None) -> NightlySettings:
    """Return what a night is told, `reports` over the configuration over the defaults.

    Raises
    ------
    ConfigError
        The configuration has no table for nights, or its retries would change nothing.
    """
    if config is not None and settings.nightly is None:
        raise ConfigError(f"{config}: has no table [nightly], which says how much a night does")
    nightly = settings.nightly or DEFAULTS
    limit = min(deals.node_limit for deals in settings.deals)
    stated = nightly.retry_nodes != DEFAULTS.retry_nodes
    if stated and nightly.retry_at_most and nightly.retry_nodes <= limit:
        text = f"nightly.retry_nodes = {nightly.retry_nodes}: expected more than the node limit, which is {limit:,}"
        raise ConfigError(f"{config}: {text}; without retries, retry_at_most = 0")
    return replace(nightly, reports=reports or nightly.reports)


@dataclass(slots=True)
class NightWork:
    """What one call does of a night: `plan`, `settle`, `check` and `publish`, in this order, unless it is `over`.

    Attributes
    ----------
    nights, night
        The dataset's nights, held by `Nights.working`, and the one to work on.
    settings, nightly
        What to settle and how, and how much of it.
    progress, echo
        Follows each run, and is given messages for the user, a line each.
    failed
        Deals that could not be settled.
    in_time
        Whether all of the plan was settled before `max_time`.
    standings
        What became of the new deals and of those tried again.
    """

    nights: Nights
    night: Night
    settings: RunSettings
    nightly: NightlySettings
    progress: Callable[[], Progress] = Progress
    echo: Callable[[str], None] = lambda _text: None
    failed: list[FailedDeal] = field(default_factory=list)
    in_time: bool = True
    standings: dict[Partition, tuple[Standing, Standing]] = field(default_factory=dict)
    audit: AuditResult = field(default_factory=AuditResult)
    began: float = field(default_factory=time.monotonic)

    @property
    def store(self) -> Store:
        """The dataset."""
        return self.nights.store

    @property
    def folder(self) -> Path:
        """Where the night's report goes."""
        return self.nightly.reports / self.night.date

    @property
    def node_limits(self) -> dict[Partition, int]:
        """The night's partitions and the node limits of their new deals."""
        return {deals.partition: deals.node_limit for deals in self.settings.deals}

    def over(self) -> str | None:
        """Return why nothing is left to do; None if something is. Deals that failed are left.

        Raises
        ------
        UsageError
            A later night has begun, so this one cannot begin any more.
        """
        later = next((day for day in self.nights.dates() if day > self.night.date), None)
        if later and self.night.summary is None:
            raise UsageError(
                f"--date {self.night.date}: the night of {later} has begun already; expected that date or a later one"
            )
        if later:
            return f"over: the night of {later} has begun"
        summary = self.night.summary or {"failed": 1}
        planned = all(partition in self.night.retry for partition in self.node_limits)
        done = planned and self.night.status == FINISHED and not summary["failed"]
        return "done already" if done else None

    def plan(self) -> None:
        """Choose the new deals, those that earlier nights left among them."""
        self.nights.plan(self.night, self.settings.deals, self.nightly)
        self.nights.save(self.night)

    def settle(self) -> None:
        """Settle the new deals, then try unsettled ones again, as long as there is time.

        Raises
        ------
        Signalled
            A signal ended it early; the same night goes on from there.
        """
        self._run(self.night.new, None)
        if self.in_time:
            self.nights.plan_retries(self.night, self.settings.deals, self.nightly)
            self.nights.save(self.night)
            self._run(self.night.retry, self.nightly.retry_nodes)
        for partition in self.node_limits:
            retried = self.night.retry.get(partition, Seeds(()))
            self.standings[partition] = (
                self.nights.standing(partition, self.night.new[partition]),
                self.nights.standing(partition, retried),
            )

    def _run(self, plan: dict[Partition, Seeds], node_limit: int | None) -> None:
        settings = run_settings(self.settings, plan, node_limit)
        if not settings.deals:
            return
        if settings.max_time is not None:
            left = settings.max_time - (time.monotonic() - self.began)
            settings = replace(settings, max_time=max(0.001, left))
        summary = running.run(settings, progress=self.progress(), echo=self.echo)
        self.failed += summary.failed
        raise_if_stopped(summary.stopped)
        self.in_time = summary.stopped is None

    def check(self) -> None:
        """Check the night's partitions and replay a sample of their lines; all of them where faults were found."""
        partitions = sorted(self.node_limits)
        rules = {deals.variant.id: deals.variant for deals in self.settings.deals}
        with make_executor(self.settings) as executor:
            audit = Audit(self.store, rules, replay_with(executor), only=partitions.__contains__)
            self.audit = audit.check(None if self.nights.distrusted(self.night) else self.nightly.verify_sample)
        losses = [(part, rules[part.variant], lost_seeds(self.store, part, LOSSES_A_NIGHT)) for part in partitions]
        check_losses(self.store, losses, self.audit)

    def publish(self) -> None:
        """Write the report, but none of a dataset with faults; then the page of all nights and the summary."""
        from pipeline.analysis.nights import next_pages, nights_page

        night, faulty = self.night, bool(self.audit.findings)
        totals = {} if faulty else self._report()
        night.status = FAULTY if faulty else FINISHED if self.in_time else CUT
        night.summary = self._summary(totals)
        write_text(self.folder / "summary.json", json_text(night.summary, indent=2) + "\n")
        write_text(self.nightly.reports / "index.html", nights_page(self.nightly.reports))
        for path, page in next_pages(self.nightly.reports).items():
            write_text(path, page)
        self.nights.save(night)

    def _report(self) -> dict[str, dict[str, Any]]:
        """Write report.html and report.json; return the latter's entries by partition."""
        from pipeline.analysis.nights import night_head
        from pipeline.analysis.page import report_page
        from pipeline.analysis.report import report_json, report_of
        from pipeline.analysis.samples import read_samples

        held = {partition.variant for partition in self.store.partitions()}
        variants = [deals.variant for deals in self.settings.deals if deals.variant.id in held]
        if not variants:
            return {}
        runs = read_runs(self.store)
        report = report_of(read_samples(self.store, runs, variants=variants), date=self.night.date)
        content = report_json(report)
        head = night_head(self._summary({}), self.nightly.reports)
        write_text(self.folder / "report.html", report_page(report, runs, head))
        write_text(self.folder / "report.json", json_text(content, indent=2) + "\n")
        self.echo(f"wrote {self.folder / 'report.html'}")
        return {f"{entry['variant']}/{entry['numbering']}": entry for entry in content["variants"]}

    def _summary(self, totals: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return the night in numbers, `summary.json`."""
        audit = self.audit
        before = (self.night.summary or {}).get("seconds", 0.0)  # of a call that ran out of time
        return {
            "date": self.night.date,
            "status": self.night.status,
            "solver": solver_id(),
            "seconds": round(before + time.monotonic() - self.began, 1),
            "variants": [self._variant_entry(*item, totals) for item in self.node_limits.items()],
            "verified": {
                "parts": audit.parts,
                "lines": audit.lines,
                "losses": audit.losses,
                "faults": len(audit.findings),
            },
            "faults": [f"{finding.path}: {finding.text}" for finding in audit.findings[:20]],
            "failed": [str(deal) for deal in self.failed],
            "report": str(self.folder / "report.html") if totals else None,
        }

    def _variant_entry(
        self, partition: Partition, node_limit: int, totals: dict[str, dict[str, Any]]
    ) -> dict[str, Any]:
        new, retried = self.standings[partition]
        total = totals.get(str(partition))
        return {
            "variant": partition.variant,
            "numbering": partition.numbering,
            "seeds": self.night.new[partition].texts(),
            "node_limit": node_limit,
            "new": new.record(),
            "retry_node_limit": max(node_limit, self.nightly.retry_nodes),
            "retried": retried.record(),
            "total": {key: total[key] for key in _TOTALS} if total else None,
        }

    def raise_if_failed(self) -> None:
        """Raise what the exit code follows from: faults in the dataset, then deals that failed.

        Raises
        ------
        SolverFault, StoreError, PartialFailure
            See `AuditResult.raise_if_faulty` and `summary.raise_if_failed`.
        """
        self.audit.raise_if_faulty()
        raise_if_failed(self.failed)
