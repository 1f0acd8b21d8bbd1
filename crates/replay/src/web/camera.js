// An orbiting camera: a target, two angles and a distance, each easing towards its goal.

const FIELD_OF_VIEW = (34 * Math.PI) / 180;

function createCamera() {
  const goal = { target: [0, 0, 0.5], azimuth: -0.95, elevation: 0.24, distance: 5 };
  return { goal, now: { ...goal }, lift: 0, free: 1 };
}

function eyeOf(view) {
  const c = Math.cos(view.elevation);
  const direction = [c * Math.cos(view.azimuth), c * Math.sin(view.azimuth), Math.sin(view.elevation)];
  return add(view.target, scale(direction, view.distance));
}

// Moves towards the goal; returns whether anything moved.
function easeCamera(camera, seconds) {
  const t = 1 - Math.exp(-seconds * 18);
  const { goal, now } = camera;
  const gap = Math.abs(goal.azimuth - now.azimuth) + Math.abs(goal.elevation - now.elevation) +
    Math.abs(Math.log(goal.distance / now.distance)) + length(subtract(goal.target, now.target)) / now.distance;
  if (gap === 0) return false;
  if (gap < 1e-4) { camera.now = { ...goal }; return true; }
  now.azimuth = mix(now.azimuth, goal.azimuth, t);
  now.elevation = mix(now.elevation, goal.elevation, t);
  now.distance = Math.exp(mix(Math.log(now.distance), Math.log(goal.distance), t));
  now.target = mixVector(now.target, goal.target, t);
  return true;
}

function settleCamera(camera) {
  camera.now = { ...camera.goal };
}

function orbit(camera, dx, dy) {
  camera.goal.azimuth -= dx * 0.006;
  camera.goal.elevation = clamp(camera.goal.elevation + dy * 0.006, -1.5, 1.55);
}

// Moves the target so that it stays under the pointer.
function pan(camera, dx, dy, height) {
  const step = (2 * camera.goal.distance * Math.tan(FIELD_OF_VIEW / 2)) / height;
  const { right, above } = cameraAxes(camera.goal);
  camera.goal.target = add(camera.goal.target, add(scale(right, -dx * step), scale(above, dy * step)));
}

function zoom(camera, factor) {
  camera.goal.distance = clamp(camera.goal.distance * factor, 1e-3, 1e5);
}

// A followed body carries the camera along.
function carry(camera, offset) {
  camera.goal.target = add(camera.goal.target, offset);
  camera.now.target = add(camera.now.target, offset);
}

function cameraAxes(view) {
  const forward = normalize(subtract(view.target, eyeOf(view)));
  const right = normalize(cross(forward, [0, 0, 1]));
  return { forward, right, above: cross(right, forward) };
}

// Puts a box in the middle of the free part of the window, as near as its corners allow.
function frameBox(camera, low, high, aspect) {
  const { goal } = camera;
  goal.target = scale(add(low, high), 0.5);
  const { forward, right, above } = cameraAxes(goal);
  const tall = Math.tan(FIELD_OF_VIEW / 2) * camera.free * 0.96;
  const wide = Math.tan(FIELD_OF_VIEW / 2) * aspect * 0.96;
  let distance = 1e-3;
  for (let corner = 0; corner < 8; corner++) {
    const point = [0, 1, 2].map((k) => ((corner >> k) & 1 ? high[k] : low[k]) - goal.target[k]);
    const reach = Math.max(Math.abs(dot(point, right)) / wide, Math.abs(dot(point, above)) / tall);
    distance = Math.max(distance, reach - dot(point, forward));
  }
  // The corners of the box are rarely filled.
  goal.distance = 0.87 * distance;
}

function clipFromWorld(camera, aspect, far) {
  const view = camera.now;
  const projection = perspective(FIELD_OF_VIEW, aspect, view.distance * 0.02, far);
  // The controls cover the lower edge: the picture moves up.
  projection[9] = -camera.lift;
  return matrixProduct(projection, lookAt(eyeOf(view), view.target, [0, 0, 1]));
}
