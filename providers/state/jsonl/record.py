"""The lines of a log. Pure.

The first line names the format, its version, the data set and the revision that the log begins after. Every
other line is one change under a checksum:

    {"bytes":"0000009f","crc32":"8c1f7a02","record":{"kind":…,"revision":…,"id":…,"digest":…,"writes":[…],"values":[…]}}

`bytes` and `crc32` are of the record, in hex. A write is [namespace, key, n], where n is the length in bytes
of its token among `values`, or null for a removal. A value stands as a JSON string, so that its bytes survive
and no line break is in a line. The lengths lead to each token without a search.

| kind | what it adds | the revision |
| --- | --- | --- |
| `commit` | its writes, and its own receipt | the next |
| `claim` | its writes | the next |
| `keep` | what a store has beside: guards, and after a compaction documents and receipts | the same |
| `fill` | documents and receipts, to a store that was empty | any |

Version 1 had commits alone, without a kind, and no data set in its first line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from providers.state.documents.inspection import Inspection
from providers.state.documents.revision import EMPTY, is_revision
from providers.state.documents.snapshot import Snapshot
from providers.state.documents.store import Identity, Stored
from providers.state.documents.transaction import Receipt, Transaction, Write

FORMAT = "wuu.state.jsonl"
"""What the first line calls the format."""

VERSION = 2
"""The version of the format that this provider works with."""

STORE_ID_SIZE, GENERATION_SIZE = 32, 16
"""Hex digits that the names of a data set have, where this provider makes them."""

FIRST_LINE_LIMIT = 64 * 1024
"""Bytes that the first line may have."""

_HEAD = re.compile(rb'\{"bytes":"([0-9a-f]{8})","crc32":"[0-9a-f]{8}","record":')
HEAD_SIZE = len(b'{"bytes":"00000000","crc32":"00000000","record":')
"""Bytes of a line that are enough for `announced`."""

_TAIL = b"}\n"
_VALUES = b',"values":['
_RECORD_TAIL = b"]}"


class Damaged(Exception):
    """A line that was never written like this. The text says what is wrong with it."""


class LaterVersion(Exception):
    """A log in a version of the format that this provider does not know."""


class FirstLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line of a log. A later version may say more in it."""

    format: str
    """FORMAT."""
    version: int
    """VERSION."""
    revision: str
    """The revision that the store had before the first record."""
    store_id: str = ""
    """See `Identity`; empty in version 1, and so the next."""
    generation: str = ""


