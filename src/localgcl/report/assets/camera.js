// Which part of the plane is seen. Points lie in the unit square, y upwards; the screen is in CSS pixels, y downwards.

const spanOf = (values) => {
  let [low, high] = [1, 0];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { middle: (low + high) / 2, length: Math.max(high - low, 1e-3) };
};

class Camera {
  constructor(x, y) {
    this.spans = [spanOf(x), spanOf(y)];
    this.width = this.height = 1;
    this.reset();
  }

  fitted() {
    return 0.92 * Math.min(this.width / this.spans[0].length, this.height / this.spans[1].length);
  }

  reset() {
    this.x = this.spans[0].middle;
    this.y = this.spans[1].middle;
    this.scale = this.fitted();
  }

  // Keeps the magnification and the centre when the window changes.
  resize(width, height) {
    const zoom = this.zoom();
    this.width = width;
    this.height = height;
    this.scale = this.fitted() * zoom;
  }

  zoom() {
    return this.scale / this.fitted();
  }

  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, (this.y - y) * this.scale + this.height / 2];
  }

  toMap(left, top) {
    return [(left - this.width / 2) / this.scale + this.x, this.y - (top - this.height / 2) / this.scale];
  }

  pan(right, down) {
    this.x = Math.min(Math.max(this.x - right / this.scale, 0), 1);
    this.y = Math.min(Math.max(this.y + down / this.scale, 0), 1);
  }

  // Zooms so that the point of the plane under (left, top) stays there. Beyond 400-fold, 16-bit positions would show.
  zoomAt(factor, left, top) {
    const [x, y] = this.toMap(left, top);
    const zoom = Math.min(Math.max(this.zoom() * factor, 0.5), 400);
    this.scale = this.fitted() * zoom;
    const [movedLeft, movedTop] = this.toScreen(x, y);
    this.pan(left - movedLeft, top - movedTop);
  }

  // Shows a part of the plane: given spans of x and y, with room around them.
  frame(x, y) {
    [this.x, this.y] = [x.middle, y.middle];
    const zoom = (0.6 * Math.min(this.width / x.length, this.height / y.length)) / this.fitted();
    this.scale = this.fitted() * Math.min(Math.max(zoom, 1), 400);
  }

  // The margin is half of what `fitted` leaves: a node of the whole map is in sight.
  sees(x, y, margin = 0.02) {
    const [left, top] = this.toScreen(x, y);
    const [right, down] = [this.width * margin, this.height * margin];
    return left > right && left < this.width - right && top > down && top < this.height - down;
  }
}

// Diameter of a point in CSS pixels: points of a small graph are large enough to click, those of a large one do not hide each other.
const pointSize = (camera, n) => {
  const room = Math.sqrt((camera.width * camera.height) / Math.max(n, 1));
  return Math.min(Math.min(Math.max(0.32 * room, 1.7), 7) * Math.sqrt(Math.max(camera.zoom(), 1)), 16);
};
