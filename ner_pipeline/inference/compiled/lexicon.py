"""Tokens by look-up. A text is split at white space, and each piece looked up with its tokens.

spaCy tokenizes each white-space separated piece on its own (but for `joints`), so the tokens of a piece are
the same wherever it stands. A piece is taken with the white space behind it, which becomes a token too, but
for a single space at its start. Pieces not seen before are tokenized by spaCy, many in one text, since a call
costs more than a word. Source: spaCy 3.8, `tokenizer.pyx`, `_tokenize_affixes`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokenizer import Tokenizer

from ner_pipeline.inference.compiled.joints import Joints
from ner_pipeline.inference.compiled.token_types import TokenTypes
from ner_pipeline.inference.compiled.tokens import Tokens, bounds

__all__ = ["Lexicon"]

LONGEST_PIECE = 64
"""Longer pieces are not kept: a Chinese paragraph is one piece, and never comes again."""

# What \s matches is what str.isspace holds for white space, as spaCy asks it.
_PIECE = re.compile(r"\S+\s*|\s+")
_APART = "\n\n"
"""Between pieces that must not be seen together. It is a token of its own, and no part of a special case."""


class _Core(NamedTuple):
    """The tokens of a piece without the white space behind it."""

    types: list[int]
    starts: list[int]
    ends: list[int]
    before_space: int
    """The type of the last token where a single space follows it."""


class Lexicon:
    """What is known of pieces: for each the types of its tokens, and where in the piece they stand."""

    def __init__(self, tokenizer: Tokenizer, types: TokenTypes, joints: Joints) -> None:
        self._tokenizer, self._types, self._joints = tokenizer, types, joints
        self.forget()

    @property
    def held(self) -> int:
        """How many tokens the known pieces have."""
        return len(self._token_types)

    def forget(self) -> None:
        """Forget all pieces."""
        self._entry: dict[str, int] = {}
        self._spaces: dict[str, _Core] = {}
        self._first, self._count = array("q"), array("i")
        self._end_mask, self._begin_mask = array("Q"), array("Q")
        self._token_types, self._token_starts, self._token_ends = array("i"), array("i"), array("i")

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Give the tokens of texts; see `tokens.Reader`."""
        pieces_of = [_PIECE.findall(text) for text in texts]
        pieces = [piece for found in pieces_of for piece in found]
        counts = np.fromiter(map(len, pieces_of), dtype=np.int64, count=len(texts))
        entries = self._entries(pieces)
        joined = self._joined(entries, counts)
        if joined.any():
            pieces, counts = _join(pieces, counts, joined)
            entries = self._entries(pieces)
        return self._expand(entries, pieces, counts)

    def _entries(self, pieces: list[str]) -> NDArray[np.int64]:
        entries = np.fromiter(map(self._entry.get, pieces, repeat(-1)), dtype=np.int64, count=len(pieces))
        unknown = np.flatnonzero(entries < 0)
        if len(unknown):
            learned = self._learn(list(dict.fromkeys(pieces[at] for at in unknown)))
            entries[unknown] = [learned[pieces[at]] for at in unknown]
        return entries

    def _joined(self, entries: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which pieces have to be tokenized together with the one behind them."""
        ends = np.frombuffer(self._end_mask, dtype=np.uint64)[entries]
        begins = np.frombuffer(self._begin_mask, dtype=np.uint64)[entries]
        joined = np.zeros(len(entries), dtype=np.bool_)
        joined[:-1] = (ends[:-1] & begins[1:]) != 0
        joined[(np.cumsum(counts) - 1)[counts > 0]] = False
        return joined

    def _expand(self, entries: NDArray[np.int64], pieces: list[str], counts: NDArray[np.int64]) -> Tokens:
        """Put the tokens of the pieces one behind the other."""
        tokens_of = np.frombuffer(self._count, dtype=np.int32)[entries].astype(np.int64)
        behind = np.cumsum(tokens_of)
        first = np.frombuffer(self._first, dtype=np.int64)[entries]
        at = np.repeat(first - behind + tokens_of, tokens_of) + np.arange(behind[-1] if len(behind) else 0)
        begins = np.repeat(_begins(pieces, counts), tokens_of)
        text_ends = np.cumsum(counts)
        return Tokens(
            types=np.frombuffer(self._token_types, dtype=np.int32)[at],
            starts=(np.frombuffer(self._token_starts, dtype=np.int32)[at] + begins).astype(np.int32),
            ends=(np.frombuffer(self._token_ends, dtype=np.int32)[at] + begins).astype(np.int32),
            lengths=np.diff(np.append(0, behind)[text_ends], prepend=0).astype(np.int32),
        )

    def _learn(self, pieces: list[str]) -> dict[str, int]:
        """Let spaCy tokenize new pieces; gives their entries. Only those that are short are kept."""
        split = [(piece, piece.rstrip()) for piece in pieces]
        cores = self._tokenize(list(dict.fromkeys(core for _, core in split if core)))
        learned = {piece: self._enter(piece, core, cores.get(core)) for piece, core in split}
        self._entry.update(item for item in learned.items() if len(item[0]) <= LONGEST_PIECE)
        return learned

    def _enter(self, piece: str, core: str, known: _Core | None) -> int:
        """Enter a piece. Without a core it is the white space at a text's beginning, all of it one token."""
        begin = end = 0
        rest = piece
        self._first.append(len(self._token_types))
        if known is not None:
            rest = piece[len(core) :].removeprefix(" ")
            self._append(known, 0)
            if piece[len(core) : len(core) + 1] == " ":
                self._token_types[-1] = known.before_space
                end = 0 if rest else self._joints.end(core, core[known.starts[-1] :])
            begin = self._joints.begin(core, core[: known.ends[0]])
        if rest:
            self._append(self._space(rest), len(piece) - len(rest))
        self._count.append(len(self._token_types) - self._first[-1])
        self._begin_mask.append(begin)
        self._end_mask.append(end)
        return len(self._first) - 1

    def _append(self, tokens: _Core, offset: int) -> None:
        self._token_types.extend(tokens.types)
        self._token_starts.extend([start + offset for start in tokens.starts])
        self._token_ends.extend([end + offset for end in tokens.ends])

    def _space(self, space: str) -> _Core:
        """Give the tokens of white space. On its own it is tokenized as it is between words."""
        known = self._spaces.get(space) or self._tokenize([space])[space]
        if len(space) <= LONGEST_PIECE:
            self._spaces[space] = known
        return known

    def _tokenize(self, cores: list[str]) -> dict[str, _Core]:
        """Let spaCy tokenize pieces as one text, in which none changes the tokens of another."""
        if not cores:
            return {}
        begins, text = self._one_text(cores)
        doc = self._tokenizer(text)
        rows = self._types.rows(doc)
        places = bounds(doc)
        core_ends = [begin + len(core) for begin, core in zip(begins, cores, strict=True)]
        first, behind = np.searchsorted(places[:, 0], [begins, core_ends])
        types, before_space = self._both_types(rows, behind - 1)
        starts, ends = places[:, 0].tolist(), places.sum(axis=1).tolist()
        found = {}
        for number, core in enumerate(cores):
            here, shift = slice(first[number], behind[number]), begins[number]
            found[core] = _Core(
                types=types[here],
                starts=[start - shift for start in starts[here]],
                ends=[end - shift for end in ends[here]],
                before_space=before_space[number],
            )
        return found

    def _one_text(self, cores: list[str]) -> tuple[list[int], str]:
        """Put pieces in one text; gives where each begins."""
        parts = [cores[0]]
        begins, end = [0], len(cores[0])
        for left, right in pairwise(cores):
            between = _APART if self._joints.end(left) & self._joints.begin(right) else " "
            begins.append(end + len(between))
            end = begins[-1] + len(right)
            parts += (between, right)
        return begins, "".join(parts)

    def _both_types(self, rows: NDArray[np.uint64], last: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Give the types of tokens, and those of the last tokens of pieces if a space is behind them."""
        if (followed := self._types.followed) is None:
            types = self._types.of(rows)
            return types.tolist(), types[last].tolist()
        spaced = rows[last]
        spaced[:, followed] = 1
        rows[last, followed] = 0
        return self._types.of(rows).tolist(), self._types.of(spaced).tolist()


def _begins(pieces: list[str], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give where in its text each piece begins."""
    sizes = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    begins = np.cumsum(sizes) - sizes
    first_pieces = np.cumsum(counts) - counts
    texts = np.append(begins, 0)[first_pieces]
    inside: NDArray[np.int64] = begins - np.repeat(texts, counts)
    return inside


def _join(
    pieces: list[str], counts: NDArray[np.int64], joined: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int64]]:
    """Make one piece of those that belong together; gives the pieces, and how many each text has now."""
    edges = np.flatnonzero(np.append(True, ~joined)).tolist()
    together = ["".join(pieces[start:end]) for start, end in pairwise(edges)]
    taken = np.append(0, np.cumsum(joined))
    ends = np.cumsum(counts)
    return together, counts - (taken[ends] - taken[ends - counts])
