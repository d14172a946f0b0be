# SPDX-License-Identifier: MIT
"""Text in every language, as the components treat it. docs/text.md explains it. Asks no server."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import _call
from ._convert import Name
from .records import TextWord


def fold(texts: Iterable[Name], *, accents: bool = False, chinese: bool = False,
         hangul: bool = False) -> List[str]:
    """Folds texts: texts that readers take for the same become the same.

    >>> from tackle import text
    >>> text.fold(["CAFÉ", "café"], accents=True)
    ['cafe', 'cafe']
    """
    found: List[str] = _call.local("tkl_text_fold", texts, {
        "accents": accents, "chinese": chinese, "hangul": hangul})
    return found


def words(text: Name, *, stem: Optional[str] = None, usual_stop_words: bool = False,
          stop_words: Name = "", pieces: bool = False, accents: bool = False, chinese: bool = False,
          hangul: bool = False) -> List[TextWord]:
    """The words of a text, as search finds them.

    >>> from tackle import text
    >>> [word.text for word in text.words("The cafés were closing", stem="en", accents=True,
    ...                                   usual_stop_words=True)]
    ['cafe', 'close']
    """
    rules: Dict[str, Any] = {
        "stem": stem, "usual_stop_words": usual_stop_words, "stop_words": stop_words,
        "pieces": pieces, "accents": accents, "chinese": chinese, "hangul": hangul}
    found: List[TextWord] = _call.local("tkl_text_words_find", text, rules)
    return found


def pinyin(text: Name) -> List[str]:
    """The ways to write a Chinese text in pinyin."""
    found: List[str] = _call.local("tkl_text_pinyin", text)
    return found


def score(text: Name) -> float:
    """The score of a text in a sorted set, in the order of the texts.

    >>> from tackle import text
    >>> low, high = text.score_range("Mo")
    >>> low <= text.score("Moby Dick") <= high
    True
    """
    return float(_call.value("tkl_text_score", text))


def score_range(prefix: Name) -> Tuple[float, float]:
    """The lowest and the highest score of texts that begin with the prefix."""
    low, high = _call.value("tkl_text_score_range", prefix)
    return low, high
