// Shapes that deform: vertices in the world per frame, normals made anew for each picture.

function decodeSoft(raw) {
  return {
    name: raw.name,
    rgba: raw.rgba,
    count: raw.count,
    low: raw.low,
    size: raw.size,
    dotRadius: raw.dotRadius,
    triangles: new Uint32Array(bytesFromBase64(raw.triangles)),
    lines: new Uint32Array(bytesFromBase64(raw.lines)),
    dots: new Uint32Array(bytesFromBase64(raw.dots)),
    vertices: new Uint16Array(bytesFromBase64(raw.vertices)),
  };
}

// Vertices at a fraction of the way from a frame to the next, upright.
function softVertices(recording, soft, frame, fraction) {
  const { count, vertices } = soft;
  const here = 3 * count * frame;
  const next = fraction > 0 && frame + 1 < recording.times.length ? here + 3 * count : here;
  const turned = recording.upright[0] !== 1;
  const out = new Float32Array(3 * count);
  for (let k = 0; k < 3 * count; k++) {
    const mixed = vertices[here + k] + fraction * (vertices[next + k] - vertices[here + k]);
    out[k] = soft.low[k % 3] + (soft.size[k % 3] * mixed) / 65535;
  }
  for (let k = 0; turned && k < 3 * count; k += 3) out.set(rotate(recording.upright, Array.from(out.subarray(k, k + 3))), k);
  return out;
}

// For each corner of each triangle the triangles whose normals it averages: those around its vertex that met it at less
// than the crease angle in the first frame.
function smoothingGroups(triangles, vertices, count) {
  const normals = faceNormals(triangles, vertices);
  const around = Array.from({ length: count }, () => []);
  triangles.forEach((vertex, corner) => around[vertex].push(Math.floor(corner / 3)));
  const unit = (face) => normalize(Array.from(normals.subarray(3 * face, 3 * face + 3)));
  const units = Array.from({ length: triangles.length / 3 }, (_, face) => unit(face));
  return Array.from(triangles, (vertex, corner) => {
    const own = units[Math.floor(corner / 3)];
    return around[vertex].filter((face) => dot(units[face], own) > CREASE_COSINE);
  });
}

// Twice the area times the normal of each triangle.
function faceNormals(triangles, p) {
  const normals = new Float32Array(triangles.length);
  for (let k = 0; k < triangles.length; k += 3) {
    const [a, b, c] = [3 * triangles[k], 3 * triangles[k + 1], 3 * triangles[k + 2]];
    const [ux, uy, uz] = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
    const [vx, vy, vz] = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
    normals[k] = uy * vz - uz * vy;
    normals[k + 1] = uz * vx - ux * vz;
    normals[k + 2] = ux * vy - uy * vx;
  }
  return normals;
}

// Buffers that are filled anew for each picture.
function createSoft(gl, soft, firstVertices) {
  const corners = soft.triangles.length;
  return {
    soft,
    groups: smoothingGroups(soft.triangles, firstVertices, soft.count),
    corners: { positions: new Float32Array(3 * corners), normals: new Float32Array(3 * corners) },
    ends: new Float32Array(3 * soft.lines.length),
    middles: new Float32Array(3 * soft.dots.length),
    surface: { positions: gl.createBuffer(), normals: gl.createBuffer(), count: corners, surface: null, lines: null },
    lines: { positions: gl.createBuffer(), count: soft.lines.length },
    dots: { positions: gl.createBuffer(), count: soft.dots.length },
  };
}

function fillBuffer(gl, buffer, values) {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
}

// Puts the vertices of an instant into the buffers.
function updateSoft(gl, item, vertices) {
  const { soft, groups, corners, ends, middles } = item;
  const { triangles, lines, dots } = soft;
  const faces = faceNormals(triangles, vertices);
  const copy = (to, at, vertex) => {
    for (let k = 0; k < 3; k++) to[at + k] = vertices[3 * vertex + k];
  };
  for (let corner = 0; corner < triangles.length; corner++) {
    copy(corners.positions, 3 * corner, triangles[corner]);
    let [x, y, z] = [0, 0, 0];
    for (const face of groups[corner]) {
      x += faces[3 * face];
      y += faces[3 * face + 1];
      z += faces[3 * face + 2];
    }
    corners.normals.set([x, y, z], 3 * corner);
  }
  lines.forEach((vertex, n) => copy(ends, 3 * n, vertex));
  for (let n = 0; n < dots.length; n++) copy(middles, 3 * n, dots[n]);
  fillBuffer(gl, item.surface.positions, corners.positions);
  fillBuffer(gl, item.surface.normals, corners.normals);
  fillBuffer(gl, item.lines.positions, ends);
  fillBuffer(gl, item.dots.positions, middles);
  // Its wireframe is out of date.
  if (item.surface.lines) gl.deleteBuffer(item.surface.lines.positions);
  item.surface.surface = { positions: corners.positions };
  item.surface.lines = null;
}
