# SPDX-License-Identifier: MIT
"""Search: documents found by their words. docs/search.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, encode
from .records import (SearchChecked, SearchExplanation, SearchHit, SearchInfo, SearchMarks,
                      SearchResult)

if TYPE_CHECKING:
    from .client import Client

Value = Union[str, bytes, int, float]


class Search(Component):
    """An index of documents.

    >>> pages = client.search("pages")
    >>> pages.create({"votes": "numeric", "lang": "text"}, stem="en")
    >>> pages.add("doc:1", "Connecting to the server", votes=12, lang="en")
    True
    >>> found = pages.query("connect votes:>10", order="-votes", texts=True)
    >>> from tackle.search import values
    >>> found.total, found.hits[0].id, values(found.hits[0])
    (1, 'doc:1', {'votes': 12.0, 'lang': 'en'})
    >>> pages.highlight("connect", found.hits[0].text).text
    '<b>Connecting</b> to the server'
    """

    def __init__(self, client: "Client", name: Name, *, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_search_open", "tkl_search_close", client, name, {"timeout": timeout})

    def create(self, fields: Optional[Mapping[str, str]] = None, *, stem: Optional[str] = None,
               stop_words: Name = "", user_words: Name = "", no_stop_words: bool = False,
               accents: bool = False, scripts_apart: bool = False, no_bigrams: bool = False,
               positions: bool = False, no_text: bool = False,
               shards: Optional[int] = None) -> None:
        """Creates the index: its fields are "numeric" or "text". Fine if it exists with the same
        schema; InvalidArgument: with another one."""
        self._call("tkl_search_create", {
            "fields": _fields(fields), "stem": stem, "stop_words": stop_words,
            "user_words": user_words, "no_stop_words": no_stop_words, "accents": accents,
            "scripts_apart": scripts_apart, "no_bigrams": no_bigrams, "positions": positions,
            "no_text": no_text, "shards": shards})

    def add(self, id: Name, text: Name = "", **values: Value) -> bool:
        """Adds a document, or replaces the one with the same id: whether it is new."""
        return self.add_all([{"id": id, "text": text, "values": values}]) == 1

    def add_all(self, documents: Iterable[Mapping[str, Any]]) -> int:
        """Adds documents with `id`, `text` and `values` (a dict): how many are new."""
        return int(self._call("tkl_search_add", [
            {**document, "values": _values(document.get("values") or {})}
            for document in documents]))

    def remove(self, ids: Iterable[Name]) -> int:
        return int(self._call("tkl_search_remove", ids))

    def query(self, query: Name, *, order: Optional[Name] = None, offset: Optional[int] = None,
              count: Optional[int] = None, keep: Optional[Duration] = None,
              compare_max: Optional[int] = None, facets: Optional[Sequence[Name]] = None,
              facet_values: Optional[int] = None, texts: bool = False,
              timeout: Optional[Duration] = None) -> SearchResult:
        """Runs a query: words, "-not", "+or", "conn*", "field:value", "votes:>10". `order`: "votes",
        "-votes", "updated=1,votes=2", or by relevance. `count` 0: only the total. `keep`: the server
        keeps the result so long, for further pages."""
        found: SearchResult = self._call("tkl_search_query", query, {
            "order": order, "offset": offset, "count": count, "keep": keep,
            "compare_max": compare_max, "facets": facets, "facet_values": facet_values,
            "texts": texts, "timeout": timeout})
        return found

    def get(self, ids: Iterable[Name]) -> List[SearchHit]:
        """Documents by id; those that do not exist are left out."""
        found: SearchResult = self._call("tkl_search_get", ids)
        return found.hits

    def explain(self, query: Name, id: Name = "") -> SearchExplanation:
        """Why the query finds a document, or does not, and what its relevance is made of. Without an
        id: how the query is understood. NotFound: the index has no such document."""
        found: SearchExplanation = self._call("tkl_search_explain", query, id)
        return found

    def highlight(self, query: Name, text: Name, *, before: Optional[Name] = None,
                  after: Optional[Name] = None, length: Optional[int] = None,
                  html: bool = False) -> SearchMarks:
        """Marks the matches of a query in a text."""
        found: SearchMarks = self._call("tkl_search_highlight", query, text, {
            "before": before, "after": after, "length": length, "html": html})
        return found

    def show(self) -> SearchInfo:
        found: SearchInfo = self._call("tkl_search_show")
        return found

    def check(self) -> SearchChecked:
        """Compares the whole index with its documents, and mends differences, in steps, while others
        work. Conflict: a later check has begun."""
        found: SearchChecked = self._call("tkl_search_check")
        return found

    def drop(self) -> None:
        self._call("tkl_search_drop")


def _values(values: Mapping[str, Value]) -> List[Dict[str, Any]]:
    return [{"field": name, "text": encode(value)} if isinstance(value, (str, bytes)) else
            {"field": name, "number": value} for name, value in values.items()]


def _fields(fields: Optional[Mapping[str, str]]) -> List[Dict[str, str]]:
    return [{"name": name, "kind": kind} for name, kind in (fields or {}).items()]


def parse(query: Name, fields: Optional[Mapping[str, str]] = None, *, stem: Optional[str] = None,
          stop_words: Name = "", user_words: Name = "", no_stop_words: bool = False,
          accents: bool = False, scripts_apart: bool = False, no_bigrams: bool = False,
          positions: bool = False) -> SearchExplanation:
    """How an index with these settings would understand a query. Asks no server.

    >>> from tackle import search
    >>> parsed = search.parse("the connections -links", stem="en")
    >>> [(part.text, part.excluded) for part in parsed.parts], parsed.dropped
    ([('connect', False), ('link', True)], 'the')
    """
    found: SearchExplanation = _call.local("tkl_search_parse", query, {
        "fields": _fields(fields), "stem": stem, "stop_words": stop_words, "user_words": user_words,
        "no_stop_words": no_stop_words, "accents": accents, "scripts_apart": scripts_apart,
        "no_bigrams": no_bigrams, "positions": positions})
    return found


def values(hit: SearchHit) -> Dict[str, Value]:
    """The values of a hit as a dict."""
    return {value.field: value.text or value.number for value in hit.values}
