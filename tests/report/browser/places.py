"""Where a node is on the screen, computed here as the camera does in the browser."""

import io
from typing import Any

import numpy as np
from PIL import Image

from localgcl.report.findings import Map


def spots(page: Any, view: Map) -> np.ndarray:
    """Pixels of each node in the window, before anybody moved the map."""
    box = page.locator("#stage").bounding_box()
    low, high = view.xy.min(axis=0), view.xy.max(axis=0)
    scale = 0.92 * min(box["width"] / (high[0] - low[0]), box["height"] / (high[1] - low[1]))
    left = box["x"] + box["width"] / 2 + (view.xy[:, 0] - (low[0] + high[0]) / 2) * scale
    top = box["y"] + box["height"] / 2 - (view.xy[:, 1] - (low[1] + high[1]) / 2) * scale
    places: np.ndarray = np.stack([left, top], axis=1).astype(np.float64)
    return places


def loneliest(places: np.ndarray, within: dict[str, float]) -> int:
    """The node farthest from any other, away from the edges of the map, where buttons lie."""
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    inside = (places[:, 0] > within["x"] + 90) & (places[:, 0] < within["x"] + within["width"] - 90)
    inside &= (places[:, 1] > within["y"] + 90) & (places[:, 1] < within["y"] + within["height"] - 90)
    return int(np.where(inside, apart.min(axis=1), 0).argmax())


def pixel(page: Any, place: np.ndarray) -> np.ndarray:
    """The colour on the screen."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return np.array(picture.getpixel((round(float(place[0])), round(float(place[1])))))
