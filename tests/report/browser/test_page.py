import dataclasses
import re
import zlib
from typing import Any

import numpy as np
import pytest

from localgcl.report.findings import Column, Map
from localgcl.report.panels import show_settings
from tests.references.findings import changed, synthetic, synthetic_map
from tests.report.browser.conftest import Opener

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def focused(page: Any) -> str:
    name = "document.activeElement.id || document.activeElement.ariaLabel || document.activeElement.textContent"
    return str(page.evaluate(name))


def test_a_node_called_script_stays_text(opened: Opener) -> None:
    ids = [NASTY, *(f"{NASTY}{i}" for i in range(59))]
    page = opened(synthetic(60, ids=ids, classes=(NASTY, "b", "c")))
    page.fill("#search", "<script>")
    page.wait_for_selector("#matches li")
    assert page.locator("#matches li").first.inner_text() == NASTY
    page.press("#search", "Enter")
    page.wait_for_selector(".chosen")
    assert page.inner_text(".chosen h3") == NASTY
    assert page.locator(".nodes .id").first.inner_text().startswith(NASTY)
    assert NASTY in page.locator(".classes .name").all_inner_texts()
    box = page.locator("#stage").bounding_box()
    for step in range(30):  # some node is on the way
        page.mouse.move(box["x"] + box["width"] * step / 30, box["y"] + box["height"] * step / 30)
    assert page.locator("img").count() == 0


