"""The picture saved as SVG and PNG from the page: what is in the files, and that they look like the page."""

from __future__ import annotations

import base64
import os
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from browser.test_html import lesson, opened  # noqa: F401

import gradwidget as gw

SVG = "{http://www.w3.org/2000/svg}"


COLOURS = """async (data) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const paper = canvas.getContext("2d");
  paper.drawImage(image, 0, 0);
  return new Set(new Uint32Array(paper.getImageData(0, 0, image.width, image.height).data.buffer)).size;
}"""


def save(page, figure, ending):
    if not figure.root.locator("details.gw-save[open]").count():
        figure.root.locator("[data-gw-save]").click()
    with page.expect_download() as waiting:
        figure.root.locator(f'[data-gw-save-as="{ending}"]').click()
    return waiting.value


def texts(svg):
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_graph(opened, scheme):  # noqa: F811
    page, figure = opened(lesson(), color_scheme=scheme)
    figure.select("d")
    download = save(page, figure, "svg")
    assert download.suggested_filename == "e-Mul.svg"
    data = download.path().read_bytes()
    svg = ET.fromstring(data)
    found = texts(svg)
    assert {"a", "b", "c", "Muld", "Mule", "1.3", "1.56", "1.716"} <= {text.replace(" ", "") for text in found}
    styled = [element for element in svg.iter() if "class" in element.attrib or "style" in element.attrib]
    assert styled == []
    assert b"var(" not in data
    assert b"color(" not in data
    assert "filter" not in data.decode()
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    for text in svg.iter(f"{SVG}text"):
        assert float(text.attrib["font-size"]) >= 9
    paper = svg.find(f"{SVG}rect").attrib["fill"]
    assert paper == figure.background()
    png = save(page, figure, "png").path().read_bytes()
    assert struct.unpack(">II", png[16:24]) == (-(-2 * width // 1), -(-2 * height // 1))
    assert page.evaluate(COLOURS, base64.b64encode(png).decode()) > 50  # letters and wires, not a blank sheet
    if folder := os.environ.get("GW_SHOTS"):
        (Path(folder) / f"saved-{scheme}.png").write_bytes(png)
        (Path(folder) / f"saved-{scheme}.svg").write_bytes(data)


def test_what_is_out_of_view_is_in_the_file(opened):  # noqa: F811
    out = torch.rand(2, requires_grad=True)
    for _ in range(20):
        out = out.sin().exp()
    page, figure = opened(gw.GradWidget(out.sum(), names={}))
    figure.root.get_by_role("button", name="Fit").focus()
    boxes = int(figure.root.get_attribute("data-gw-boxes"))
    for _ in range(8):
        figure.root.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(400)
    drawn = figure.root.locator(".gw-surface g[role=button][data-gw-id]").count()
    assert drawn < boxes
    svg = ET.fromstring(save(page, figure, "svg").path().read_bytes())
    assert len(list(svg.iter(f"{SVG}title"))) >= boxes


def test_hostile_names_stay_text(opened):  # noqa: F811
    x = torch.ones(2, requires_grad=True)
    names = {"</svg><script>alert(1)</script>": x, '\ud800\x07 lone & "quoted"': (y := x * 2)}
    out = y.sum()
    page, figure = opened(gw.GradWidget(out, names=names))
    svg = ET.fromstring(save(page, figure, "svg").path().read_bytes())
    assert not list(svg.iter(f"{SVG}script"))
    assert any("<script>" in text for text in (title.text for title in svg.iter(f"{SVG}title")))


def test_the_menu_by_keyboard(opened):  # noqa: F811
    page, figure = opened(lesson())
    button = figure.root.locator("[data-gw-save]")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename.endswith(".svg")
    assert figure.root.locator("details.gw-save[open]").count() == 0
    page.keyboard.press("Enter")
    assert figure.root.locator("details.gw-save[open]").count() == 1
    page.keyboard.press("Escape")
    assert figure.root.locator("details.gw-save[open]").count() == 0
