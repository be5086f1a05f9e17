"""A soak, by hand: runs a configuration, kills its processes again and again, and counts what that has cost.

python tests/runs/runs_soak.py --minutes 60 --every 20 --data /tmp/soak
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dataset_rows import rows_of

from pipeline.dataset.rows import seeds_of
from pipeline.dataset.schema import VOLATILE
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Store
from pipeline.runs.configuration import load_settings

ROOT = Path(__file__).parents[2]


def session(leader):
    """Return resident megabytes by process id of everything alive in a session, and the fork server's children."""
    sizes, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            state, parent, _, leads, *rest = path.read_text().rpartition(")")[2].split()
            if int(leads) == leader and state not in "ZX":
                pid = int(path.parent.name)
                sizes[pid] = int(rest[17]) * os.sysconf("SC_PAGESIZE") / 1e6
                parents[pid] = int(parent)
    servers = {pid for pid, parent in parents.items() if parent == leader}
    return sizes, [pid for pid, parent in parents.items() if parent in servers]


def seeds_in(data):
    """Return the seeds of every partition, read while the run goes on."""
    store = Store(data)
    return {partition: set(seeds_of(store.read(*partition, ["seed"])).tolist()) for partition in store.partitions()}


class Soak:
    """One soak and its counts."""

    def __init__(self, options):
        self.options = options
        self.dice = random.Random(options.seed)
        self.kills = {"worker": 0, "parent": 0, "both": 0}
        self.starts, self.lost, self.peak, self.memory = 0, 0, 0.0, []
        self.known = {}

    def run(self):
        deadline = time.monotonic() + self.options.minutes * 60
        while time.monotonic() < deadline:
            if self.one_process(deadline):
                break
        self.look()
        return self.report()

    def one_process(self, deadline):
        """Start the run and kill within it until it is dead; return whether it got through."""
        self.starts += 1
        words = ["run", self.options.config, "--data", self.options.data, "-q"]
        words += ["--max-time", str(max(1, int(deadline - time.monotonic())))]
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", *map(str, words)],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(self.options.every)
                assert code in (0, -signal.SIGKILL), f"exit code {code}"
                self.nobody_left(process.pid)
                return code == 0
            sizes, workers = session(process.pid)
            self.memory.append((sizes.get(process.pid, 0.0), max((sizes[pid] for pid in workers), default=0.0)))
            self.look()
            target = self.dice.choice(("worker", "worker", "parent", "both"))
            self.kills[target] += 1
            victims = [self.dice.choice(workers)] if workers and target != "parent" else []
            for pid in [*victims, *([process.pid] if target != "worker" else [])]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def nobody_left(self, leader):
        end = time.monotonic() + 20
        while session(leader)[0]:
            assert time.monotonic() < end, f"left behind: {session(leader)[0]}"
            time.sleep(0.1)

    def look(self):
        """Every row ever seen must still be there."""
        for partition, seeds in seeds_in(self.options.data).items():
            self.lost += len(self.known.get(partition, set()) - seeds)
            self.known[partition] = seeds

    def report(self):
        store = Store(self.options.data)
        doubled = sum(len(store.read(*part, ["seed"])) - len(seeds) for part, seeds in self.known.items())
        half = len(self.memory) // 2
        means = [
            [
                round(sum(pair[who] for pair in some) / max(1, len(some)))
                for some in (self.memory[:half], self.memory[half:])
            ]
            for who in (0, 1)
        ]
        return {
            "deals": sum(map(len, self.known.values())),
            "starts": self.starts,
            "kills": self.kills,
            "rows_lost": self.lost,
            "rows_doubled": doubled,
            "rows_that_differ": self.compare(store),
            "parent_mb_first_and_second_half": means[0],
            "worker_mb_first_and_second_half": means[1],
            "failed_deals": sum(len(json.loads(path.read_text())["failed"]) for path in store.runs.glob("*.json")),
        }

    def compare(self, store):
        """Settle a sample again, undisturbed, and count the rows that are not the same."""
        different = 0
        with tempfile.TemporaryDirectory() as fresh:
            settings = load_settings(Path(self.options.config), {"data": Path(fresh)}, {})
            for deals in settings.deals:
                seeds = self.known.get((deals.variant.id, deals.numbering), set())
                sample = self.dice.sample(sorted(seeds), min(len(seeds), self.options.sample))
                if sample:
                    (Path(fresh) / "seeds.txt").write_text(str("\n".join(map(str, sample))))
                    words = ["run", "--variant", deals.variant.id, "--nodes", deals.node_limit, "--data", fresh, "-q"]
                    words += ["--seeds-from", Path(fresh) / "seeds.txt"]
                    subprocess.run(
                        [sys.executable, "-m", "pipeline", *map(str, words)],
                        cwd=ROOT,
                        check=True,
                        stdout=subprocess.DEVNULL,
                    )
            nothing = dict.fromkeys(VOLATILE)
            for partition in Store(fresh).partitions():
                expected = {row.seed: row._replace(**nothing) for row in rows_of(Store(fresh).read(*partition))}
                wanted = Seeds.of_numbers(expected)
                found = [row for row in rows_of(store.read(*partition)) if row.seed in wanted]
                different += sum(expected[row.seed] != row._replace(**nothing) for row in found)
        return different


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=20, help="seconds between kills")
    parser.add_argument("--config", default=ROOT / "configs" / "soak.toml")
    parser.add_argument("--data", required=True)
    parser.add_argument("--sample", type=int, default=200, help="deals of each variant settled again at the end")
    parser.add_argument("--seed", type=int, default=1)
    print(json.dumps(Soak(parser.parse_args()).run(), indent=2))
