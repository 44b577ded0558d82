from typing import Any

import numpy as np
import pytest

from localgcl.report.map import CATEGORIES
from tests.references.findings import synthetic
from tests.report.browser.conftest import Opener
from tests.report.browser.places import loneliest, pixel, spots

FINDINGS = synthetic(300)
VIEW = FINDINGS.map


@pytest.fixture(params=["WebGL", "plain"])
def page(request: pytest.FixtureRequest) -> Any:
    """The report with WebGL and without: both do the same."""
    opener: Opener = request.getfixturevalue("opened" if request.param == "WebGL" else "opened_plain")
    made = opener(FINDINGS)
    assert made.locator("#no-webgl").is_visible() == (request.param == "plain")
    return made


@pytest.fixture
def target(page: Any) -> tuple[int, np.ndarray]:
    """A node that stands alone, and where it is."""
    places = spots(page, VIEW)
    node = loneliest(places, page.locator("#stage").bounding_box())
    return node, places[node]


def names(page: Any, kind: str) -> list[str]:
    return list(page.locator(f".selection {kind}.nodes .id").all_inner_texts())


def neighbours(node: int) -> set[str]:
    return {VIEW.ids[i] for i in VIEW.indices[VIEW.indptr[node] : VIEW.indptr[node + 1]]}


def on_paper(node: int) -> np.ndarray:
    """The colour of a node's class, which lets 14% of the white paper through."""
    label = VIEW.columns[0]
    assert label.classes is not None
    sizes = np.bincount(label.values[label.values >= 0], minlength=len(label.classes))
    rank = list(np.argsort(-sizes, kind="stable")).index(label.values[node])
    return 0.86 * np.array([int(CATEGORIES[rank][i : i + 2], 16) for i in (1, 3, 5)]) + 0.14 * 255


