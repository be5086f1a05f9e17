"""The published data's description for dataset search (Croissant), which follows the schema.

python tests/analysis/test_analysis_croissant.py     writes data/published/croissant.json anew
"""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.dataset.schema import SCHEMA
from pipeline.dataset.store import Store
from pipeline.version import __version__

PUBLISHED = Path(__file__).parents[2] / "data" / "published"
FILE = PUBLISHED / "croissant.json"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def field_of(name, kind, about, source):
    return {
        "@type": "cr:Field",
        "@id": f"outcomes/{name}",
        "name": name,
        "description": about,
        "dataType": kind,
        "source": {"fileSet": {"@id": "parts"}, **source},
    }


def kind_of(column):
    if pa.types.is_integer(column.type):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(column.type) else "sc:Text"


def described():
    """Return what the file must say."""
    keys = {"variant": "id of the game's rules", "numbering": "how the seed becomes a deal"}
    fields = [
        field_of(
            key,
            "sc:Text",
            f"{about}, from the path",
            {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": f".*{key}=([a-z0-9-]+)/.*"}},
        )
        for key, about in keys.items()
    ]
    fields += [
        field_of(c.name, kind_of(c), c.metadata[b"about"].decode(), {"extract": {"column": c.name}}) for c in SCHEMA
    ]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "spider-outcomes",
        "description": (
            "Outcomes of numbered deals of the Spider family of solitaires: 1,000 deals of each variant, searched to "
            "1,000,000 positions with every card known. Each won deal has a line of moves that was replayed under the "
            "rules; a lost deal was searched completely; an unsettled one may be either. Made by "
            "'winnable run configs/published.toml'."
        ),
        "version": __version__,
        "datePublished": "2026-12-01",
        "license": "https://creativecommons.org/publicdomain/zero/1.0/",
        "creator": {"@type": "sc:Organization", "name": "The winnable developers"},
        "citeAs": f"The winnable developers: Outcomes of numbered deals of the Spider family, version {__version__}",
        "keywords": ["solitaire", "spider", "winnability", "solver"],
        "distribution": [
            {
                "@type": "cr:FileSet",
                "@id": "parts",
                "name": "parts",
                "description": "Parquet files, one folder a variant and numbering, rows sorted by seed.",
                "encodingFormat": "application/x-parquet",
                "includes": "outcomes/*/*/*.parquet",
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "outcomes",
                "name": "outcomes",
                "description": "One row for each deal.",
                "field": fields,
            }
        ],
    }


def test_the_file_follows_the_schema():
    assert json.loads(FILE.read_text(encoding="utf-8")) == described(), f"python {Path(__file__).name}"


@pytest.mark.filterwarnings("default")
def test_the_file_is_valid_and_gives_the_rows():
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(jsonld=FILE)
    assert not dataset.metadata.issues.errors
    row = next(iter(dataset.records("outcomes")))
    assert set(row) == {f["@id"] for f in described()["recordSet"][0]["field"]}
    assert row["outcomes/variant"].decode() in {partition.variant for partition in Store(PUBLISHED).partitions()}
    assert row["outcomes/verdict"].decode() in ("won", "lost", "unsettled")


if __name__ == "__main__":
    FILE.write_text(json.dumps(described(), indent=2) + "\n", encoding="utf-8")
