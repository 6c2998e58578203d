"""Turn LaTeX in the pages into MathML, which browsers show without a script: a fence for pymdownx.superfences."""

from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

_INLINE = r"\$`([^`]+)`\$"
"""Inline mathematics as GitHub writes it."""


def fence(source: str, _language: str, css_class: str, *_: Any, **__: Any) -> str:
    """Return a `math` block as display MathML."""
    return f'<div class="{css_class}">{convert(source, display="block")}</div>'


class _Inline(InlineProcessor):
    """Inline mathematics."""

    def handleMatch(self, m: Any, data: str) -> tuple[Any, int, int]:  # type: ignore[override]  # noqa: ARG002, N802
        """Replace a match by MathML, which later patterns leave alone."""
        return self.md.htmlStash.store(convert(m.group(1))), m.start(0), m.end(0)


class Mathematics(Extension):
    """Mathematics in the text."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register the pattern before that of code."""
        md.inlinePatterns.register(_Inline(_INLINE, md), "inline-math", 195)


def makeExtension(**options: Any) -> Mathematics:  # noqa: N802
    """Make the extension, as Markdown asks for it by the module's name."""
    return Mathematics(**options)
