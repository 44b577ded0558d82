// The picture: two canvases and the camera. It is drawn at most once a frame, and the points only when they or the camera changed.
// While the map moves, a slow machine draws a part of the points; they are shuffled, so the first ones are a fair sample.

const FEWEST_MOVING = 20000;
const REST = 160; // milliseconds after the last movement, when all points are drawn again

class View {
  constructor(stage, positions) {
    const canvas = byId("points");
    const points = WebGLPoints.on(canvas, positions);
    byId("no-webgl").hidden = points !== null;
    this.camera = new Camera(positions.x, positions.y);
    Object.assign(this, { stage, positions, canvas, points: points ?? new PlainPoints(canvas, positions) });
    Object.assign(this, { overlay: new Overlay(byId("overlay"), positions), ratio: 1, stale: null, rings: null, hovered: -1 });
    Object.assign(this, { moving: false, share: 1, timer: 0 });
    this.points.onRestored = () => this.redraw();
    for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, () => this.redraw("rings"));
    // Browsers print what was drawn in the same task, and nothing older.
    addEventListener("beforeprint", () => this.drawAll());
    this.resize();
    new ResizeObserver(() => this.resize()).observe(stage);
  }

  redraw(what = "points") {
    if (this.stale === null) requestAnimationFrame(() => this.draw());
    this.stale = this.stale === "points" ? "points" : what;
  }

  draw() {
    if (this.stale === "points" && this.points.colours) this.drawPoints();
    const crosshair = document.activeElement === this.canvas && this.canvas.matches(":focus-visible");
    this.overlay.draw(this.camera, this.ratio, { ...this.rings?.(), crosshair, n: this.positions.x.length });
    this.placeRing();
    this.stale = null;
  }

  // Rings one node by an element of its own: only its pixels change, where a canvas would be composed anew as a whole.
  ring(node) {
    this.hovered = node;
    this.placeRing();
  }

  placeRing() {
    const ring = byId("ring");
    ring.hidden = this.hovered < 0;
    if (ring.hidden) return;
    const [left, top] = this.camera.toScreen(this.positions.x[this.hovered], this.positions.y[this.hovered]);
    const radius = pointSize(this.camera, this.positions.x.length) / 2 + 3.5;
    Object.assign(ring.style, { left: `${left - radius}px`, top: `${top - radius}px`, width: `${2 * radius}px`, height: `${2 * radius}px` });
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const ratio = Math.min(devicePixelRatio, 2);
    if (width === this.camera.width && height === this.camera.height && ratio === this.ratio) return;
    this.ratio = ratio;
    for (const each of [this.canvas, this.overlay.canvas]) {
      each.width = Math.round(width * ratio);
      each.height = Math.round(height * ratio);
    }
    this.camera.resize(width, height);
    this.drawAll(); // at once: a canvas that was resized is empty
  }

  drawAll() {
    this.stale = "points";
    this.draw();
  }

  drawPoints() {
    const began = performance.now();
    this.points.draw(this.camera, this.ratio, this.moving ? this.share : 1);
    if (!this.moving) return;
    requestAnimationFrame(() => {
      const took = performance.now() - began;
      const fewest = Math.min(1, FEWEST_MOVING / this.positions.x.length);
      this.share = Math.min(1, Math.max(fewest, this.share * (took > 50 ? 0.6 : took < 25 ? 1.25 : 1)));
    });
  }

  // Draws after a movement that others will follow, as those of a drag do.
  move() {
    this.moving = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.moving = false;
      this.redraw();
    }, REST);
    this.redraw();
  }

  reset() {
    this.camera.reset();
    this.redraw();
  }

  zoom(factor) {
    this.camera.zoomAt(factor, this.camera.width / 2, this.camera.height / 2);
    this.redraw();
  }

  // Fills the picture with some nodes.
  frame(nodes) {
    this.camera.frame(...[this.positions.x, this.positions.y].map((axis) => spanOf(nodes.map((node) => axis[node]))));
    this.redraw();
  }

  // Moves a node that is out of sight to the middle.
  show(node) {
    const { camera } = this;
    const [x, y] = [this.positions.x[node], this.positions.y[node]];
    if (camera.sees(x, y)) return;
    const [fromX, fromY, began] = [camera.x, camera.y, performance.now()];
    const length = calm() ? 0 : 350;
    const step = (now) => {
      const share = length ? Math.min(Math.max((now - began) / length, 0), 1) : 1;
      const eased = 1 - (1 - share) ** 3;
      [camera.x, camera.y] = [fromX + (x - fromX) * eased, fromY + (y - fromY) * eased];
      this.move();
      if (share < 1) requestAnimationFrame(step);
    };
    step(began);
  }
}

// People who asked their system for less motion get none.
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
