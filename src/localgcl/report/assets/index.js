// Finds the node under the pointer: nodes sorted by the cell of a grid, so that a look at a few cells is enough.

class GridIndex {
  constructor(x, y) {
    const n = x.length;
    Object.assign(this, { x, y, side: Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 2)))) });
    this.start = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      cells[i] = this.cell(x[i]) + this.side * this.cell(y[i]);
      this.start[cells[i] + 1]++;
    }
    for (let i = 1; i < this.start.length; i++) this.start[i] += this.start[i - 1];
    const next = this.start.slice();
    this.nodes = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.nodes[next[cells[i]]++] = i;
  }

  cell(value) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(value * this.side)));
  }

  // The nearest node within `radius` that `accepts` takes, or -1.
  nearest(x, y, radius, accepts) {
    let best = -1;
    let least = radius * radius;
    const [left, right] = [this.cell(x - radius), this.cell(x + radius)];
    for (let row = this.cell(y - radius); row <= this.cell(y + radius); row++) {
      const end = this.start[row * this.side + right + 1];
      for (let i = this.start[row * this.side + left]; i < end; i++) {
        const node = this.nodes[i];
        const distance = (this.x[node] - x) ** 2 + (this.y[node] - y) ** 2;
        if (distance <= least && accepts(node)) {
          least = distance;
          best = node;
        }
      }
    }
    return best;
  }
}
