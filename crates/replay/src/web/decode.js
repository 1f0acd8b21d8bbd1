// The recording: typed arrays, read from the JSON object of the page.

function bytesFromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes.buffer;
}

const UPRIGHT = { z: [1, 0, 0, 0], y: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] };

function decodeRecording(raw) {
  const recording = {
    bodies: raw.bodies,
    geoms: raw.geoms,
    soft: raw.soft.map(decodeSoft),
    fps: raw.fps,
    times: new Float64Array(bytesFromBase64(raw.times)),
    positions: new Float32Array(bytesFromBase64(raw.positions)),
    orientations: new Int16Array(bytesFromBase64(raw.orientations)),
    contacts: new Float32Array(bytesFromBase64(raw.contacts)),
    series: raw.series.map((s) => ({ name: s.name, values: new Float32Array(bytesFromBase64(s.values)) })),
    // The viewer's z is up; recordings with y up are turned once here.
    upright: UPRIGHT[raw.up],
  };
  recording.contactStarts = runningSum(new Uint32Array(bytesFromBase64(raw.contactCounts)));
  requireLength("times", recording.times, raw.frames);
  requireLength("positions", recording.positions, 3 * raw.frames * raw.bodies.length);
  requireLength("orientations", recording.orientations, 4 * raw.frames * raw.bodies.length);
  for (const soft of recording.soft) requireLength(soft.name, soft.vertices, 3 * raw.frames * soft.count);
  requireLength("contacts", recording.contacts, 10 * recording.contactStarts[raw.frames]);
  return recording;
}

function requireLength(name, values, expected) {
  if (values.length !== expected) throw new Error(`${name}: ${values.length} values, expected ${expected}`);
}

function runningSum(counts) {
  const starts = [0];
  for (const count of counts) starts.push(starts[starts.length - 1] + count);
  return starts;
}

function recordedPose(recording, frame, body) {
  const index = frame * recording.bodies.length + body;
  const position = Array.from(recording.positions.subarray(3 * index, 3 * index + 3));
  const q = Array.from(recording.orientations.subarray(4 * index, 4 * index + 4));
  const norm = Math.hypot(...q) || 1;
  return compose(
    { position: [0, 0, 0], orientation: recording.upright },
    { position, orientation: q.map((c) => c / norm) },
  );
}

// Poses of all bodies at a fraction of the way from a frame to the next.
function interpolatedPoses(recording, frame, fraction) {
  return recording.bodies.map((_, body) => {
    const here = recordedPose(recording, frame, body);
    if (fraction <= 0 || frame + 1 >= recording.times.length) return here;
    const next = recordedPose(recording, frame + 1, body);
    return {
      position: mixVector(here.position, next.position, fraction),
      orientation: slerp(here.orientation, next.orientation, fraction),
    };
  });
}

// Everything that moves at a fraction of the way from a frame to the next.
function instantAt(recording, frame, fraction) {
  return {
    poses: interpolatedPoses(recording, frame, fraction),
    soft: recording.soft.map((soft) => softVertices(recording, soft, frame, fraction)),
  };
}

function contactsAt(recording, frame) {
  const list = [];
  for (let k = recording.contactStarts[frame]; k < recording.contactStarts[frame + 1]; k++) {
    const v = (from) => rotate(recording.upright, Array.from(recording.contacts.subarray(10 * k + from, 10 * k + from + 3)));
    list.push({ position: v(0), normal: v(3), force: v(6), distance: recording.contacts[10 * k + 9] });
  }
  return list;
}

// The force drawn at full length: nine of ten recorded forces are smaller, so that one impact does not shrink the rest.
function referenceForce(recording) {
  const sizes = [];
  for (let k = 0; k + 9 < recording.contacts.length; k += 10) {
    const size = Math.hypot(recording.contacts[k + 6], recording.contacts[k + 7], recording.contacts[k + 8]);
    if (size > 0) sizes.push(size);
  }
  sizes.sort((a, b) => a - b);
  return sizes.length ? sizes[Math.floor(0.9 * (sizes.length - 1))] : 0;
}
