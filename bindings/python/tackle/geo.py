# SPDX-License-Identifier: MIT
"""Places on the globe. docs/geo.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple

from . import _call
from ._component import Component
from ._convert import Duration, Name
from .records import GeoCell, GeoPlace

if TYPE_CHECKING:
    from .client import Client

Point = Tuple[float, float]     # longitude, latitude


class Geo(Component):
    """Finds places near a point, nearest first.

    >>> shops = client.geo("shops")
    >>> shops.add({"harbour": (9.99, 53.54), "airport": (9.99, 53.63)})
    2
    >>> [place.name for place in shops.near((10, 53.5), radius=8, unit="km")]
    ['harbour']
    >>> round(shops.distance("harbour", "airport", "km"))
    10
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_geo_open", "tkl_geo_close", client, name,
                   {"ttl": ttl, "timeout": timeout})

    def add(self, places: Mapping[Any, Point]) -> int:
        """Adds or moves places, by longitude and latitude: how many are new."""
        return int(self._call("tkl_geo_add", [
            {"name": name, "longitude": longitude, "latitude": latitude}
            for name, (longitude, latitude) in places.items()]))

    def remove(self, names: Iterable[Name]) -> int:
        return int(self._call("tkl_geo_remove", names))

    def distance(self, a: Name, b: Name, unit: str = "m") -> float:
        """The distance of two places in "m", "km", "mi" or "ft". NotFound: one does not exist."""
        return float(self._call("tkl_geo_distance", a, b, unit))

    def positions(self, names: Iterable[Name]) -> List[Optional[Point]]:
        """Longitude and latitude of each; None: there is no such place."""
        return [(found.longitude, found.latitude) if found.found else None
                for found in self._call("tkl_geo_positions", names)]

    def hashes(self, names: Iterable[Name]) -> List[str]:
        """The geohashes; "" for a place that does not exist."""
        found: List[str] = self._call("tkl_geo_hashes", names)
        return found

    def near(self, center: Any, *, radius: Optional[float] = None, width: Optional[float] = None,
             height: Optional[float] = None, unit: str = "m", max: Optional[int] = None,
             farthest: bool = False) -> List[GeoPlace]:
        """Places in a circle or a box around a point or the name of a place. NotFound: the place at
        the centre does not exist."""
        found: List[GeoPlace] = self._call("tkl_geo_near", _query(
            center, radius=radius, width=width, height=height, unit=unit, max=max, farthest=farthest))
        return found

    def count(self, center: Any, *, radius: Optional[float] = None, width: Optional[float] = None,
              height: Optional[float] = None, unit: str = "m", max: Optional[int] = None) -> int:
        """Counts them without fetching them."""
        return int(self._call("tkl_geo_count", _query(
            center, radius=radius, width=width, height=height, unit=unit, max=max)))

    def within(self, hash: str, max: int = 0) -> List[GeoPlace]:
        """Places whose geohashes begin with `hash`; `max` 0: all."""
        found: List[GeoPlace] = self._call("tkl_geo_within", hash, max)
        return found

    def drop(self) -> None:
        self._call("tkl_geo_drop")


def _query(center: Any, **options: Any) -> Dict[str, Any]:
    if isinstance(center, (str, bytes)):
        return {"member": center, **options}
    longitude, latitude = center
    return {"longitude": longitude, "latitude": latitude, **options}


def encode(longitude: float, latitude: float, length: int = 11) -> str:
    """The geohash of a point. Asks no server.

    >>> from tackle import geo
    >>> geo.encode(9.99, 53.54, 5), geo.decode("u1x0e").south < 53.54, geo.neighbours("u1x0e")[0]
    ('u1x0e', True, 'u1x0g')
    """
    return str(_call.local("tkl_geo_encode", longitude, latitude, length))


def decode(hash: str) -> GeoCell:
    """The cell of a geohash."""
    found: GeoCell = _call.local("tkl_geo_decode", hash)
    return found


def neighbours(hash: str) -> List[str]:
    """The cells around it: north, north-east and so on; "" beyond a pole."""
    found: List[str] = _call.local("tkl_geo_neighbours", hash)
    return found
