"""Bad input of every kind: one clear line, the right exit code, no traceback, nothing written."""

import os
from typing import NamedTuple

import pandas as pd
import pytest

from pipeline.cli.main import run_command

SEEDS = ["--seeds", "1:5", "--variant", "spider-1"]
RUN = ["run", "run.toml"]
CLUBS = "\n".join(["AC"] * 104)


class Case(NamedTuple):
    """A command, the files and variables it finds, and how it must end."""

    words: list
    code: int
    text: str
    files: dict | None = None
    env: dict | None = None


def config(text, said, code=3):
    return Case(RUN, code, said, {"run.toml": text})


def seeds(raw, said):
    return Case(["run", "--variant", "spider-1", "--seeds-from", "seeds.txt"], 3, said, {"seeds.txt": raw})


def variable(name, value, said):
    return Case(["run", *SEEDS], 3, said, env={name: value})


def nothing(words):
    return Case(
        words,
        3,
        "Error: nope: not a dataset: expected a directory with outcomes/, as 'winnable run' makes\n",
        {"nope/notes.txt": "x"},
    )


def dataset(name, content, said):
    """A dataset that holds this; every reader must refuse it."""
    return [
        Case(words, 3, said, {f"data/outcomes/{name}": content})
        for words in (
            ["run", *SEEDS],
            ["status"],
            ["report"],
            ["verify"],
            ["export"],
            ["merge", "data", "--data", "other"],
        )
    ]


PART = "variant=spider-1/numbering=native/part-1-5.parquet"
FOREIGN = pd.DataFrame({"seed": [1, 5], "verdict": ["won", "won"]})

