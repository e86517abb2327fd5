"""A snapshot on the page: the same figure, answered from what was stored."""

from __future__ import annotations

import json
from typing import Any

import anywidget
import networkx as nx
import traitlets

from gradwidget import _details, _static, _wire
from gradwidget._errors import GradWidgetError, GraphGoneError, OptionError, UnknownNodeError
from gradwidget._snapshot import Snapshot
from gradwidget._widget import GradWidget, answer
from gradwidget._wire import Json

_REMEDY = "Run the forward pass again and make a new GradWidget."


class SnapshotWidget(GradWidget):
    """The figure of a `Snapshot`. Nothing of torch is behind it: no hook, no graph, no tensor of the user's."""

    def __init__(self, snapshot: Snapshot, *, height: int = 480, direction: str = "right") -> None:
        graph, live = snapshot.page["graph"], snapshot.page["live"]
        if graph["v"] != _wire.VERSION:
            raise GradWidgetError(
                f"Its picture was stored by gradwidget {snapshot.gradwidget[:40]}, whose page is another one.",
                "Use its .graph, .passes and [name].",
            )
        self.snapshot = snapshot
        self._inspection: Any = snapshot  # finds and counts nodes as an inspection does
        where = f" on rank {snapshot.rank} of {snapshot.world}" if snapshot.rank is not None else ""
        status = f"A snapshot{where}, taken by gradwidget {snapshot.gradwidget[:40]}: nothing here is live."
        probe = {"possible": False, "note": "A snapshot has no graph to run."}
        super(GradWidget, self).__init__(
            _graph=_wire.pack(graph),
            _live=_wire.pack(live | {"watching": False, "status": status, "probe": probe}),
            _details=_wire.pack(_sent_along(snapshot.page["details"])),
            collapsed=list(graph["collapsed"]),
            height=height,
            direction=direction,
        )
        self.on_msg(answer)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The stored `networkx.MultiDiGraph`."""
        return self.snapshot.graph

    @property
    def passes(self) -> list[Any]:
        """The stored passes, oldest first."""
        return list(self.snapshot.passes)

    def __getitem__(self, key: int | str) -> Any:
        """One node, by its number or by any name of its tensors."""
        return self.snapshot[key]

    def to_text(self) -> str:
        """A short table, a row a node."""
        return self.snapshot.to_text()

    def probe(self) -> Any:
        """A snapshot can't: it raises."""
        raise GraphGoneError("A snapshot has no graph to run a pass through.", _REMEDY)

    def refresh(self, *_: Any, **__: Any) -> None:
        """A snapshot can't: it raises."""
        raise GraphGoneError("A snapshot shows what was stored, and nothing else.", _REMEDY)

    def to_json(self) -> str:
        """A snapshot can't be written again: keep its file."""
        raise GraphGoneError("A snapshot is not written again.", "Keep the file or text that it was read from.")

    def to_dot(self) -> str:
        """A snapshot can't: it raises."""
        raise GraphGoneError("A snapshot is not drawn in DOT.", _REMEDY)

    @traitlets.validate("collapsed")
    def _valid_folding(self, proposal: dict[str, Any]) -> list[str]:
        asked, known = proposal["value"], self.snapshot.page["graph"]["groups"]["id"]
        if not isinstance(asked, (list, tuple, set, frozenset)):
            raise OptionError(f"collapsed={asked!r} is no list of groups.", "Give a list of their names.")
        for name in asked:
            if name not in known:
                raise UnknownNodeError(
                    f"There is no group {name!r}.", f"Groups are {', '.join(map(repr, known[:8])) or 'none'}."
                )
        return [name for name in known if name in asked]

    @traitlets.observe("collapsed")
    def _folded(self, _: object) -> None:
        """All that was stored is on the page already."""

    def trace(self, *, tangent: object = None) -> Any:  # noqa: ARG002
        """A snapshot can't: it raises."""
        raise GraphGoneError("A snapshot has no evaluation trace.", _REMEDY)

    def close(self) -> None:
        """Take the figure off the page."""
        super(GradWidget, self).close()

    def __exit__(self, *_: object) -> None:
        """Nothing is held: the figure stays."""

    def cell_ended(self) -> None:
        """Nothing changes."""

    def _result_of(self, method: object, params: dict[str, Any]) -> Any:
        if method == "details":
            key, _ = self.snapshot.find(params["key"])
            panel = self.snapshot.page["details"].get(str(key))
            if panel is None:
                raise GraphGoneError(
                    f"The panel of node {key} was not stored.", "Snapshots keep the nodes nearest the output."
                )
            return panel
        raise GraphGoneError("A snapshot has no graph to ask.", _REMEDY)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle: Any = anywidget.AnyWidget._repr_mimebundle_(self, **kwargs)
        return _static.with_html(bundle, _static.of_snapshot(self.snapshot))

    def __repr__(self) -> str:
        return f"{repr(self.snapshot)[:-1]}, shown)" if hasattr(self, "snapshot") else "SnapshotWidget()"


def _sent_along(details: Json) -> Json:
    found: Json = {}
    size = 0
    for key, panel in details.items():
        size += len(json.dumps(panel))
        if size > _details.DETAIL_BYTES * 4:
            break
        found[key] = panel
    return found
