"""The composition attack: somebody known to be in several releases has a value that all of them leave.

Ganta, Kasiviswanathan and Smith ("Composition attacks and auxiliary information in data privacy", KDD 2008) intersect
the groups that one person is in: two publishers, each careful by itself, leave few values or one. Here nobody is known:
every place where boxes of different releases overlap is looked at, and what is claimed is claimed of anyone who is
there and in all of them. Nothing says that somebody is: a register or lists of members do, and the attack `joint` takes
them. Values stay, or change as the schema's `[updates]` says.
"""

from reissue.attacks.composition.boxes import boxes_of
from reissue.attacks.composition.case import describe
from reissue.attacks.composition.search import LIMIT, Searched, search
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.errors import CannotRunError, SchemaError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.words import plural

__all__ = ["composition"]

NAME = "composition"


@attack(
    NAME,
    "Intersects groups of different releases: which values are left for someone who is in several of them.",
    fewest=2,
    each_column=True,
    accepts=Accepts.OTHER_COLUMNS,
    needs="two releases or more, and nothing else",
    story=(
        "Someone knows about a person what the releases generalize (age, home), and that this person is in two of them "
        "or more. The person is in one group of each and has a value that all of these groups hold: often few are "
        "left. Two publishers who share patients, each careful by itself, are enough."
    ),
    prevention=(
        (
            "Publish the series through a ledger (`reissue publish`): every release is judged together with all "
            "earlier ones."
        ),
        (
            "Find out whether somebody is there: `--population FILE` (a register) or `--members FOLDER` (who is in "
            "each release) lets the attack `joint` say it for everyone."
        ),
    ),
)
def composition(series: Series, knowledge: Knowledge) -> Finding:
    """What is left, wherever releases overlap."""
    _refuse(series, knowledge)
    limit, boxes = _limit(series), boxes_of(series)
    searched = search(boxes, limit, knowledge.progress)
    worst, records = searched.worst, boxes.records
    details: dict[str, object] = {
        "places": searched.places,
        "compared": searched.compared,
        "added": searched.added,
        "undecided": searched.undecided,
        "complete": searched.complete,
        "at_most": True,
        "knowledge": "files",
        "updates": "none" if boxes.can is None else "schema",
    }
    return Finding(
        NAME,
        Status.WITHSTOOD if worst is None else Status.EXPOSED,
        _sentence(searched, limit, stay=boxes.can is None, spared=not boxes.protected.all()),
        series.numbers,
        needs=("people", "members"),
        people=searched.people,
        population=min(sum(records) // 2, sum(records) - max(records)),
        measure="values: how many values are left for someone who is in several releases",
        worst=None if worst is None else worst.left,
        limit=limit,
        at_least=True,
        details=details if worst is None else {**details, **describe(boxes, worst, series.numbers, limit)},
    )


def _refuse(series: Series, knowledge: Knowledge) -> None:
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing that could be left.")
    name = series.schema.identifier
    named = [one.source.table.ids is not None if one.source else name in one.main.columns for one in series.releases]
    registers = knowledge.members is not None or knowledge.population is not None
    # A table of people does not say which of them a coalition knows: `joint` needs copies that do.
    if any(named) or (registers and not knowledge.coalition):
        raise CannotRunError("people are known here, and the attack `joint` says of each of them what is left.")


def _limit(series: Series) -> int:
    limit = series.limit(NAME) or LIMIT
    if isinstance(limit, bool) or limit != int(limit) or limit < LIMIT:
        raise SchemaError("The limit of the composition attack is a number of values, 2 or more.")
    return int(limit)


def _sentence(searched: Searched, limit: int, *, stay: bool, spared: bool) -> str:
    values = "values stay" if stay else "values change as the schema says"
    if searched.worst is None:
        looked = "" if searched.complete else ", as far as was looked"
        harmless = ", or only such as need no protection," if spared else ""
        return (
            f"Wherever groups of different releases overlap, {limit} values or more{harmless} are left for whoever is "
            f"in several of them{looked}, if {values}."
        )
    more = "" if searched.complete else " There may be more places: not all could be looked at."
    return (
        f"In {plural(searched.places, 'place')} fewer than {limit} values are left for whoever is in several of the "
        f"releases, if {values}: at most {plural(searched.people, 'person', 'people')}, and nothing in the files says "
        f"that somebody is there.{more}"
    )
