# SPDX-License-Identifier: MIT
"""The base of followers, tails and watchers."""
from __future__ import annotations

from typing import Any

from . import _call
from ._component import Component
from .errors import error


class Stream(Component):
    """A handle that gives events or messages in order, each once. When an exception, Ctrl-C or a
    cancelled task ends a call that has just got some, they come with the next call."""

    _kept: Any = None

    def _next(self, name: str, *given: Any, wait: Any) -> Any:
        """The next events or messages. Empty: none in time."""
        kept, self._kept = self._kept, None
        if kept is not None:
            return kept
        code, found = self._wait(name, *given, wait=wait, undo=self._keep)
        if code:
            raise error(code, "nothing in time" if code == _call.EMPTY else "")
        return found

    def _keep(self, found: Any) -> None:
        self._kept = found
