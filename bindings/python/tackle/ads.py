# SPDX-License-Identifier: MIT
"""Ad targeting. docs/ads.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name
from .ip import Ip
from .records import AdsChoice, AdsInfo, AdsLine, AdsStats, AdsWord

if TYPE_CHECKING:
    from .client import Client

Amount = Union[str, int, float]


class Ads(Component):
    """Which ad earns most on a page, learned from views, clicks and actions.

    >>> site = client.ads("site")
    >>> site.add("shoes", "cpc", "0.25", locations=["Berlin"], text="light running shoes")
    >>> choice = site.target(["Berlin"], text="Ten routes for running along the river")
    >>> choice.ad
    'shoes'
    >>> site.click(choice.target)
    >>> site.show("shoes").counts.clicks
    1

    `target`: how long a target can be clicked. `smoothing` and `explore`: see docs/ads.md; 0: none.
    Prices are amounts of your currency, such as "0.25"; results are in millionths.
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 target: Optional[Duration] = None, smoothing: Optional[int] = None,
                 explore: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_ads_open", "tkl_ads_close", client, name, {
            "ttl": ttl, "target": target, "smoothing": smoothing, "explore": explore,
            "timeout": timeout})

    def add(self, name: Name, type: str, price: Amount, *, locations: Sequence[Name],
            budget: Optional[Amount] = None, needs: Optional[Mapping[str, Sequence[Name]]] = None,
            text: Name = "") -> None:
        """Adds an ad, or replaces the one of this name: "cpm", "cpc" or "cpa". `budget`: of a day.
        `needs`: the values of the viewer that are required, by kind."""
        self.add_all([{"name": name, "type": type, "price": price, "budget": budget,
                       "locations": locations, "needs": needs, "text": text}])

    def add_all(self, ads: Iterable[Mapping[str, Any]]) -> None:
        """Adds many ads in one round trip: dicts with the arguments of add()."""
        self._call("tkl_ads_add", [_ad(ad) for ad in ads])

    def remove(self, names: Iterable[Name]) -> int:
        return int(self._call("tkl_ads_remove", names))

    def target(self, locations: Sequence[Name] = (), *, text: Name = "",
               traits: Optional[Mapping[str, Name]] = None, table: Optional[Ip] = None,
               address: Name = "") -> AdsChoice:
        """Chooses the best ad for a page and records its view. Empty: no ad fits. With a `table` of
        addresses, the places of `address` are locations, too."""
        return self._page("tkl_ads_target", locations, text, traits, table, address)

    def explain(self, name: Name, locations: Sequence[Name] = (), *, text: Name = "",
                traits: Optional[Mapping[str, Name]] = None, table: Optional[Ip] = None,
                address: Name = "") -> AdsChoice:
        """The score of one ad on a page, and why it cannot be shown there. Records nothing."""
        return self._page("tkl_ads_explain", locations, text, traits, table, address, name)

    def _page(self, function: str, locations: Sequence[Name], text: Name,
              traits: Optional[Mapping[str, Name]], table: Optional[Ip], address: Name,
              *name: Name) -> AdsChoice:
        cell = _call.cell_of(table, "tkl_ip") if table else None
        arguments = _call.prepare(function, self, {
            "locations": locations, "text": text, "address": address,
            "traits": [{"kind": kind, "value": value} for kind, value in (traits or {}).items()],
            "table": cell and cell.pointer}, *name)
        if cell:
            arguments.cells.append(cell)
        found: AdsChoice = _call.finish(_call.invoke(arguments), arguments)
        return found

    def click(self, target: Name) -> None:
        """Exists: it was counted before. NotFound: the target is unknown or has expired."""
        self._call("tkl_ads_click", target)

    def action(self, target: Name) -> None:
        self._call("tkl_ads_action", target)

    def show(self, name: Name) -> AdsInfo:
        found: AdsInfo = self._call("tkl_ads_show", name)
        return found

    def report(self) -> List[AdsLine]:
        """All ads, the greatest eCPM first."""
        found: List[AdsLine] = self._call("tkl_ads_report")
        return found

    def report_words(self) -> List[AdsWord]:
        """All words, the best bonus first."""
        found: List[AdsWord] = self._call("tkl_ads_report_words")
        return found

    def stats(self) -> AdsStats:
        found: AdsStats = self._call("tkl_ads_stats_get")
        return found

    def drop(self) -> None:
        self._call("tkl_ads_drop")


def _ad(ad: Mapping[str, Any]) -> Dict[str, Any]:
    fields = dict(ad)
    price, budget, needs = (fields.pop(key, None) for key in ("price", "budget", "needs"))
    return {**fields, "price_micros": micros(price),
            "budget_micros": None if budget is None else micros(budget),
            "needs": [{"kind": kind, "values": values} for kind, values in (needs or {}).items()]}


def micros(amount: Amount) -> int:
    """An amount such as "0.25" in millionths, exactly.

    >>> from tackle import ads
    >>> ads.micros("0.25")
    250000
    """
    return int(_call.local("tkl_ads_micros", str(amount)))


def ecpm(type: str, price: Amount, views: int, events: int = 0) -> float:
    """What 1000 views earn, in millionths, when `events` of `views` led to what is paid for."""
    return float(_call.local("tkl_ads_ecpm", type, micros(price), views, events))
