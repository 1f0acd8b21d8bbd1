// Bodies under the pointer, and pulling them.

// The ray through a pointer { from, along }.
function pointerRay(app, event) {
  const box = app.canvas.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * 2 - 1;
  const y = 1 - ((event.clientY - box.top) / box.height) * 2;
  const { forward, right, above } = cameraAxes(app.camera.now);
  const t = Math.tan(FIELD_OF_VIEW / 2);
  const aside = scale(right, (x * t * box.width) / box.height);
  const up = scale(above, (y - app.camera.lift) * t);
  return { from: eyeOf(app.camera.now), along: normalize(add(forward, add(aside, up))), forward };
}

const inverse = ([w, x, y, z]) => [w, -x, -y, -z];

// How far along a ray a triangle is hit, Infinity if not (Möller and Trumbore).
function hitTriangle(from, along, p, k) {
  const a = [p[k], p[k + 1], p[k + 2]];
  const e1 = subtract([p[k + 3], p[k + 4], p[k + 5]], a);
  const e2 = subtract([p[k + 6], p[k + 7], p[k + 8]], a);
  const h = cross(along, e2);
  const det = dot(e1, h);
  if (Math.abs(det) < 1e-14) return Infinity;
  const s = subtract(from, a);
  const u = dot(s, h) / det;
  const q = cross(s, e1);
  const v = dot(along, q) / det;
  const far = dot(e2, q) / det;
  return u >= 0 && v >= 0 && u + v <= 1 && far > 0 ? far : Infinity;
}

// The nearest solid that a ray hits { body, place }, null if there is none.
function hitSolid(app, { from, along }) {
  let nearest = { far: Infinity, body: -1 };
  for (const geom of app.renderer.solids) {
    const pose = geomPose(geom, app.now.poses);
    const back = inverse(pose.orientation);
    const [start, way] = [rotate(back, subtract(from, pose.position)), rotate(back, along)];
    const toCenter = subtract(geom.bounds.center, start);
    const beside = length(cross(toCenter, way));
    if (beside > geom.bounds.radius) continue;
    const p = geom.surface.surface.positions;
    for (let k = 0; k < p.length; k += 9) {
      const far = hitTriangle(start, way, p, k);
      if (far < nearest.far) nearest = { far, body: geom.body };
    }
  }
  return nearest.body < 0 ? null : { body: nearest.body, place: add(from, scale(along, nearest.far)) };
}

// A body that can be pulled under a pointer.
function pick(app, event) {
  const ray = pointerRay(app, event);
  const hit = hitSolid(app, ray);
  return hit && app.description.pulled[hit.body] ? { ...hit, ray } : null;
}

// A drag that begins on a body pulls it; elsewhere it turns the camera.
function bindGrabbing(app) {
  const { canvas } = app;
  let held = null;
  const sendLatest = createSender();
  const pull = (event) => {
    const { from, along, forward } = pointerRay(app, event);
    const target = add(from, scale(along, held.depth / dot(along, forward)));
    sendLatest({ do: "drag", body: app.recording.bodies[held.body], point: held.point, target });
  };
  app.grab = (event) => {
    if (event.button !== 0 || event.shiftKey || held) return false;
    const hit = pick(app, event);
    if (!hit) return false;
    const pose = app.now.poses[hit.body];
    const point = rotate(inverse(pose.orientation), subtract(hit.place, pose.position));
    const depth = dot(subtract(hit.place, hit.ray.from), hit.ray.forward);
    held = { pointer: event.pointerId, body: hit.body, point, depth };
    canvas.setPointerCapture(event.pointerId);
    report.grabbing = "true";
    report.grabbed = app.recording.bodies[hit.body];
    pull(event);
    return true;
  };
  canvas.addEventListener("pointermove", (event) => {
    if (held && event.pointerId === held.pointer) pull(event);
    else if (!held && event.buttons === 0) report.over = String(pick(app, event) !== null);
  });
  const release = (event) => {
    if (!held || event.pointerId !== held.pointer) return;
    held = null;
    report.grabbing = "false";
    sendLatest({ do: "release" });
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
}
