// Shapes as triangle lists: { positions, normals }, nine numbers of each per triangle.

// A grid of (rows + 1) x (columns + 1) points; at(u, v) returns { p, n } for u, v from 0 to 1.
function gridSurface(rows, columns, at) {
  const points = [];
  for (let i = 0; i <= rows; i++) {
    for (let j = 0; j <= columns; j++) points.push(at(i / rows, j / columns));
  }
  const positions = [];
  const normals = [];
  const corner = (i, j) => {
    const point = points[i * (columns + 1) + j];
    positions.push(...point.p);
    normals.push(...point.n);
  };
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      corner(i, j); corner(i + 1, j); corner(i + 1, j + 1);
      corner(i, j); corner(i + 1, j + 1); corner(i, j + 1);
    }
  }
  return { positions, normals };
}

function joinSurfaces(...parts) {
  return {
    positions: parts.flatMap((part) => part.positions),
    normals: parts.flatMap((part) => part.normals),
  };
}

function ellipsoidSurface(radii) {
  return gridSurface(28, 48, (u, v) => {
    const [polar, around] = [Math.PI * u, 2 * Math.PI * v];
    const d = [Math.sin(polar) * Math.cos(around), Math.sin(polar) * Math.sin(around), Math.cos(polar)];
    const n = normalize(d.map((c, k) => c / Math.max(radii[k], 1e-9)));
    return { p: d.map((c, k) => c * radii[k]), n };
  });
}

// A surface of revolution about z; profile is a list of { r, z, nr, nz } from the top down.
function revolvedSurface(profile, columns) {
  return gridSurface(profile.length - 1, columns, (u, v) => {
    const { r, z, nr, nz } = profile[Math.round(u * (profile.length - 1))];
    const [c, s] = [Math.cos(2 * Math.PI * v), Math.sin(2 * Math.PI * v)];
    return { p: [r * c, r * s, z], n: [nr * c, nr * s, nz] };
  });
}

function capsuleSurface(radius, halfLength) {
  const profile = [];
  for (let k = 0; k <= 28; k++) {
    const angle = (Math.PI * k) / 28;
    const [s, c] = [Math.sin(angle), Math.cos(angle)];
    profile.push({ r: radius * s, z: radius * c + (k <= 14 ? halfLength : -halfLength), nr: s, nz: c });
    // The equator twice: once above and once below the straight part.
    if (k === 14) profile.push({ r: radius, z: -halfLength, nr: 1, nz: 0 });
  }
  return revolvedSurface(profile, 40);
}

function torusSurface(ring, tube) {
  const profile = [];
  for (let k = 0; k <= 28; k++) {
    const angle = (2 * Math.PI * k) / 28;
    const [s, c] = [Math.sin(angle), Math.cos(angle)];
    profile.push({ r: ring + tube * s, z: tube * c, nr: s, nz: c });
  }
  return revolvedSurface(profile, 56);
}

// A straight profile with its own normals per piece, so that edges stay sharp.
function turnedSurface(corners, columns) {
  const parts = [];
  for (let k = 0; k + 1 < corners.length; k++) {
    const [[r0, z0], [r1, z1]] = [corners[k], corners[k + 1]];
    const l = Math.hypot(r1 - r0, z1 - z0) || 1;
    const [nr, nz] = [(z0 - z1) / l, (r1 - r0) / l];
    parts.push(revolvedSurface([{ r: r0, z: z0, nr, nz }, { r: r1, z: z1, nr, nz }], columns));
  }
  return joinSurfaces(...parts);
}

function cylinderSurface(radius, halfLength) {
  const bevel = 0.06 * Math.min(radius, halfLength);
  const profile = [[0, halfLength], [radius - bevel, halfLength], [radius, halfLength - bevel],
    [radius, bevel - halfLength], [radius - bevel, -halfLength], [0, -halfLength]];
  return turnedSurface(profile, 56);
}

// Points of an edge: the rounded ends in steps of 15 degrees, the flat part in one.
function roundedSteps(half, radius) {
  const upper = [0, 1, 2, 3].map((k) => half - radius + radius * Math.tan((Math.PI / 12) * k));
  return [...upper.map((x) => -x).reverse(), ...upper];
}

// A box of exact outer size whose edges are rounded a little, so that they catch the light.
function boxSurface(half) {
  const radius = Math.max(0.07 * Math.min(...half), 1e-7);
  const parts = [];
  for (let axis = 0; axis < 3; axis++) {
    const [s, t] = [(axis + 1) % 3, (axis + 2) % 3];
    const [stepsS, stepsT] = [roundedSteps(half[s], radius), roundedSteps(half[t], radius)];
    for (const sign of [1, -1]) {
      parts.push(gridSurface(stepsS.length - 1, stepsT.length - 1, (u, v) => {
        const p = [0, 0, 0];
        p[axis] = sign * half[axis];
        p[s] = sign * stepsS[Math.round(u * (stepsS.length - 1))];
        p[t] = stepsT[Math.round(v * (stepsT.length - 1))];
        const inner = p.map((c, k) => clamp(c, radius - half[k], half[k] - radius));
        const n = normalize(subtract(p, inner));
        return { p: add(inner, scale(n, radius)), n };
      }));
    }
  }
  return joinSurfaces(...parts);
}

// From z = 0 to z = 1: a shaft and a head. Scaled along z it stays an arrow.
function arrowSurface() {
  return turnedSurface([[0, 1], [0.075, 0.78], [0.03, 0.78], [0.03, 0], [0, 0]], 20);
}
