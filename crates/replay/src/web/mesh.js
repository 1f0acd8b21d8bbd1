// Triangle meshes: normals are averaged over neighbors that meet at less than the crease angle.

const CREASE_COSINE = Math.cos((40 * Math.PI) / 180);

function meshSurface(vertices, triangles) {
  const corner = (k) => [vertices[3 * k], vertices[3 * k + 1], vertices[3 * k + 2]];
  const faces = [];
  for (let k = 0; k < triangles.length; k += 3) {
    const points = [corner(triangles[k]), corner(triangles[k + 1]), corner(triangles[k + 2])];
    // Twice the area times the normal: large faces weigh more.
    const weighted = cross(subtract(points[1], points[0]), subtract(points[2], points[0]));
    faces.push({ points, weighted, normal: normalize(weighted) });
  }
  const facesAt = facesByPoint(faces);
  const positions = [];
  const normals = [];
  for (const face of faces) {
    for (const point of face.points) {
      positions.push(...point);
      normals.push(...smoothNormal(face, facesAt.get(point.join())));
    }
  }
  return { positions, normals };
}

function facesByPoint(faces) {
  const facesAt = new Map();
  for (const face of faces) {
    for (const point of face.points) {
      const key = point.join();
      if (!facesAt.has(key)) facesAt.set(key, []);
      facesAt.get(key).push(face);
    }
  }
  return facesAt;
}

function smoothNormal(face, neighbors) {
  let sum = [0, 0, 0];
  for (const other of neighbors) {
    if (dot(face.normal, other.normal) > CREASE_COSINE) sum = add(sum, other.weighted);
  }
  return normalize(sum);
}

function surfaceOf(shape) {
  switch (shape.kind) {
    case "ellipsoid": return ellipsoidSurface(shape.radii);
    case "capsule": return capsuleSurface(shape.radius, shape.halfLength);
    case "cylinder": return cylinderSurface(shape.radius, shape.halfLength);
    case "torus": return torusSurface(shape.ring, shape.tube);
    case "box": return boxSurface(shape.half);
    case "mesh":
      return meshSurface(
        new Float32Array(bytesFromBase64(shape.vertices)),
        new Uint32Array(bytesFromBase64(shape.triangles)),
      );
    default: throw new Error(`unknown shape ${shape.kind}`);
  }
}

// Center and radius of a sphere around a surface, in the geom's frame.
function boundsOf(surface) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < surface.positions.length; k++) {
    low[k % 3] = Math.min(low[k % 3], surface.positions[k]);
    high[k % 3] = Math.max(high[k % 3], surface.positions[k]);
  }
  if (!(high[0] >= low[0])) return { center: [0, 0, 0], half: [0, 0, 0], radius: 0 };
  const half = scale(subtract(high, low), 0.5);
  return { center: scale(add(low, high), 0.5), half, radius: length(half) };
}
