"""Where spaCy's tokens depend on more than one piece of a text.

spaCy tokenizes each white-space separated piece on its own, and then looks through all tokens for its special
cases, such as `:-)`, as sequences of tokens. White space between two tokens does not count there. So in
`8 )` it finds `8)`; that changes nothing, since only `8)` itself is replaced, but it may keep another special
case from being found, and in a language with a rule like `EE. UU.` it changes the tokens.

That can only happen where a piece ends with one token of such a sequence and the next piece begins with the
token after it. `Joints` finds those places; the pieces on both sides are then tokenized together, which is
exact. Source: spaCy 3.8, `tokenizer.pyx`, `_apply_special_cases`, `add_special_case`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from spacy.tokenizer import Tokenizer

__all__ = ["Joints"]

_BITS = 64


class Joints:
    """The special cases of a tokenizer that are sequences of tokens.

    Ends and beginnings of pieces are masks of 64 bits: two pieces may interact if their masks share a bit.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        sequences = dict(_sequences(tokenizer))
        pairs = sorted({pair for tokens in sequences.values() for pair in pairwise(tokens)})
        self.crosses_space = any(token.isspace() for pair in pairs for token in pair)
        """Whether a special case has white space for a token: then pieces cannot be told apart at all."""
        self._ends = {left: 1 << number % _BITS for number, left in enumerate(dict(pairs))}
        self._begins: dict[str, int] = defaultdict(int)
        for left, right in pairs:
            self._begins[right] |= self._ends[left]
        self._end_lengths = sorted({len(token) for token in self._ends})
        self._begin_lengths = sorted({len(token) for token in self._begins})
        self._sequence = re.compile("|".join(map(re.escape, sequences)) or r"(?!)")

    def end(self, piece: str, last_token: str | None = None) -> int:
        """Give the mask of what ends a piece, as its letters tell, or its last token if that is known."""
        return self._mask(self._ends, [piece[-length:] for length in self._end_lengths], piece, last_token)

    def begin(self, piece: str, first_token: str | None = None) -> int:
        """Give the mask of what begins a piece; as `end`."""
        return self._mask(
            self._begins, [piece[:length] for length in self._begin_lengths], piece, first_token
        )

    def _mask(self, masks: Mapping[str, int], parts: Iterable[str], piece: str, token: str | None) -> int:
        mask = 0
        for part in parts:
            mask |= masks.get(part, 0)
        if mask and token is not None and not self._sequence.search(piece):
            return masks.get(token, 0)
        return mask


def _sequences(tokenizer: Tokenizer) -> Iterator[tuple[str, list[str]]]:
    """Give the special cases that spaCy looks for as sequences of several tokens."""
    bare = Tokenizer(
        tokenizer.vocab,
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        token_match=tokenizer.token_match,
        url_match=tokenizer.url_match,
    )
    finders = (tokenizer.find_prefix, tokenizer.find_infix, tokenizer.find_suffix)
    for case in tokenizer.rules:
        looked_for = not tokenizer.faster_heuristics or " " in case or any(find(case) for find in finders)
        tokens = [token.text for token in bare(case)] if looked_for else []
        if len(tokens) > 1:
            yield case, tokens
