// Draws the points where there is no WebGL: the same picture on a plain canvas, of at most 20,000 of the points in view.

const PLAIN_POINTS = 20000;

class PlainPoints {
  constructor(canvas, positions) {
    Object.assign(this, { canvas, positions, context: canvas.getContext("2d"), order: shuffled(positions.x.length) });
  }

  paint(colours, filtered) {
    Object.assign(this, { colours, filtered });
  }

  draw(camera, ratio, share) {
    const { context, colours, positions, order } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    const size = pointSize(camera, Math.min(order.length, PLAIN_POINTS));
    const faint = []; // drawn first, below the nodes that pass the filter
    const bright = [];
    for (const node of order) {
      if (faint.length + bright.length >= share * PLAIN_POINTS) break;
      if (camera.sees(positions.x[node], positions.y[node], -0.02)) (colours[4 * node + 3] ? bright : faint).push(node);
    }
    const dot = (node) => {
      const [left, top] = camera.toScreen(positions.x[node], positions.y[node]);
      context.beginPath();
      context.arc(left, top, size / 2, 0, 2 * Math.PI);
      context.fill();
    };
    context.fillStyle = "rgb(140 145 153 / 12%)";
    faint.forEach(dot);
    for (const node of bright) {
      context.fillStyle = `rgb(${colours[4 * node]} ${colours[4 * node + 1]} ${colours[4 * node + 2]} / 86%)`;
      dot(node);
    }
  }
}
