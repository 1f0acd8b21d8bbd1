// How large a motion is, and what of it the camera shows.

// At most 120 frames, evenly spaced.
function sampledFrames(recording) {
  const count = recording.times.length;
  const stride = Math.max(1, Math.floor(count / 120));
  return recording.times.map((_, frame) => frame).filter((frame) => frame % stride === 0);
}

// Bounds of the motion of some solids, and the middle size of a single frame.
function motionBounds(recording, solids) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  const radii = [];
  for (const frame of sampledFrames(recording)) {
    const bounds = solidBounds(solids, instantAt(recording, frame, 0));
    radii.push(bounds.radius);
    for (let k = 0; k < 3; k++) {
      low[k] = Math.min(low[k], bounds.low[k]);
      high[k] = Math.max(high[k], bounds.high[k]);
    }
  }
  radii.sort((a, b) => a - b);
  const radius = 0.5 * length(subtract(high, low));
  return { low, high, radius, frameRadius: radii[radii.length >> 1] };
}

// Solids that the camera shows: those that move, and those that stand where they move; all if none moves.
function framedSolids(renderer, recording) {
  const pose = (frame, body) => JSON.stringify(recordedPose(recording, frame, body));
  const frames = sampledFrames(recording);
  const moves = recording.bodies.map((_, body) => frames.some((frame) => pose(frame, body) !== pose(0, body)));
  const movers = renderer.solids.filter((geom) => moves[geom.body]);
  if (!movers.length) return renderer.solids;
  const box = motionBounds(recording, movers);
  const first = { ...instantAt(recording, 0, 0), soft: [] };
  const reaches = (geom) => {
    const own = solidBounds([geom], first);
    return [0, 1, 2].every((k) => own.low[k] <= box.high[k] && own.high[k] >= box.low[k]);
  };
  return renderer.solids.filter((geom) => moves[geom.body] || reaches(geom));
}

// 1, 2 or 5 times a power of ten, not above x.
function roundNumber(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * (x / power >= 5 ? 5 : x / power >= 2 ? 2 : 1);
}

// The floor of the marks and of shading: the first level plane, else below everything.
function groundHeightOf(renderer, recording) {
  if (!renderer.planes.length) return Math.min(0, motionBounds(recording, renderer.solids).low[2]);
  return geomPose(renderer.planes[0], interpolatedPoses(recording, 0, 0)).position[2];
}
