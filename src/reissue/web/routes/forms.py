"""Forms: what a page sends, with its files laid on a desk."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from reissue.errors import InputError
from reissue.language import text
from reissue.web.uploads import Desk

__all__ = ["DELIMITERS", "Sent", "read_form"]

DELIMITERS: Mapping[str, str | None] = {
    "whatever is found": None,
    "a comma": ",",
    "a semicolon": ";",
    "a tab": "\t",
    "a vertical bar": "|",
}
_MOST_FILES, _MOST_FIELDS = 200, 5_000


@dataclass(frozen=True, eq=False)
class Sent:
    """One form."""

    form: FormData

    def text(self, name: str) -> str:
        """One line that was typed or chosen; empty if it was not."""
        value = self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """All lines of one name."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]

    def under(self, prefix: str) -> dict[str, str]:
        """What stands under names with a prefix, by the rest of the name."""
        return {
            key.removeprefix(prefix): value
            for key, value in self.form.multi_items()
            if key.startswith(prefix) and isinstance(value, str)
        }

    @property
    def delimiter(self) -> str | None:
        """What separates the cells of CSV files; None: what is found."""
        return DELIMITERS.get(self.text("delimiter"))

    def has_file(self, kind: str) -> bool:
        """Whether a field holds a file."""
        return any(isinstance(one, UploadFile) and one.filename for one in self.form.getlist(kind))

    async def lay_down(self, desk: Desk, *kinds: str) -> None:
        """Put the files of some fields on a desk; a field without a file sends an empty one."""
        for kind in kinds:
            for one in self.form.getlist(kind):
                if isinstance(one, UploadFile) and one.filename:
                    await run_in_threadpool(desk.keep, kind, one.filename, one.file)


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[Sent]:
    """What was sent; its temporary files are closed at the end."""
    try:
        form = await request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS)
    except (MultiPartException, KeyError):
        raise InputError(text("This form could not be read.")) from None
    try:
        yield Sent(form)
    finally:
        await form.close()
