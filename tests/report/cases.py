"""Findings with a picture of every kind, for the report's tests."""

from reissue.attacks.findings import AttackedRelease, Finding, Findings, Point, Status

SCRIPT = "<script>alert(1)</script>"

PICTURES = {
    "candidates": {
        "kind": "candidates",
        "bars": [
            {"label": "release 1", "size": 8, "left": 3, "published": {"age": "20-29", "job": SCRIPT}},
            {"label": "release 2", "size": 140, "left": 3, "published": {}},
        ],
        "limit": 5,
        "unit": "records",
    },
    "paths": {
        "kind": "paths",
        "columns": [
            {
                "label": "release 1",
                "published": {"age": "20-29", "zip": None},
                "nodes": [
                    {"value": "flu", "share": 0.5, "posterior": 1.0},
                    {"value": "a very long name of a disease", "share": 0.25, "posterior": 0.0},
                    {"value": SCRIPT, "share": 0.25, "posterior": 0.0},
                ],
            },
            {
                "label": "release 2",
                "published": {},
                "nodes": [
                    {"value": "pneumonia", "share": 0.5, "posterior": 0.999},
                    {"value": None, "share": 0.5, "posterior": 0.001},
                ],
            },
        ],
        "edges": [
            {"column": 0, "from": 0, "to": 0, "possible": True},
            {"column": 0, "from": 0, "to": 1, "possible": True},
            {"column": 0, "from": 1, "to": 1, "possible": False},
        ],
        "limit": 0.5,
    },
    "history": {
        "kind": "history",
        "nodes": [
            {"label": "release 1: flu, ulcer", "people": 12, "side": 0},
            {"label": f"release 2: {SCRIPT}", "people": 1, "side": 0},
            {"label": "release 2: flu, ulcer and a long list of others", "people": 9, "side": 1},
        ],
        "edges": [
            {"from": 0, "to": 1, "weight": 4, "cut": False},
            {"from": 2, "to": 0, "weight": 2, "cut": True},
        ],
        "limit": 3,
    },
    "matrix": {
        "kind": "matrix",
        "rows": ["Hospital 1", SCRIPT, "Hospital 3"],
        "columns": ["Hospital 1", SCRIPT, "Hospital 3"],
        "values": [[0, 3, 12], [3, 1, None], [12, None, 7]],
        "unit": "people exposed",
        "limit": 0,
    },
    "histogram": {
        "kind": "histogram",
        "edges": [0, 0.2, 0.4, 0.6, 0.8, 1],
        "counts": [120, 40, 3, 0, 1],
        "limit": 0.5,
        "unit": "credibility",
        "of": "people",
    },
    "bars": {
        "kind": "bars",
        "labels": ["release 1", "release 2"],
        "series": {"guessed right": [0.3, 0.4], "allowed by the groups alone": [0.25, None]},
        "unit": "share of people",
        "limit": None,
    },
    "equations": {
        "kind": "equations",
        "groups": [
            {
                "label": "release 1",
                "published": {"age": "20-29", "job": SCRIPT},
                "groups": 1,
                "people": ["this person", "A", "B"],
                "before": 0,
                "new": 1,
                "unknown": 0,
                "rows": [
                    {"value": SCRIPT, "records": 3, "people": ["A", "B"], "chance": 0.0},
                    {"value": "flu", "records": 1, "people": ["this person"], "chance": 1.0},
                ],
            },
            {
                "label": "release 2",
                "published": {},
                "groups": 1,
                "people": ["A", "B"],
                "before": 30,
                "new": 0,
                "unknown": 2,
                "rows": [{"value": "a very long name of a disease", "records": 34, "people": [], "chance": None}],
            },
        ],
        "total": 3,
        "limit": 0.75,
    },
}
"""One picture of each kind; some values are hostile."""


def every_picture() -> Findings:
    """An attack for each kind of picture, one that was withstood without a picture, and one that was not run."""
    found = [
        Finding(
            f"attack-{kind}",
            Status.EXPOSED,
            f"This attack, {SCRIPT}, found something.",
            (1, 2),
            people=place + 1,
            population=20,
            measure="posterior: how surely a person is linked to a sensitive value",
            worst=0.9,
            limit=0.5,
            details={"case": {"steps": ["First this.", f"Then {SCRIPT}."], "picture": picture}},
        )
        for place, (kind, picture) in enumerate(PICTURES.items())
    ]
    found.append(
        Finding("updates", Status.WITHSTOOD, "Nobody is exposed.", (1, 2), population=20, worst=0.5, limit=0.5)
    )
    found.append(Finding("coalition", Status.NOT_RUN, "Not run: no.", (1, 2), reason="there is no provider column."))
    return Findings(
        tuple(found),
        (AttackedRelease(1, f"{SCRIPT}.csv", 20, 4, 5), AttackedRelease(2, "february.csv", 22, 4, 5)),
        {
            "attack-paths": (Point(1, 0, 20, 0.5), Point(2, 2, 20, 0.9)),
            "minimality": (Point(1, 1, 20, 0.5), Point(2, 1, 20, 0.9)),
            "updates": (Point(1, 0, 20, 0.5), Point(2, 0, 20, 0.5)),
        },
        (f"The column {SCRIPT} is sensitive.",),
    )
