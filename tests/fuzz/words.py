"""Names and requirements for hostile inputs, and the markers that no message may show."""

__all__ = ["NAMES", "ODD_REQUIREMENTS", "PERSON", "REQUIREMENTS", "TREE", "TREE_TOML", "VALUE"]

PERSON, VALUE = "zqxperson", "zqxvalue"
"""What every identifier and every hostile text begins with."""

NAMES = (
    *(
        "len",
        "group",
        "count",
        "counterfeits",
        "",
        " ",
        "a b",
        "a.b",
        "\x1b[31mred",
        "имя",
        "名前",
        "e\u0301",
        "x" * 300,
    ),
    *("release", "row", "index", "value", "literal", "*", "[taxonomy]", 'quo"te', "new\nline", "=1+1", "-", "people"),
    *(
        "size",
        "n",
        "person",
        "columns",
        "sensitive",
        "quasi",
        "weight",
        "key",
        "lo",
        "hi",
        "number",
        "share",
        "distinct",
    ),
    *(
        "\u200b",
        "'",
        "#",
        "age ",
        " age",
        "AGE",
        "group_right",
        "sensitive_right",
        "\ufeffage",
        "total",
        "rows",
        "risk",
    ),
    *("values", "code", "codes", "place", "column_0", "_duplicated_0", "element", "index_right", "q", "s", "id", "and"),
)
TREE = {"north": ("oslo", "umea"), "south": ("rome", "bari", "nice"), "east": ("kyiv",)}
TREE_TOML = 'tree = { north = ["oslo", "umea"], south = ["rome", "bari", "nice"], east = ["kyiv"] }'
REQUIREMENTS = (
    *("k=2", "k=3", "k=2 & l=2", "k=3 & l=2", "l=2", "l=3", "simple-l=2", "k=2 & simple-l=2", "entropy-l=1.5"),
    *(
        "recursive=2,2",
        "confidence=0.7",
        "alpha-k=0.7,2",
        "t=0.5",
        "k=2 & t=0.4",
        "t=0.4:ordered",
        "t=0.5:hierarchical",
    ),
    *("m-unique=2", "k-e=2,1", "c-k=0.9,1", "personalized=0.6", "k=2 & confidence=0.8 & l=2", "k=5"),
)
ODD_REQUIREMENTS = (
    *("", "k", "k=", "k=0", "k=-1", "k=1000000000", "k=2.5", "k=nan", "q=3", "k=2 &", "& k=2", "k=2 & & l=2", "t=2"),
    *("simple-l=2:nothere", "simple-l=2:{a", "t=0.5:sideways", "k=2:3", "l=99999999999999999999", "recursive=2", "k=٣"),
)
