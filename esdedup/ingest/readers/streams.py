"""Reads input piece by piece, decompresses it and cuts it into lines; never all at once."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, cast

from esdedup.ingest.readers.encodings import bom_encoding, likely_encoding

# The longest line, page or JSON value that is read: an article is 1,000 times smaller, and a
# reader that takes whatever comes can be made to fill the memory.
MAX_BYTES = 64 * 1024 * 1024
PIECE = 64 * 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class BrokenStream(Exception):
    """The input ends or breaks here; what came before is good."""


@dataclass(slots=True)
class Source:
    """One opened input: its name for messages, its bytes, and how far reading came."""

    name: str
    stream: BinaryIO
    at: int = 0  # line or record

    @property
    def where(self) -> str:
        return f"{self.name}:{self.at}" if self.at else self.name

    @property
    def broken_at(self) -> str:
        """The place after the last one that was read."""
        return f"{self.name}:{self.at + 1}" if self.at else self.name


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """Stands in for a line over `MAX_BYTES`."""

    size: int


def peek(stream: BinaryIO, size: int = 4096) -> bytes:
    """The next bytes, left in place; fewer at the end. Only for streams made by `as_buffered`."""
    with _raise_broken_stream():
        return cast(io.BufferedReader, stream).peek(size)[:size]


@contextmanager
def _raise_broken_stream() -> Iterator[None]:
    """Whatever a damaged or cut file raises becomes `BrokenStream`."""
    try:
        yield
    except EOFError as error:
        raise BrokenStream("the compressed data ends too early: the file is cut off") from error
    except (OSError, zlib.error) as error:
        raise BrokenStream(f"reading failed: {error}") from error


def as_buffered(stream: BinaryIO) -> BinaryIO:
    """The same bytes, in a stream that `peek` works on."""
    if isinstance(stream, io.BufferedReader):
        return stream
    return cast(BinaryIO, io.BufferedReader(_Pulled(stream), PIECE))


def decompress(stream: BinaryIO) -> BinaryIO:
    """Unpack gzip and Zstandard, recognised by their first bytes whatever the name."""
    start = peek(stream, 4)
    if start.startswith(_GZIP):
        return as_buffered(cast(BinaryIO, gzip.GzipFile(fileobj=stream)))
    if start == _ZSTD:
        return cast(BinaryIO, io.BufferedReader(_Unzstd(stream), PIECE))
    return stream


def read_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes as they come, UTF-16 and UTF-32 rewritten as UTF-8, a UTF-8 mark removed."""
    piece = _read_piece(stream)
    encoding = bom_encoding(piece)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    while piece:
        yield piece if decoder is None else decoder.decode(piece).encode("utf-8", "replace")
        piece = _read_piece(stream)
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _read_piece(stream: BinaryIO) -> bytes:
    """One read, so that what was unpacked before a break is not lost with it."""
    with _raise_broken_stream():
        return cast(io.BufferedReader, stream).read1(PIECE)


def read_whole(stream: BinaryIO) -> bytes | OversizedLine:
    """Everything, if it is not longer than `MAX_BYTES`."""
    out = bytearray()
    while piece := _read_piece(stream):
        out += piece
        if len(out) > MAX_BYTES:
            return OversizedLine(len(out))
    return bytes(out)


class LineSplitter:
    r"""Pieces to lines without their \n or \r\n; one that is too long is not collected."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> Iterator[bytes | OversizedLine]:
        """The lines that end in this piece."""
        *ended, begun = piece.split(b"\n")
        for part in ended:
            yield self._end(part)
        self._size += len(begun)
        self._held.append(begun)
        if self._size > self._longest:
            self._held.clear()

    def rest(self) -> Iterator[bytes | OversizedLine]:
        """A last line without an end is a line."""
        if self._size:
            yield self._end(b"")

    def _end(self, part: bytes) -> bytes | OversizedLine:
        size, held = self._size + len(part), [*self._held, part]
        self._held, self._size = [], 0
        return b"".join(held).removesuffix(b"\r") if size <= self._longest else OversizedLine(size)


def read_lines(source: Source) -> Iterator[bytes | OversizedLine]:
    """The lines of an input, `source.at` counting them from 1."""
    splitter = LineSplitter(MAX_BYTES)
    pieces = map(splitter.add, read_pieces(source.stream))
    for line in chain(chain.from_iterable(pieces), splitter.rest()):
        source.at += 1
        yield line


class LineDecoder:
    """Lines to text: UTF-8, and where one is not, the encoding the file as a whole looks like."""

    def __init__(self, source: Source) -> None:
        self._start = peek(source.stream, PIECE)
        self._encoding: str | None = None

    def __call__(self, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            if self._encoding is None:
                self._encoding = likely_encoding(self._start + b"\n" + line)
            return line.decode(self._encoding, "replace")


class PieceReader:
    """`read` over `pieces`, refusing more than `MAX_BYTES` between two calls of `restart`."""

    def __init__(self, source: Source) -> None:
        self._pieces = read_pieces(source.stream)
        self._read = 0

    def restart(self) -> None:
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        piece = next(self._pieces, b"")
        while piece == b"" and (following := next(self._pieces, None)) is not None:
            piece = following
        self._read += len(piece)
        if self._read > MAX_BYTES:
            raise BrokenStream(f"one value is longer than {MAX_BYTES >> 20} MB")
        return piece


class CountedReader:
    """`read`, `tell` and the one `seek` fastwarc (1.1) insists on, over any stream.

    An error inside `read` would be lost or cause a panic in fastwarc: it is stored in `broken`,
    and fastwarc sees the end of the data.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._position = 0
        self.broken: BrokenStream | None = None
        self.last = b""  # the last bytes that were read

    def read(self, size: int = -1) -> bytes:
        try:
            with _raise_broken_stream():
                read1 = cast(io.BufferedReader, self._stream).read1
                piece = read1(size if size > 0 else PIECE)
        except BrokenStream as error:
            self.broken = error
            return b""
        self._position += len(piece)
        self.last = (self.last + piece)[-4:]
        return piece

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._position

    def close(self) -> None:
        """Whoever opened the stream closes it."""


class _Pulled(io.RawIOBase):
    """A raw stream over anything with `read`, each pull one read of it."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self._read = getattr(inner, "read1", inner.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # is given no other
        piece = self._read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class _Unzstd(io.RawIOBase):
    """Zstandard frames one after another; unlike the package's reader, a cut frame is an error."""

    # 1 KB of Zstandard unpacks to at most some 40 MB (128 KB a block, three bytes and more each).
    _STEP = 1024

    def __init__(self, packed: BinaryIO) -> None:
        import zstandard

        self._packed = packed
        self._error = zstandard.ZstdError
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._fresh = True  # between frames, where the file may end
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # is given no other
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._fresh = self._new(), True
            packed = packed or self._packed.read(self._STEP)
            if not packed:
                if self._fresh:
                    return 0
                raise EOFError("cut off inside a Zstandard frame")
            self._fresh = False
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._error as error:
                raise OSError(f"damaged Zstandard data ({error})") from error
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
