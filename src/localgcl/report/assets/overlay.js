// Draws what belongs to the selected node, above the points: rings and lines.

const MOST_LINES = 3000;

class Overlay {
  constructor(canvas, positions) {
    // Drawn by the processor: a graphics card, above all one that is simulated, takes longer to start on a few rings.
    const context = canvas.getContext("2d", { willReadFrequently: true });
    Object.assign(this, { canvas, positions, context });
  }

  ring(camera, node, radius, width, colour) {
    const { context, positions } = this;
    const [left, top] = camera.toScreen(positions.x[node], positions.y[node]);
    context.beginPath();
    context.arc(left, top, radius, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  // selection: { node, nearest: [{ node }], neighbours: [node] }, or null.
  draw(camera, ratio, { selection, crosshair, n }) {
    const { context, positions } = this;
    const style = getComputedStyle(this.canvas);
    const [ink, accent, paper] = ["--ink", "--accent", "--stage"].map((name) => style.getPropertyValue(name));
    const radius = pointSize(camera, n) / 2;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (selection) {
      const [left, top] = camera.toScreen(positions.x[selection.node], positions.y[selection.node]);
      context.beginPath();
      for (const other of selection.neighbours.slice(0, MOST_LINES)) {
        context.moveTo(left, top);
        context.lineTo(...camera.toScreen(positions.x[other], positions.y[other]));
      }
      context.lineWidth = selection.neighbours.length > 100 ? 0.6 : 1.3;
      context.strokeStyle = accent;
      context.stroke();
      for (const { node } of selection.nearest) this.ring(camera, node, radius + 2.5, 1.2, ink);
      this.ring(camera, selection.node, radius + 5, 5, paper);
      this.ring(camera, selection.node, radius + 5, 2.5, accent);
    }
    if (crosshair) {
      const [x, y] = [camera.width / 2, camera.height / 2];
      context.beginPath();
      for (const [right, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 5 * right, y + 5 * down);
        context.lineTo(x + 13 * right, y + 13 * down);
      }
      context.lineWidth = 1.5;
      context.strokeStyle = ink;
      context.stroke();
    }
  }
}