def test_nodes_are_drawn_in_the_colour_of_their_class(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    # The tolerance is for the half pixel by which places are rounded.
    np.testing.assert_allclose(pixel(page, place), on_paper(node), atol=12)
    page.focus("#points")
    for key in ("ArrowLeft", "+", "ArrowUp", "0"):
        page.keyboard.press(key)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(400)  # a slow machine draws all points a moment after the last movement
    np.testing.assert_allclose(pixel(page, place), on_paper(node), atol=12)


def test_hover_shows_id_and_value(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    page.mouse.move(place[0] + 3, place[1] - 2)
    page.wait_for_selector("#tip:not([hidden])")
    label = VIEW.columns[0]
    assert label.classes is not None
    assert page.inner_text("#tip strong") == VIEW.ids[node]
    assert page.inner_text("#tip .quiet") == f"label: {label.classes[label.values[node]]}"
    ring = page.locator("#ring").bounding_box()
    # Half a pixel: places are rounded to 16 bits, boxes to a 64th of a pixel.
    np.testing.assert_allclose([ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2], place, atol=0.5)
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_a_click_shows_nearest_nodes_beside_neighbours(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    page.mouse.click(*place)
    page.wait_for_selector(".chosen")
    assert page.inner_text(".chosen h3") == VIEW.ids[node]
    assert names(page, "ol") == [VIEW.ids[i] for i in VIEW.nearest[node]]
    similarity = [float(text) for text in page.locator(".similarity").all_inner_texts()]
    np.testing.assert_allclose(similarity, VIEW.similarity[node], atol=6e-4)  # three digits are shown
    assert set(names(page, "ul")) == neighbours(node)
    both = neighbours(node) & {VIEW.ids[i] for i in VIEW.nearest[node]}
    marked = page.locator("ol.nodes button:has(.both) .id").all_inner_texts()
    assert set(marked) == both
    assert set(page.locator("ul.nodes button:has(.both) .id").all_inner_texts()) == both
    assert f"{len(both)} in both lists" in page.inner_text("#said")
    left, right = (page.locator(".pair section").nth(i).bounding_box() for i in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_buttons_lead_from_node_to_node_and_back(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    page.mouse.click(*place)
    page.click(f".selection ul .node:has-text('{min(neighbours(node))}') >> nth=0")
    page.wait_for_selector(".chosen button:has-text('Back')")
    assert page.inner_text(".chosen h3") != VIEW.ids[node]
    page.click(".chosen button:has-text('Back')")
    page.wait_for_selector(f".chosen h3:text-is('{VIEW.ids[node]}')")
    page.click(".chosen button:has-text('Close')")
    page.wait_for_selector(".chosen", state="detached")


def test_the_map_zooms_pans_and_resets(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target

    def found(where: np.ndarray) -> str:
        page.mouse.move(*where)
        page.mouse.move(*(where + 0.5))
        page.wait_for_selector("#tip:not([hidden])")
        return str(page.inner_text("#tip strong"))

    page.mouse.move(*place)
    page.mouse.wheel(0, -600)  # the place under the pointer stays
    assert found(place) == VIEW.ids[node]
    page.mouse.down()
    page.mouse.move(*(place + 20))
    page.mouse.move(*(place + 40))
    page.mouse.up()
    assert found(place + 40) == VIEW.ids[node]
    page.click("#reset")
    assert found(place) == VIEW.ids[node]
    page.click("#zoom-in")
    page.click("#zoom-out")
    assert found(place) == VIEW.ids[node]
    page.mouse.move(*place)
    page.mouse.wheel(0, -600)
    page.mouse.dblclick(*(place + 60))
    assert found(place) == VIEW.ids[node]


def test_zoom_shows_the_nearest_nodes_of_a_node(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    page.mouse.click(*place)
    page.click(".chosen button:text-is('Zoom')")
    around = VIEW.xy[[node, *VIEW.nearest[node]]]
    box = page.locator("#stage").bounding_box()
    middle = (around.min(axis=0) + around.max(axis=0)) / 2
    scale = 0.6 * min(box["width"] / np.ptp(around[:, 0]), box["height"] / np.ptp(around[:, 1]))
    where = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]) + (VIEW.xy[node] - middle) * scale * [1, -1]
    page.mouse.move(*where)
    page.wait_for_selector("#tip:not([hidden])")
    assert page.inner_text("#tip strong") == VIEW.ids[node]


def test_a_node_is_found_by_its_id(page: Any) -> None:
    page.fill("#search", "NODE-12")
    page.wait_for_selector("#matches li")
    expected = ["node-12", *(f"node-12{i}" for i in range(7))]
    assert page.locator("#matches li").all_inner_texts() == expected
    page.press("#search", "ArrowDown")
    page.press("#search", "ArrowDown")
    page.press("#search", "Enter")
    page.wait_for_selector(".chosen h3:text-is('node-121')")
    page.fill("#search", "nobody")
    page.wait_for_selector("#matches li:text-is('No node has such an id.')")
    page.press("#search", "Enter")
    page.press("#search", "Escape")
    assert page.locator("#matches").is_hidden()
    assert page.inner_text(".chosen h3") == "node-121"


def test_classes_filter_the_map(page: Any, target: tuple[int, np.ndarray]) -> None:
    node, place = target
    label = VIEW.columns[0]
    assert label.classes is not None
    mine = label.classes[label.values[node]]
    page.uncheck(f".classes label:has-text('{mine}') input")
    left = int((label.values != label.values[node]).sum())
    assert page.inner_text("#count") == f"{left} of 300 nodes pass the filter"
    page.mouse.move(*place)
    page.mouse.move(*(place + 1))
    assert page.locator("#tip").is_hidden() or page.inner_text("#tip strong") != VIEW.ids[node]
    page.hover(f".classes li:has-text('{mine}')")
    page.click(f".classes button[aria-label='Show only {mine}']")
    assert page.inner_text("#count") == f"{300 - left} of 300 nodes pass the filter"
    assert page.locator(".classes input:checked").count() == 1
    page.select_option("#colour", label="degree")  # the filter stays when the colour changes
    assert page.inner_text("#count") == f"{300 - left} of 300 nodes pass the filter"
    page.click("#all")
    assert page.inner_text("#count") == "300 nodes"


def test_a_range_filters_the_map(page: Any) -> None:
    income = VIEW.columns[3].values
    page.select_option("#colour", label="income")
    low = page.locator("input[type=range]").first
    low.wait_for()
    assert low.get_attribute("aria-valuetext") == page.locator(".sliders output").first.inner_text()
    low.focus()
    for _ in range(10):
        low.press("ArrowRight")
    known = np.sort(income[np.isfinite(income)])
    assert page.inner_text("#count") == f"{int((income >= known[10]).sum())} of 300 nodes pass the filter"
    page.check(".missing input")
    assert (
        page.inner_text("#count") == f"{int((income >= known[10]).sum() + np.isnan(income).sum())} of 300 nodes pass the filter"
    )


def test_a_cluster_and_its_typical_nodes_are_shown_in_the_map(page: Any) -> None:
    cluster = FINDINGS.clusters[2]
    page.click(f"button:text-is('{cluster.name}')")
    page.wait_for_selector(f"#count:text-is('{cluster.size} of 300 nodes pass the filter')")
    assert page.locator("#colour option:checked").inner_text() == "cluster"
    page.click(f"#clusters button:text-is('{cluster.examples[0]}')")
    page.wait_for_selector(f".chosen h3:text-is('{cluster.examples[0]}')")


def test_a_node_at_the_edge_is_selected_where_it_is(page: Any) -> None:
    places = spots(page, VIEW)
    node = int(places[:, 1].argmax()) if np.ptp(places[:, 1]) > np.ptp(places[:, 0]) else int(places[:, 0].argmin())
    page.mouse.click(*places[node])
    page.wait_for_selector(f".chosen h3:text-is('{VIEW.ids[node]}')")
    page.wait_for_timeout(400)
    page.mouse.move(5, 5)
    page.mouse.move(*places[node])
    page.wait_for_selector("#tip:not([hidden])")
    assert page.inner_text("#tip strong") == VIEW.ids[node]
