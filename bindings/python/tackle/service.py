# SPDX-License-Identifier: MIT
"""Service discovery. docs/service.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from . import _call
from ._component import Component
from ._convert import Duration, Name, from_enum
from ._handle import InUse
from .records import ServiceInstance, ServiceInstances

if TYPE_CHECKING:
    from .client import Client


class Service(Component):
    """Instances of a service, which disappear from the list when they crash.

    >>> shop = client.service("shop")
    >>> with shop.register("10.0.0.5:8080", meta={"zone": "a"}):
    ...     shop.list()[0].address, shop.pick().address
    ('10.0.0.5:8080', '10.0.0.5:8080')
    >>> len(shop.list())
    0
    """

    def __init__(self, client: "Client", name: Name, *, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_service_open", "tkl_service_close", client, name,
                   {"timeout": timeout})

    def register(self, address: Name, *, id: Optional[Name] = None, weight: Optional[int] = None,
                 meta: Optional[Mapping[str, Name]] = None, lease: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> "Registration":
        """Lists this instance until the registration is closed; after a crash, for `lease` seconds.
        It replaces an instance with the same id (None: the address)."""
        instance = {"address": address, "id": id, "weight": weight,
                    "meta": [{"name": name, "value": value} for name, value in (meta or {}).items()]}
        with InUse(self._cell):
            return Registration(self, self._call(
                "tkl_service_register", instance, {"lease": lease, "timeout": timeout},
                undo=lambda pointer: Registration(self, pointer).close()))

    def list(self) -> ServiceInstances:
        """All live instances."""
        found: ServiceInstances = self._call("tkl_service_list")
        return found

    def pick(self, how: str = "random") -> ServiceInstance:
        """One of the instances, from memory: by "random", "round_robin" or "weight". Empty: there is
        none."""
        found: ServiceInstances = self._call("tkl_service_pick", how)
        return found[0]

    def watch(self, change: int = 0, wait: Optional[Duration] = None) -> Optional[ServiceInstances]:
        """Waits until the instances differ from those of the list with this `change` (0: returns at
        once). None: nothing changed in time."""
        code, found = self._wait("tkl_service_watch", change, wait=wait)
        return found if code == _call.OK else None

    def changes(self) -> Iterator[ServiceInstances]:
        """Every list, from the current one on."""
        change = 0
        while True:
            found = self.watch(change)
            if found is not None:
                change = found.change
                yield found


class Registration(Component):
    """An instance that is listed. The library renews it until it is closed."""

    def __init__(self, service: Service, pointer: Any) -> None:
        self._take(service.client, "tkl_service_register", "tkl_registration_close", pointer,
                   parents=(service,))

    @property
    def state(self) -> str:
        """"listed", "away" (the server is down) or "replaced". Asks no server."""
        return from_enum(_call.value("tkl_registration_look", self), "tkl_registration_state")
