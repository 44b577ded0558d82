// Mouse, fingers and keys on the map.

const CLICK_RADIUS = 14; // pixels around the pointer in which a node counts as meant; a finger is wider
const TOUCH_RADIUS = 24;

const listenToMap = (canvas, camera, { moved, hover, select, reset, clear }) => {
  const fingers = new Map();
  let travelled = 0;
  let pinched = false;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { left: event.clientX - box.left, top: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (fingers.size === 0) [travelled, pinched] = [0, false];
    fingers.set(event.pointerId, at(event));
    if (fingers.size > 1) pinched = true;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return hover(now.left, now.top, CLICK_RADIUS);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    if (others.length) {
      const apart = (place) => Math.hypot(place.left - others[0].left, place.top - others[0].top);
      camera.zoomAt(apart(now) / Math.max(apart(before), 1), (now.left + others[0].left) / 2, (now.top + others[0].top) / 2);
    }
    const share = 1 / fingers.size; // two fingers that move together pan once
    camera.pan((now.left - before.left) * share, (now.top - before.top) * share);
    travelled += Math.hypot(now.left - before.left, now.top - before.top);
    fingers.set(event.pointerId, now);
    return moved();
  });
  const lifted = (event) => {
    const known = fingers.delete(event.pointerId);
    if (known && event.type === "pointerup" && travelled < 5 && !pinched) {
      const { left, top } = at(event);
      const radius = event.pointerType === "touch" ? TOUCH_RADIUS : CLICK_RADIUS;
      select(left, top, radius);
      if (event.pointerType === "touch") hover(left, top, radius); // on a phone the panel may be out of sight
    }
  };
  canvas.addEventListener("pointerup", lifted);
  canvas.addEventListener("pointercancel", lifted);
  canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hover(-1e6, -1e6, 0));
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { left, top } = at(event);
      const lines = event.deltaMode === 1 ? 16 : 1; // Firefox counts lines
      camera.zoomAt(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), left, top);
      moved();
    },
    { passive: false },
  );
  const middle = () => [camera.width / 2, camera.height / 2];
  const keys = {
    ArrowLeft: () => camera.pan(60, 0),
    ArrowRight: () => camera.pan(-60, 0),
    ArrowUp: () => camera.pan(0, 60),
    ArrowDown: () => camera.pan(0, -60),
    "+": () => camera.zoomAt(1.4, ...middle()),
    "=": () => camera.zoomAt(1.4, ...middle()),
    "-": () => camera.zoomAt(1 / 1.4, ...middle()),
    0: reset,
    Enter: () => select(...middle(), Infinity),
    Escape: clear,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
    moved();
  });
};