CASES = {
    "config unknown key": config('sedes = "1:5"', "run.toml: unknown key 'sedes'; did you mean 'seeds'?"),
    "config unknown key in a table": config(
        "[variant.spider-1]\nnodez = 5", "'variant.spider-1.nodez'; did you mean 'nodes'?"
    ),
    "config unknown variant table": config("[variant.spider-l]\nnodes = 5", "variant.spider-l: no such variant"),
    "config unknown variant": config('seeds = 1\nvariants = ["spidr-1"]', "did you mean 'spider-1'?"),
    "config table as value": config("variant = 5", "expected a table [variant]"),
    "config unknown nightly key": config("[nightly]\nseed = 5", "'nightly.seed'; did you mean 'seeds'?"),
    "config wrong type": config('seeds = 1\nnodes = "many"', "nodes = 'many': expected a whole number from 1 up"),
    "config boolean as number": config("seeds = 1\nnodes = true", "nodes = True: expected a whole number"),
    "config number as boolean": config("seeds = 1\nreport = 1", "report = 1: expected true or false"),
    "config text as boolean": config(
        'seeds = 1\nreport = "yes"', "run.toml: report = 'yes': expected true or false, without quotes"
    ),
    "config table of a variant that is not chosen": config(
        'seeds = 1\nvariants = ["spider-1"]\n[variant.spider-4]\nnodes = 5',
        "run.toml: [variant.spider-4] would do nothing: variants does not name it",
    ),
    "config table of a variant beyond the default ones": config(
        "seeds = 1\n[variant.mrs-mop]\nnodes = 5", "run.toml: [variant.mrs-mop] would do nothing: name it in variants"
    ),
    "config negative": config("seeds = 1\nnodes = -5", "nodes = -5: expected a whole number from 1 up"),
    "config zero": config("seeds = 1\nworkers = 0", "workers = 0: expected a whole number from 1 to 4096"),
    "config fraction": config("seeds = 1\nnodes = 1.5", "nodes = 1.5: expected a whole number"),
    "config empty range": config('seeds = "9:3"', "3:9"),
    "config no range": config("seeds = []", "seeds = []: expected seeds as"),
    "config range of words": config('seeds = "one:two"', "'one:two'"),
    "config negative seeds": config('seeds = "-5:3"', "'-5:3'"),
    "config huge range": config('seeds = "1:99999999999"', "are more than one run may plan (1,000,000,000)"),
    "config seeds beyond 2**63": config('seeds = "1:99999999999999999999"', "9223372036854775807"),
    "config seeds beyond the numbering": config(
        'seeds = "1:99999999999"\nnumbering = "kpat"\nvariants = ["spider-1"]', "2147483647"
    ),
    "config numbering the variant lacks": config(
        'seeds = 1\nnumbering = "kpat"', "has no numbering 'kpat'; it has: native, pysol"
    ),
    "config unknown numbering": config('seeds = 1\nnumbering = "natve"', "did you mean 'native'?"),
    "config no seeds": config(
        "nodes = 5", "run.toml: no seeds for spider-1: give it the key seeds, or give --seeds", 2
    ),
    "config no TOML": config("seeds: 5", "run.toml: not TOML"),
    "config broken text": config(b"seeds = 1 # \xff\xfe", "run.toml: not TOML: byte 12 is not UTF-8"),
    "config huge number": config("nodes = " + "9" * 5000, "run.toml: not TOML"),
    "config 10 MB of noise": config(os.urandom(10_000_000), "so it is not a configuration"),
    "config bad duration": config('seeds = 1\nmax_time = "soon"', "max_time = 'soon': expected seconds, or a duration"),
    "config bad size": config('seeds = 1\nmemory = "much"', "memory = 'much': expected a size"),
    "config bad shard": config('seeds = 1\nshard = "5/4"', "shard = '5/4': expected i/n with 1 <= i <= n"),
    "config bad scheduler": config('seeds = 1\nscheduler = "here"', "scheduler = 'here': expected an address"),
    "config missing seeds file": config('seeds_from = "gone.txt"', "gone.txt: cannot be read: No such file"),
    "config missing variant file": config('seeds = 1\nvariants = ["gone.toml"]', "gone.toml: cannot be read"),
    "config is missing": Case(RUN, 2, "'run.toml' does not exist"),
    "config is a directory": Case(["run", "."], 2, "is a directory"),
    "seeds words": seeds("1\ntwo\n", "seeds.txt: line 2: 'two'"),
    "seeds backwards": seeds("9:1\n", "seeds.txt: line 1: '9:1'"),
    "seeds negative": seeds("-4\n", "seeds.txt: line 1"),
    "seeds beyond 2**63": seeds("9223372036854775808\n", "seeds.txt: line 1: '9223372036854775808'"),
    "seeds fraction": seeds("1.5\n", "seeds.txt: line 1"),
    "seeds none": seeds("# none\n\n", "seeds.txt"),
    "seeds empty file": seeds("", "seeds.txt"),
    "seeds binary": seeds(b"1\n\xff\xfe2\n", "seeds.txt"),
    "seeds UTF-16": seeds("1\n2\n".encode("utf-16"), "seeds.txt"),
    "seeds 10 MB of noise": seeds(os.urandom(10_000_000), "seeds.txt"),
    "seeds huge": seeds("1:2000000000\n", "are more than one run may plan"),
    "seeds file is missing": Case(
        ["run", "--variant", "spider-1", "--seeds-from", "gone.txt"], 2, "'gone.txt' does not exist"
    ),
    "flag seeds": Case(["run", "--seeds", "5:1"], 2, "1:5"),
    "flag nodes": Case(["run", *SEEDS, "--nodes", "0"], 2, "--nodes"),
    "flag workers": Case(["run", *SEEDS, "--workers", "none"], 2, "--workers"),
    "flag variant": Case(["run", "--seeds", "1", "--variant", "spider-5"], 2, "spider-5"),
    "flag numbering": Case(["run", *SEEDS, "--numbering", "other"], 2, "--numbering"),
    "flag numbering the variant lacks": Case(
        ["run", "--seeds", "1", "--variant", "spider-easy", "--numbering", "kpat"], 2, "has no numbering 'kpat'"
    ),
    "flag shard": Case(["run", *SEEDS, "--shard", "0/2"], 2, "--shard"),
    "flag max-time": Case(["run", *SEEDS, "--max-time", "-1"], 2, "--max-time"),
    "flag memory": Case(["run", *SEEDS, "--memory", "lots"], 2, "--memory"),
    "flag scheduler": Case(["run", *SEEDS, "--scheduler", "nowhere"], 2, "--scheduler"),
    "flag scheduler without dask": Case(
        ["run", *SEEDS, "--scheduler", "tcp://127.0.0.1:1"], 2, "--scheduler tcp://127.0.0.1:1 is for a Dask cluster"
    ),
    "flag that does not exist": Case(["run", *SEEDS, "--nodez", "5"], 2, "--nodez"),
    "flags without seeds": Case(["run", "--variant", "spider-1"], 2, "no seeds for spider-1"),
    "nothing": Case(["run"], 2, "no seeds"),
    "data is a file": Case(["run", *SEEDS, "--data", "data.txt"], 2, "data.txt", {"data.txt": "x"}),
    "data mistyped: verify": nothing(["verify", "--data", "nope"]),
    "data mistyped: export": nothing(["export", "--data", "nope"]),
    "data mistyped: merge": nothing(["merge", "nope"]),
    "export into no directory": Case(
        ["export", "--out", "nodir/x.csv"], 2, "--out nodir/x.csv: there is no directory nodir"
    ),
    "variable nodes": variable("WINNABLE_NODES", "many", "WINNABLE_NODES = 'many': expected a whole number from 1 up"),
    "variable negative": variable("WINNABLE_WORKERS", "-2", "WINNABLE_WORKERS = '-2'"),
    "variable variants": variable("WINNABLE_VARIANTS", ",", "WINNABLE_VARIANTS = ','"),
    "variable seeds": variable("WINNABLE_SEEDS", "9:1", "WINNABLE_SEEDS"),
    "variable shard": variable("WINNABLE_SHARD", "1", "WINNABLE_SHARD = '1': expected i/n"),
    "variable executor": variable(
        "WINNABLE_EXECUTOR", "threads", "WINNABLE_EXECUTOR = 'threads': expected one of processes"
    ),
    "variable report": variable("WINNABLE_REPORT", "perhaps", "WINNABLE_REPORT = 'perhaps': expected true or false"),
    "variable numbering": variable("WINNABLE_NUMBERING", "native ", "did you mean 'native'?"),
}
for kind, entry in {
    "a part of noise": (PART, os.urandom(5000), "part-1-5.parquet"),
    "an empty part": (PART, b"", "part-1-5.parquet"),
    "a part of someone else's": (PART, FOREIGN, "not written by winnable"),
    "a text among the parts": ("variant=spider-1/numbering=native/notes.txt", "x", "notes.txt"),
    "a foreign directory": ("variant=Spider One/x", "x", "expected a directory variant=<name>"),
    "a directory called like a way out": ("variant=../x", "x", "expected a directory variant=<name>"),
}.items():
    for case in dataset(*entry):
        CASES[f"{kind}: {case.words[0]}"] = case


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_bad_input(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("WINNABLE_")]:
        monkeypatch.delenv(name)
    for name, value in (case.env or {}).items():
        monkeypatch.setenv(name, value)
    for name, content in (case.files or {}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pd.DataFrame):
            content.to_parquet(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = tree(tmp_path)
    code = run_command(case.words)
    out, err = capsys.readouterr()
    assert (code, case.text in err) == (case.code, True), err
    assert [line for line in err.splitlines() if line.startswith("Error: ")] == err.splitlines()[-1:]
    assert "Traceback" not in err + out
    assert err.count("verify --repair") <= 1
    assert len(err) < 1500
    assert tree(tmp_path) == before


def tree(path):
    """Return what is there but for what a writer makes before it looks at anything: its directories and its lock."""
    names = {str(one.relative_to(path)) for one in path.rglob("*")}
    made = {"outcomes", "runs", ".staging", ".staging/lock"}
    return names - {"data", "other"} - {f"{data}/{name}" for data in ("data", "other") for name in made}
