// Vectors are arrays of 3, quaternions arrays of 4 (wxyz), matrices column-major arrays of 16.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const length = (a) => Math.hypot(a[0], a[1], a[2]);
const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const mix = (a, b, t) => a + (b - a) * t;
const mixVector = (a, b, t) => [mix(a[0], b[0], t), mix(a[1], b[1], t), mix(a[2], b[2], t)];
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

function normalize(a) {
  const l = length(a);
  return l > 0 ? scale(a, 1 / l) : [0, 0, 1];
}

function quaternionProduct(a, b) {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

// v + 2 u × (u × v + w v) for q = (w, u)
function rotate(q, v) {
  const u = [q[1], q[2], q[3]];
  return add(v, scale(cross(u, add(cross(u, v), scale(v, q[0]))), 2));
}

// The rotation that takes +z to a unit vector.
function rotationFromZ(direction) {
  if (direction[2] < -0.999999) return [0, 1, 0, 0];
  const q = [1 + direction[2], -direction[1], direction[0], 0];
  const n = Math.hypot(q[0], q[1], q[2]);
  return [q[0] / n, q[1] / n, q[2] / n, 0];
}

function slerp(a, b, t) {
  let cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  // Of the two ways round, the short one.
  const sign = cosine < 0 ? -1 : 1;
  cosine *= sign;
  let wa = 1 - t;
  let wb = t;
  if (cosine < 0.9995) {
    const angle = Math.acos(cosine);
    wa = Math.sin((1 - t) * angle) / Math.sin(angle);
    wb = Math.sin(t * angle) / Math.sin(angle);
  }
  const q = [0, 1, 2, 3].map((k) => wa * a[k] + sign * wb * b[k]);
  const n = Math.hypot(q[0], q[1], q[2], q[3]) || 1;
  return q.map((c) => c / n);
}

// Poses are { position, orientation }.
function compose(outer, inner) {
  return {
    position: add(outer.position, rotate(outer.orientation, inner.position)),
    orientation: quaternionProduct(outer.orientation, inner.orientation),
  };
}

// Scales along the axes of the pose, then rotates and translates.
function matrixFromPose(pose, scales = [1, 1, 1]) {
  const [w, x, y, z] = pose.orientation;
  const [a, b, c] = scales;
  const p = pose.position;
  return [
    a * (1 - 2 * (y * y + z * z)), a * 2 * (x * y + w * z), a * 2 * (x * z - w * y), 0,
    b * 2 * (x * y - w * z), b * (1 - 2 * (x * x + z * z)), b * 2 * (y * z + w * x), 0,
    c * 2 * (x * z + w * y), c * 2 * (y * z - w * x), c * (1 - 2 * (x * x + y * y)), 0,
    p[0], p[1], p[2], 1,
  ];
}

function matrixProduct(a, b) {
  const out = new Array(16);
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + row] * b[4 * column + k];
      out[4 * column + row] = sum;
    }
  }
  return out;
}

function lookAt(eye, target, up) {
  const back = normalize(subtract(eye, target));
  const right = normalize(cross(up, back));
  const above = cross(back, right);
  return [
    right[0], above[0], back[0], 0,
    right[1], above[1], back[1], 0,
    right[2], above[2], back[2], 0,
    -dot(right, eye), -dot(above, eye), -dot(back, eye), 1,
  ];
}

function perspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2);
  const depth = near - far;
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / depth, -1, 0, 0, (2 * far * near) / depth, 0];
}

// A cube of half width `radius` before the eye, from depth 0 to `depth`.
function orthographic(radius, depth) {
  return [1 / radius, 0, 0, 0, 0, 1 / radius, 0, 0, 0, 0, -2 / depth, 0, 0, 0, -1, 1];
}