def test_everything_is_reached_by_keys(opened: Opener) -> None:
    page = opened(synthetic(200))
    order = []
    for _ in range(40):
        page.keyboard.press("Tab")
        order.append(focused(page))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"the focus on {order[-1]} cannot be seen"
    wanted = ["Skip to the map", "theme", "Map", "Load", "points", "zoom-in", "zoom-out", "reset", "search", "colour"]
    assert [name for name in order if name in wanted] == wanted
    assert "Show only Theory" in order

    page.focus("#points")
    for key in ("+", "+", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "-"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen")
    assert page.inner_text("#said").startswith(f"Selected {page.inner_text('.chosen h3')}: 10 nearest nodes, ")
    page.focus(".selection .node >> nth=0")
    first = page.inner_text(".selection .node .id >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".chosen h3:text-is('{first}')")
    assert focused(page) == first  # and not the body: the pressed button is gone
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen button:has-text('Back')", state="detached")
    page.focus(".chosen button:text-is('Close')")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen", state="detached")
    assert focused(page) == "points"
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen")
    page.keyboard.press("Escape")
    page.wait_for_selector(".chosen", state="detached")
    page.focus(".classes input >> nth=0")
    page.keyboard.press("Space")
    assert "pass the filter" in page.inner_text("#count")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(opened: Opener, scheme: str) -> None:
    page = opened(synthetic(50), color_scheme=scheme)

    def brightness() -> float:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return float(np.mean([int(value) for value in colour.removeprefix("rgb(").removesuffix(")").split(",")]))

    other = {"light": "Dark", "dark": "Light"}[scheme]
    assert (brightness() > 128) == (scheme == "light")
    assert page.inner_text("#theme") == other
    page.click("#theme")
    assert (brightness() > 128) == (scheme == "dark")
    page.emulate_media(media="print")
    assert brightness() > 128
    assert page.locator(".tools").is_hidden()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(opened: Opener, width: int) -> None:
    findings = synthetic(60, ids=[f"{'long' * 30}-{i}" for i in range(60)], classes=("class " * 20, "b" * 90))
    wide = dataclasses.replace(changed(findings, settings=show_settings("a = " + "1" * 300)), run="runs/" + "x" * 200)
    page = opened(wide, viewport={"width": width, "height": 844})
    page.fill("#search", "long")
    page.press("#search", "Enter")
    page.wait_for_selector(".chosen")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    stage = page.locator("#stage").bounding_box()
    side = page.locator(".side").bounding_box()
    if width <= 390:
        assert stage["width"] == width
        assert side["y"] >= stage["y"] + stage["height"]
    if width == 1280:
        assert side["x"] >= stage["x"] + stage["width"]


def test_settings_are_copied(opened: Opener) -> None:
    findings = synthetic(30)
    page = opened(findings, permissions=["clipboard-read", "clipboard-write"])
    page.click("button[data-copy=settings-text]")
    page.wait_for_selector("button:text-is('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == findings.data["settings"]


def test_a_finger_pans_and_selects(opened: Opener) -> None:
    page = opened(synthetic(400), viewport={"width": 390, "height": 844}, has_touch=True)
    box = page.locator("#stage").bounding_box()
    for share in np.linspace(0.2, 0.8, 12):
        page.touchscreen.tap(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        if page.locator(".chosen").count():
            break
    page.wait_for_selector(".chosen")
    # The panel stands below the map, out of sight: the map names the node.
    page.wait_for_selector("#tip:not([hidden])")
    assert page.inner_text("#tip strong") == page.inner_text(".chosen h3")


def test_graphs_of_every_shape_open(opened: Opener) -> None:
    whole = synthetic(30)
    alone = Map(
        ids=["only"],
        xy=np.zeros((1, 2), dtype=np.float32),
        layout="",
        nearest=np.full((1, 3), -1, dtype=np.int32),
        similarity=np.full((1, 3), np.nan, dtype=np.float32),
        nearest_note="",
        indptr=np.zeros(2, dtype=np.int32),
        indices=np.zeros(0, dtype=np.int32),
        columns=(Column("empty", np.full(1, np.nan, dtype=np.float32)),),
        shown="",
    )
    page = opened(changed(whole, view=alone, clusters=()))
    page.focus("#points")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen h3:text-is('only')")
    assert "It has no neighbours here." in page.inner_text("#selection")
    assert "no value" in page.inner_text(".values")
    page = opened(changed(whole, view=dataclasses.replace(whole.map, columns=()), clusters=()))
    assert page.inner_text("#count") == "30 nodes"
    assert page.locator("#colour").is_hidden()


def test_a_column_of_many_classes(opened: Opener) -> None:
    view = synthetic_map(400)
    many = Column("product", np.arange(400, dtype=np.int32) % 150, tuple(f"product {i}" for i in range(150)))
    page = opened(changed(synthetic(30), view=dataclasses.replace(view, columns=(many,)), clusters=()))
    assert page.locator(".classes li").count() == 101
    assert page.locator(".classes .name").last.inner_text() == "50 smaller classes"


def test_the_map_is_printed(opened: Opener) -> None:
    printed = opened(synthetic(2000)).pdf(print_background=True)
    picture = re.search(rb"/Subtype /Image.*?stream\r?\n(.*?)endstream", printed, re.DOTALL)
    assert picture is not None
    # A canvas that was cleared is printed as one colour.
    assert len(np.unique(np.frombuffer(zlib.decompress(picture[1]), np.uint8))) > 50


def test_what_marks_a_cluster_out_is_read_without_scrolling_sideways(opened: Opener) -> None:
    whole = synthetic(300)
    long = tuple(dataclasses.replace(one, marks=("a mark of many words " * 5,)) for one in whole.clusters)
    page = opened(changed(whole, clusters=long), viewport={"width": 390, "height": 844})
    for box in page.locator(".marks").all():
        inside = box.bounding_box()
        assert inside["x"] + inside["width"] <= 390


def test_two_fingers_zoom(opened: Opener) -> None:
    page = opened(synthetic(400), viewport={"width": 390, "height": 844}, has_touch=True)
    box = page.locator("#stage").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    devices = page.context.new_cdp_session(page)
    before = page.locator("#stage").screenshot()
    for kind, apart in (("touchStart", 20), *(("touchMove", 20 + 10 * i) for i in range(1, 9)), ("touchEnd", None)):
        points = [] if apart is None else [{"x": middle[0] + s * apart, "y": middle[1], "id": i} for i, s in enumerate((-1, 1))]
        devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_timeout(400)
    assert page.evaluate("visualViewport.scale") == 1  # the map is zoomed and not the page
    assert page.locator("#stage").screenshot() != before
    assert page.locator(".chosen").count() == 0
