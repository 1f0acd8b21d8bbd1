// Marks over the scene: contacts, forces, body axes, arrows and lines, as a list of { surface, matrix, normalMatrix, color }.

function createMarkSurfaces(gl) {
  return {
    dot: uploadSurface(gl, ellipsoidSurface([1, 1, 1])),
    arrow: uploadSurface(gl, arrowSurface()),
    // A unit long, around its middle.
    bar: uploadSurface(gl, cylinderSurface(1, 0.5)),
  };
}

function mark(surface, position, direction, scales, color) {
  const pose = { position, orientation: rotationFromZ(direction) };
  return {
    surface,
    matrix: matrixFromPose(pose, scales),
    normalMatrix: matrixFromPose(pose, scales.map((s) => 1 / s)),
    color,
  };
}

function contactMarks(surfaces, contacts, size) {
  return contacts.map((contact) => {
    const normal = normalize(contact.normal);
    return mark(surfaces.dot, contact.position, normal, [size, size, 0.35 * size], CONTACT_COLOR);
  });
}

// Arrows in proportion to the force, which `full` says how to draw; past three full lengths they no longer grow.
function forceMarks(surfaces, contacts, full) {
  const marks = [];
  for (const contact of contacts) {
    const force = length(contact.force);
    if (!(force > 1e-3 * full.force)) continue;
    const share = Math.min(force / full.force, 3);
    // Short arrows are thinner, so that they keep their form.
    const width = full.width * Math.min(0.8, 0.25 + 0.55 * share);
    const scales = [width, width, share * full.length];
    marks.push(mark(surfaces.arrow, contact.position, normalize(contact.force), scales, FORCE_COLOR));
  }
  return marks;
}

// Arrows { position, vector, color } as long as their vectors, m.
function arrowMarks(surfaces, arrows, width) {
  return arrows.filter(({ vector }) => length(vector) > 1e-9).map(({ position, vector, color }) => {
    const long = length(vector);
    const thin = width * Math.min(0.8, 0.25 + (0.5 * long) / width);
    return mark(surfaces.arrow, position, normalize(vector), [thin, thin, long], color);
  });
}

// Straight lines { from, to, color } with a dot at each end.
function lineMarks(surfaces, lines, width) {
  return lines.flatMap(({ from, to, color }) => {
    const along = subtract(to, from);
    const knob = (place) => mark(surfaces.dot, place, [0, 0, 1], [3 * width, 3 * width, 3 * width], color);
    const bar = mark(surfaces.bar, scale(add(from, to), 0.5), normalize(along), [width, width, length(along)], color);
    return [knob(from), knob(to), bar];
  });
}

function axisMarks(surfaces, poses, size) {
  const marks = [];
  for (const pose of poses) {
    AXIS_COLORS.forEach((color, axis) => {
      const unit = [0, 0, 0];
      unit[axis] = 1;
      const direction = rotate(pose.orientation, unit);
      marks.push(mark(surfaces.arrow, pose.position, direction, [size * 0.6, size * 0.6, size], color));
    });
  }
  return marks;
}
