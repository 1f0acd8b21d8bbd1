// Pointers and wheel move the camera.

// One pointer turns, or moves with the right button; two move and zoom.
function bindPointers(app) {
  const { canvas, camera } = app;
  const pointers = new Map();
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, gap: Math.hypot(a.x - b.x, a.y - b.y) };
  };
  canvas.addEventListener("pointerdown", (event) => {
    // What is seen may be grabbed instead.
    if (app.grab && app.grab(event)) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  const release = (event) => pointers.delete(event.pointerId);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointermove", (event) => {
    const old = pointers.get(event.pointerId);
    if (!old) return;
    const before = pointers.size === 2 ? spread() : null;
    const [dx, dy] = [event.clientX - old.x, event.clientY - old.y];
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (before) {
      const after = spread();
      pan(camera, after.x - before.x, after.y - before.y, canvas.clientHeight);
      if (after.gap > 0) zoom(camera, before.gap / after.gap);
    } else if (event.buttons & 6 || event.shiftKey) {
      pan(camera, dx, dy, canvas.clientHeight);
    } else {
      orbit(camera, dx, dy);
    }
    app.refresh();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    zoom(camera, Math.exp(clamp(event.deltaY * lines, -300, 300) * 0.0012));
    app.refresh();
  }, { passive: false });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", () => { frameAll(app); app.refresh(); });
}
