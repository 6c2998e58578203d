"""The keyed hash by which a series knows people, and the numbers that values keep."""

import numpy as np
import polars as pl

from reissue.counting import siphash

KEY = bytes(range(16))


def test_siphash_gives_the_authors_vectors() -> None:
    texts = pl.Series(["", "\x00", "".join(map(chr, range(15))), "".join(map(chr, range(63)))])
    found = siphash(texts, KEY).view(np.uint64).tolist()
    assert found == [0x726FDB47DD0E0E31, 0x74F839C593DC67FD, 0xA129CA6149BE45E5, 0x958A324CEB064572]


def test_a_hash_does_not_depend_on_its_neighbours() -> None:
    texts = pl.Series(["a", "patient 17", "ä", "x" * 300, "8 bytes!", "", "a\x00"])
    together = siphash(texts, KEY)
    assert together.tolist() == [int(siphash(texts[place : place + 1], KEY)[0]) for place in range(len(texts))]
    assert len(set(together.tolist())) == len(texts)
    assert (siphash(texts, bytes(16)) != together).all()


def test_numbers_and_their_texts_are_the_same_people() -> None:
    assert (siphash(pl.Series([7, 10**12, -3]), KEY) == siphash(pl.Series(["7", "1000000000000", "-3"]), KEY)).all()
