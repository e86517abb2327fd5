"""The page that `to_html` writes: what is in it, that names stay text, and that it is written whole or not at all."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradwidget import GradWidget, GradWidgetError, OptionError, _details, _files, _html_page

EVIL = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "\"'`${alert(1)}`",
    "\u202e\u2066ltr",
    "\ud800 alone",
    "x" * 10_000,
    "{policy}{0}%s",
]


class Page(HTMLParser):
    """The elements of a page with their attributes, and what stands in them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.inside = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = dict(attributes).get("id", tag)

    def handle_endtag(self, _):
        self.inside = None

    def handle_data(self, data):
        self.texts[self.inside] = self.texts.get(self.inside, "") + data

    def part(self, name):
        return json.loads(gzip.decompress(base64.b64decode(self.texts[f"gradwidget-{name}"])))


def abc():
    a = torch.tensor(1.1, requires_grad=True)
    b = torch.tensor(1.2, requires_grad=True)
    d = a * b
    e = d.exp()
    w = GradWidget(e)
    e.backward()
    return w


def model(depth=40):
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(depth)))
    loss = net(torch.ones(2, 4)).sum()
    w = GradWidget(loss, names=net)
    loss.backward()
    return w


def test_it_holds_what_a_click_asks_for():
    w = abc()
    w.selected = "d"
    page = Page(w.to_html())
    details = page.part("details")
    assert sorted(details, key=int) == [str(key) for key in range(len(w))]
    d = details[str(w["d"].key)]
    assert d["names"] == ["d"]
    assert float(d["outputs"][0]["gradient"]["exact"]) == pytest.approx(float(w["d"].gradient))
    assert d["formula"]["parts"]
    assert page.part("live")["passes"][0]["order"] == w.passes[0].order
    assert page.part("trace")["rows"]
    assert {one["text"] for one in page.part("references")["names"]} >= {"a", "b", "e"}
    assert page.part("state") == {
        "selected": w["d"].key,
        "step": None,
        "height": 480,
        "direction": "right",
        "quiz": None,
        "answers": {},
        "collapsed": [],
    }
    assert page.part("graph")["notes"] == []


def test_details_of_every_node_of_a_folded_model_come_along():
    w = model()
    page = Page(w.to_html())
    assert w.collapsed
    assert page.part("state")["collapsed"] == w.collapsed
    assert len(page.part("details")) == len(w) > _details.AT_ONCE
    assert set(page.part("live")["passes"][0]["key"]) == set(range(len(w)))


def test_beyond_the_budget_it_says_so(monkeypatch):
    w = model()
    w.selected = len(w) - 1
    whole = Page(w.to_html()).part("details")
    room = sum(len(json.dumps(whole[str(key)], ensure_ascii=False).encode()) for key in (len(w) - 1, 0, 1))
    monkeypatch.setattr(_html_page, "DETAIL_BYTES", room)
    page = Page(w.to_html())
    assert sorted(page.part("details"), key=int) == ["0", "1", str(len(w) - 1)]
    (note,) = page.part("graph")["notes"]
    assert f"answers clicks on 3 of the {len(w)} nodes" in note


def test_gradients_beyond_the_budget_are_told(monkeypatch):
    w = model()
    monkeypatch.setattr(_html_page, "_ROWS", 10)
    monkeypatch.setattr(_html_page._wire, "DRAWN", 5)
    page = Page(w.to_html())
    assert len(page.part("live")["passes"][0]["key"]) < len(w)
    assert "Gradients inside of groups that were folded are not in this page." in page.part("graph")["notes"]


def test_it_is_small():
    assert len(abc().to_html()) < 300_000
    assert len(model().to_html()) < 500_000


def test_it_loads_nothing_and_only_its_own_script_runs():
    page = Page(abc().to_html())
    assert not [a for _, attributes in page.tags for a in attributes if a in {"src", "href"} or a.startswith("on")]
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [s["type"] for s in scripts] == ["text/plain"] * 6 + ["module"]
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.texts["script"].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "http" not in policy


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_hostile_names_stay_text(evil):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).sum()
    text = GradWidget(y, names={evil: y, "x": x}).to_html()
    text.encode("utf-8")  # no lone surrogate
    plain = Page(abc().to_html())
    page = Page(text)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
    assert len(page.texts["title"]) < 1300
    names = page.part("graph")["names"]
    assert evil.encode("utf-8", "replace").decode() in [name for _, _, all_names in names for name in all_names]


def test_the_same_graph_gives_the_same_bytes():
    assert abc().to_html() == abc().to_html()


def test_nothing_of_the_users_runs():
    ran = []
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(lambda v: (ran.append(1), v.sin())[1], x, use_reentrant=False).sum()
    w = GradWidget(y)
    before = len(ran)
    page = Page(w.to_html())
    assert len(ran) == before
    assert not [s for d in page.part("details").values() for s in d["saved"] if s["unpack"]]
    assert x.grad is None


def test_it_keeps_no_graph_alive_that_was_not(monkeypatch):
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    w = GradWidget(y, keep="summary")
    assert len(Page(w.to_html()).part("details")) == len(w)
    assert w._inspection._nodes is None
    del x, y
    assert len(Page(w.to_html()).part("details")) == 3


def test_after_close_it_shows_what_was_seen():
    w = abc()
    w.close()
    assert Page(w.to_html()).part("live")["passes"]


@pytest.mark.parametrize("kind", [str, Path])
def test_it_is_written_to_a_path(tmp_path, kind):
    w = abc()
    path = tmp_path / "graph.html"
    path.write_text("old")
    assert w.to_html(kind(path)) is None
    assert path.read_bytes() == w.to_html().encode("utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["graph.html"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there.html").write_text("old")
    link = tmp_path / "link.html"
    link.symlink_to("there.html")
    abc().to_html(link)
    assert link.is_symlink()
    assert (tmp_path / "there.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("path", [3, b"graph.html", ["graph.html"], 1.5])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(OptionError, match="is no path"):
        abc().to_html(path)


@pytest.mark.parametrize("path", ["", ".", "missing/graph.html", "a\0b", "x" * 300, "/dev/null"])
def test_a_place_that_can_not_be_written_is_told(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GradWidgetError, match="can't be written"):
        abc().to_html(path)
    assert not list(tmp_path.iterdir())


def test_what_was_there_stays_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "graph.html"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(GradWidgetError, match="No space left on device"):
        abc().to_html(path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["graph.html"]


def test_the_bundle_opens_the_page_once():
    script = _html_page._script()
    assert re.search(r"[\w$]+\(\);\Z", script)
    assert not re.search(r"</script|<!--", script, re.IGNORECASE)
    assert "\r" not in script
    assert "\0" not in script