class Span(NamedTuple):
    """Where a value's token lies in a file."""

    offset: int
    length: int


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One change."""

    revision: str
    """The revision of the store behind it."""
    kind: Literal["commit", "claim", "keep", "fill"] = "commit"
    """See the table above."""
    id: str = ""
    """Of a commit the transaction, and so the next."""
    digest: str = ""
    receipts: list[Receipt] = []
    """Those that it brings, by revision, its own aside."""
    guards: list[Inspection] = []
    writes: list[tuple[str, str, int | None]] = []
    """Namespace, key, and the length of the token; None for a removal."""
    values: msgspec.Raw = msgspec.Raw(b"[]")
    """The tokens, in the order of the writes."""

    @property
    def receipt(self) -> Receipt:
        """The receipt of a commit."""
        return Receipt(self.id, self.revision, self.digest)

    def changes(self, end: int) -> Iterator[tuple[str, str, Span | None]]:
        """Namespace, key and place of the value (None: removed), for a line that ends at that offset."""
        lengths = [length for _, _, length in self.writes if length is not None]
        commas = max(len(lengths) - 1, 0)
        offset = end - len(_TAIL) - len(_RECORD_TAIL) - sum(lengths) - commas
        for namespace, key, length in self.writes:
            if length is None:
                yield namespace, key, None
            else:
                yield namespace, key, Span(offset, length)
                offset += length + 1


_FIRST_LINE = msgspec.json.Decoder(FirstLine)
_RECORD = msgspec.json.Decoder(Record)
_STRING = msgspec.json.Decoder(str)


def first_line(revision: str, identity: Identity) -> bytes:
    """The first line of a log that begins after that revision."""
    return msgspec.json.encode(FirstLine(FORMAT, VERSION, revision, *identity)) + b"\n"


_ANY = ord("?")
_NEW = first_line(EMPTY, Identity("?" * STORE_ID_SIZE, "?" * GENERATION_SIZE))
"""The first line of every new log, its hex digits aside."""


def read_first_line(line: bytes) -> FirstLine:
    """What the first line says. Raises `Damaged` where the log is none of ours, and `LaterVersion`."""
    try:
        first = _FIRST_LINE.decode(line)
    except msgspec.MsgspecError as unreadable:
        raise Damaged(f"its first line is not that of a {FORMAT} log: {unreadable}") from None
    if first.format != FORMAT:
        raise Damaged(f"its first line is not that of a {FORMAT} log: it says '{first.format}'")
    if not 1 <= first.version <= VERSION:
        raise LaterVersion(f"its format has version {first.version}, and this provider knows up to {VERSION}")
    if first.version > 1 and not (first.store_id and first.generation):
        raise Damaged("its first line names no data set")
    if not is_revision(first.revision):
        raise Damaged(f"it begins after the revision '{first.revision}'")
    return first


def commit_line(transaction: Transaction, receipt: Receipt) -> bytes:
    """The line that records a transaction."""
    head = Record(receipt.revision, id=receipt.id, digest=receipt.digest)
    return _line(head, [(w.namespace, w.key, w.value) for w in transaction.writes])


def claim_line(writes: Sequence[Write], revision: str) -> bytes:
    """The line that records whose namespaces are."""
    return _line(Record(revision, "claim"), [(w.namespace, w.key, w.value) for w in writes])


def keep_line(
    revision: str,
    *,
    guards: Sequence[Inspection] = (),
    receipts: Sequence[Receipt] = (),
    documents: Sequence[Stored] = (),
) -> bytes:
    """The line that records what a store has, at a revision that stays."""
    return _line(Record(revision, "keep", guards=list(guards), receipts=list(receipts)), documents)


def fill_line(snapshot: Snapshot) -> bytes:
    """The line that records what an empty store is filled with."""
    return _line(Record(snapshot.revision, "fill", receipts=list(snapshot.receipts)), snapshot.documents)


def _line(head: Record, changes: Iterable[tuple[str, str, bytes | None]]) -> bytes:
    tokens: list[bytes] = []
    writes: list[tuple[str, str, int | None]] = []
    for namespace, key, value in changes:
        length = None
        if value is not None:
            tokens.append(msgspec.json.encode(value.decode()))
            length = len(tokens[-1])
        writes.append((namespace, key, length))
    # The values stand last: their places are counted from the end.
    said = msgspec.structs.replace(head, writes=writes)
    record = msgspec.json.encode(said)[:-1] + _VALUES + b",".join(tokens) + _RECORD_TAIL
    return _head(record) + record + _TAIL


def read_line(line: bytes) -> Record:
    """The record in a whole line. Raises `Damaged`."""
    record = line[HEAD_SIZE : -len(_TAIL)]
    if not line.endswith(_TAIL) or not line.startswith(_head(record)):
        raise Damaged("a line is not what its length and checksum say")
    try:
        return _RECORD.decode(record)
    except msgspec.MsgspecError as unreadable:
        raise Damaged(f"a line is no record: {unreadable}") from None


def value_of(token: bytes) -> bytes:
    """The value that a token stands for, in its exact bytes. Raises `Damaged`."""
    try:
        return _STRING.decode(token).encode()
    except msgspec.MsgspecError as unreadable:
        raise Damaged(f"a value cannot be read: {unreadable}") from None


def announced(head: bytes) -> int | None:
    """The length in bytes of the line that begins so; None where no head can be read."""
    found = _HEAD.match(head)
    return None if found is None else HEAD_SIZE + int(found[1], 16) + len(_TAIL)


def is_torn(rest: bytes, *, first: bool) -> bool:
    """Whether what stands behind the last line break is a line that was never finished.

    A process that is ended in mid-write leaves the beginning of a line; a machine that loses its power may
    leave zeros in place of any part. Anything else was written whole and may have been acknowledged: it is
    damage.
    """
    if first:
        # Nothing else may be taken for a log that was being made: the file may be somebody's.
        begun = rest.rstrip(b"\0")
        return len(rest) <= len(_NEW) and all(
            byte == new or (new == _ANY and byte in b"0123456789abcdef")
            for byte, new in zip(begun, _NEW, strict=False)
        )
    length = announced(rest)
    return b"\0" in rest or len(rest) < (HEAD_SIZE if length is None else length)


def _head(record: bytes) -> bytes:
    return b'{"bytes":"%08x","crc32":"%08x","record":' % (len(record), zlib.crc32(record))
