# SPDX-License-Identifier: MIT
"""Weighted suggestions while a user types. docs/suggest.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

from ._component import Component
from ._convert import Duration, Name
from .records import SuggestInfo, Suggestions

if TYPE_CHECKING:
    from .client import Client

Texts = Union[Name, Iterable[Name], Mapping[Any, float]]


class Suggest(Component):
    """Texts that others typed, the heaviest first.

    >>> queries = client.suggest("queries")
    >>> queries.feed("weather berlin")
    >>> queries.feed({"weather bonn": 3})
    >>> [found.text for found in queries.hint("wea")]
    ['weather bonn', 'weather berlin']

    `half_life`: a weight halves in this time; math.inf: never. `typos`: one mistyped character is
    corrected when nothing else fits. The other settings are fixed by the first feed.
    """

    def __init__(self, client: "Client", name: Name, *, half_life: Union[Duration, None] = None,
                 best: Optional[int] = None, longest: Optional[int] = None,
                 texts: Union[int, float, None] = None, accents: Optional[bool] = None,
                 pinyin: Optional[bool] = None, words: Optional[bool] = None, typos: bool = False,
                 ttl: Optional[Duration] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_suggest_open", "tkl_suggest_close", client, name, {
            "half_life": half_life, "best": best, "longest": longest, "texts": texts,
            "accents": accents, "pinyin": pinyin, "words": words, "typos": typos, "ttl": ttl,
            "timeout": timeout})

    def feed(self, texts: Texts) -> None:
        """Raises the weight of a text, of several, or by the weights of a dict."""
        if isinstance(texts, (str, bytes)):
            texts = [texts]
        weights = texts if isinstance(texts, Mapping) else {text: 1.0 for text in texts}
        self._call("tkl_suggest_feed", [{"text": text, "weight": weight}
                                        for text, weight in weights.items()])

    def hint(self, prefix: Name, max: int = 10) -> Suggestions:
        """The heaviest texts that begin with the prefix."""
        found: Suggestions = self._call("tkl_suggest_hint", prefix, max)
        return found

    def remove(self, texts: Iterable[Name]) -> int:
        return int(self._call("tkl_suggest_remove", texts))

    def show(self) -> SuggestInfo:
        found: SuggestInfo = self._call("tkl_suggest_show")
        return found

    def drop(self) -> None:
        self._call("tkl_suggest_drop")
