// Draws the points by WebGL: positions stay on the graphics card, and moving the camera changes four numbers.

const VERTEX = `#version 300 es
in vec2 place;
in vec4 colour;
uniform vec4 view; // centre, scale of each axis
uniform float size;
uniform float shown; // 1: draws the nodes that pass the filter; 0: the others, as faint dots below them
out vec4 tint;
void main() {
  tint = shown > 0.5 ? vec4(colour.rgb, 0.86) : vec4(0.55, 0.57, 0.6, 0.12);
  bool mine = (colour.a > 0.5) == (shown > 0.5);
  gl_Position = mine ? vec4((place - view.xy) * view.zw, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size;
}`;

const FRAGMENT = `#version 300 es
precision highp float; // as in the vertex shader: both read size
in vec4 tint;
uniform float size;
out vec4 pixel;
void main() {
  float radius = length(gl_PointCoord - 0.5) * size;
  float alpha = tint.a * clamp(0.5 * size - radius + 0.5, 0.0, 1.0); // one soft pixel at the edge
  pixel = vec4(tint.rgb * alpha, alpha);
}`;

// A fixed shuffle of the nodes: drawn in their own order, the last class of a sorted file would cover all others.
const shuffled = (n) => {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let state = 1;
  for (let i = n - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
};

class WebGLPoints {
  // Null where the browser has no WebGL 2.
  static on(canvas, positions) {
    const gl = canvas.getContext("webgl2", { antialias: false });
    return gl && new WebGLPoints(canvas, gl, positions);
  }

  constructor(canvas, gl, positions) {
    Object.assign(this, { canvas, gl, positions, order: shuffled(positions.x.length), colours: null });
    this.prepare();
    // A laptop that wakes up may have lost what was on its graphics card.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      if (this.colours) this.paint(this.colours, this.filtered);
      this.onRestored?.();
    });
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`WebGL: ${gl.getProgramInfoLog(program)}`);
    gl.useProgram(program);
    const n = this.positions.x.length;
    const pairs = new Uint16Array(2 * n);
    for (let i = 0; i < n; i++) {
      const node = this.order[i];
      pairs[2 * i] = this.positions.raw[node];
      pairs[2 * i + 1] = this.positions.raw[n + node];
    }
    const buffer = (name, size, kind) => {
      const made = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, kind, true, 0, 0);
      return made;
    };
    buffer("place", 2, gl.UNSIGNED_SHORT);
    gl.bufferData(gl.ARRAY_BUFFER, pairs, gl.STATIC_DRAW);
    this.colourBuffer = buffer("colour", 4, gl.UNSIGNED_BYTE);
    this.uniforms = Object.fromEntries(["view", "size", "shown"].map((name) => [name, gl.getUniformLocation(program, name)]));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.clearColor(0, 0, 0, 0);
  }

  // Colours: four bytes a node, the last one 255 where the node passes the filter.
  paint(colours, filtered) {
    const { gl, order } = this;
    Object.assign(this, { colours, filtered });
    const drawn = new Uint32Array(order.length);
    const words = new Uint32Array(colours.buffer);
    for (let i = 0; i < order.length; i++) drawn[i] = words[order[i]];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colourBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, drawn, gl.DYNAMIC_DRAW);
  }

  draw(camera, ratio, share) {
    const { gl, uniforms, order } = this;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform4f(uniforms.view, camera.x, camera.y, (2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height);
    gl.uniform1f(uniforms.size, pointSize(camera, order.length) * ratio);
    for (const shown of this.filtered ? [0, 1] : [1]) {
      gl.uniform1f(uniforms.shown, shown);
      gl.drawArrays(gl.POINTS, 0, Math.ceil(share * order.length));
    }
  }
}
