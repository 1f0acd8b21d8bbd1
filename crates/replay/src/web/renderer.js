// Draws one instant: shadow map, backdrop, ground, shapes, marks.

function createRenderer(gl, recording) {
  const uploads = new Map();
  const upload = (shape) => {
    const key = JSON.stringify(shape);
    if (!uploads.has(key)) uploads.set(key, uploadSurface(gl, surfaceOf(shape)));
    return uploads.get(key);
  };
  const geoms = recording.geoms.map((geom) => {
    const surface = geom.shape.kind === "plane" ? null : upload(geom.shape);
    return { ...geom, surface, bounds: surface && boundsOf(surface.surface) };
  });
  return {
    gl,
    solids: geoms.filter((geom) => geom.surface),
    planes: geoms.filter((geom) => !geom.surface),
    soft: recording.soft.map((soft) => createSoft(gl, soft, softVertices(recording, soft, 0, 0))),
    marks: createMarkSurfaces(gl),
    corners: createBuffer(gl, [-1, -1, 1, -1, -1, 1, 1, 1]),
    shadowMap: createShadowMap(gl, 2048),
    programs: {
      surface: createProgram(gl, SURFACE_VERTEX, SURFACE_FRAGMENT),
      ground: createProgram(gl, GROUND_VERTEX, GROUND_FRAGMENT),
      backdrop: createProgram(gl, BACKDROP_VERTEX, BACKDROP_FRAGMENT),
      depth: createProgram(gl, DEPTH_VERTEX, DEPTH_FRAGMENT),
      plain: createProgram(gl, DEPTH_VERTEX, PLAIN_FRAGMENT),
      dot: createProgram(gl, DOT_VERTEX, DOT_FRAGMENT),
      dotDepth: createProgram(gl, DOT_VERTEX, DOT_DEPTH_FRAGMENT),
    },
  };
}

const IDENTITY = matrixFromPose({ position: [0, 0, 0], orientation: [1, 0, 0, 0] });
const geomPose = (geom, poses) => compose(poses[geom.body], geom);

// A sphere around solids and all soft shapes at an instant.
function solidBounds(solids, { poses, soft }) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (const geom of solids) {
    const pose = geomPose(geom, poses);
    const matrix = matrixFromPose(pose);
    const center = add(pose.position, rotate(pose.orientation, geom.bounds.center));
    for (let k = 0; k < 3; k++) {
      const half = [0, 1, 2].reduce((sum, j) => sum + Math.abs(matrix[4 * j + k]) * geom.bounds.half[j], 0);
      low[k] = Math.min(low[k], center[k] - half);
      high[k] = Math.max(high[k], center[k] + half);
    }
  }
  for (const vertices of soft) {
    for (let k = 0; k < vertices.length; k++) {
      low[k % 3] = Math.min(low[k % 3], vertices[k]);
      high[k % 3] = Math.max(high[k % 3], vertices[k]);
    }
  }
  if (!(high[0] >= low[0])) return { low: [-1, -1, 0], high: [1, 1, 1], center: [0, 0, 0.5], radius: 1 };
  return { low, high, center: scale(add(low, high), 0.5), radius: Math.max(0.5 * length(subtract(high, low)), 1e-3) };
}

function drawScene(renderer, scene) {
  const { gl } = renderer;
  const bounds = solidBounds(renderer.solids, scene);
  renderer.soft.forEach((item, k) => updateSoft(gl, item, scene.soft[k]));
  const lightFromWorld = lightMatrix(bounds);
  drawShadowMap(renderer, scene, lightFromWorld, bounds);

  const { width, height } = gl.canvas;
  const reach = 16 * Math.max(scene.camera.now.distance, scene.size);
  const shared = sharedUniforms(renderer, scene, lightFromWorld);
  shared.uClipFromWorld = clipFromWorld(scene.camera, width / height, 2.5 * reach);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  gl.viewport(0, 0, width, height);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  drawBackdrop(renderer, scene, width / height);
  for (const plane of groundPlanes(renderer, scene)) drawGround(renderer, scene, shared, plane, reach, height);
  drawSolids(renderer, scene, shared);
  drawDots(renderer, scene, shared, height);
  drawMarks(renderer, scene, shared);
}

// Half the width of what the sun sees.
const lightReach = ({ radius }) => 1.06 * radius;

function lightMatrix(bounds) {
  const { center, radius } = bounds;
  const depth = 6 * radius;
  const view = lookAt(add(center, scale(SUN_DIRECTION, 1.5 * radius)), center, [0, 1, 0]);
  return matrixProduct(orthographic(lightReach(bounds), depth), view);
}

function sharedUniforms(renderer, scene, lightFromWorld) {
  const { theme } = scene;
  return {
    uEye: eyeOf(scene.camera.now),
    uSun: SUN_DIRECTION,
    uSunColor: theme.sun,
    uSky: theme.sky,
    uBounce: theme.bounce,
    uLightFromWorld: lightFromWorld,
    uShadowMap: 0,
    uShadowTexel: 1 / renderer.shadowMap.size,
    uGroundHeight: scene.groundHeight,
    uOcclusionReach: 0.35 * scene.size,
  };
}

function useProgram(gl, program, uniforms) {
  gl.useProgram(program.handle);
  setUniforms(gl, program, uniforms);
}

function drawShadowMap(renderer, scene, lightFromWorld, bounds) {
  const { gl, shadowMap, programs } = renderer;
  gl.bindFramebuffer(gl.FRAMEBUFFER, shadowMap.target);
  gl.viewport(0, 0, shadowMap.size, shadowMap.size);
  gl.disable(gl.BLEND);
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  gl.depthMask(true);
  gl.clearColor(1, 1, 1, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  useProgram(gl, programs.depth, { uClipFromWorld: lightFromWorld });
  for (const geom of renderer.solids) {
    // What is mostly clear casts no shadow.
    if (geom.rgba[3] < 0.5) continue;
    setUniforms(gl, programs.depth, { uWorldFromGeom: matrixFromPose(geomPose(geom, scene.poses)) });
    bindAttribute(gl, programs.depth, "aPosition", geom.surface.positions, 3);
    gl.drawArrays(gl.TRIANGLES, 0, geom.surface.count);
  }
  setUniforms(gl, programs.depth, { uWorldFromGeom: IDENTITY });
  for (const { surface, soft } of renderer.soft) {
    if (soft.rgba[3] < 0.5) continue;
    bindAttribute(gl, programs.depth, "aPosition", surface.positions, 3);
    gl.drawArrays(gl.TRIANGLES, 0, surface.count);
  }
  const uPixelsPerLength = shadowMap.size / (2 * lightReach(bounds));
  drawDotsWith(renderer, programs.dotDepth, { uClipFromWorld: lightFromWorld, uPixelsPerLength, uFlat: 1 });
}

function drawDotsWith(renderer, program, uniforms) {
  const { gl } = renderer;
  useProgram(gl, program, uniforms);
  for (const { dots, soft } of renderer.soft) {
    if (!dots.count) continue;
    setUniforms(gl, program, { uRadius: soft.dotRadius, uColor: soft.rgba });
    bindAttribute(gl, program, "aPosition", dots.positions, 3);
    gl.drawArrays(gl.POINTS, 0, dots.count);
  }
}

// Particles, as balls.
function drawDots(renderer, scene, shared, height) {
  const { gl, programs, shadowMap } = renderer;
  const { forward, right, above } = cameraAxes(scene.camera.now);
  gl.enable(gl.DEPTH_TEST);
  gl.disable(gl.BLEND);
  gl.bindTexture(gl.TEXTURE_2D, shadowMap.texture);
  const uPixelsPerLength = height / (2 * Math.tan(FIELD_OF_VIEW / 2));
  drawDotsWith(renderer, programs.dot, {
    ...shared, uPixelsPerLength, uFlat: 0, uGloss: 0.35, uShadowSoft: 5, uForward: forward, uRight: right, uAbove: above,
  });
}

function drawBackdrop(renderer, scene, aspect) {
  const { gl, programs, corners } = renderer;
  const { forward, right, above } = cameraAxes(scene.camera.now);
  const t = Math.tan(FIELD_OF_VIEW / 2);
  gl.disable(gl.DEPTH_TEST);
  gl.disable(gl.BLEND);
  useProgram(gl, programs.backdrop, {
    uZenith: scene.theme.zenith,
    uHorizon: scene.theme.horizon,
    uForward: add(forward, scale(above, -scene.camera.lift * t)),
    uRight: scale(right, t * aspect),
    uAbove: scale(above, t),
  });
  bindAttribute(gl, programs.backdrop, "aCorner", corners, 2);
  gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
}

// The recorded planes, or a floor below everything if there are none.
function groundPlanes(renderer, scene) {
  if (renderer.planes.length) {
    return renderer.planes.map((geom) => ({ pose: geomPose(geom, scene.poses), half: geom.shape.half, rgba: geom.rgba }));
  }
  const pose = { position: [0, 0, scene.groundHeight], orientation: [1, 0, 0, 0] };
  return [{ pose, half: [0, 0], rgba: [0.5, 0.5, 0.5, 1] }];
}

function drawGround(renderer, scene, shared, plane, reach, height) {
  const { gl, programs, corners, shadowMap } = renderer;
  const { pose, half, rgba } = plane;
  const [w, x, y, z] = pose.orientation;
  const focus = scene.camera.now.target;
  // An endless plane is drawn around the point below the camera's target.
  const local = rotate([w, -x, -y, -z], subtract(focus, pose.position));
  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.bindTexture(gl.TEXTURE_2D, shadowMap.texture);
  useProgram(gl, programs.ground, {
    ...shared,
    uShadowSoft: 11,
    uWorldFromPlane: matrixFromPose(pose),
    uNormal: rotate(pose.orientation, [0, 0, 1]),
    uCenter: [half[0] > 0 ? 0 : local[0], half[1] > 0 ? 0 : local[1]],
    uHalf: [half[0] > 0 ? half[0] : 1.1 * reach, half[1] > 0 ? half[1] : 1.1 * reach],
    uFocus: focus,
    uFadeStart: 0.12 * reach,
    uFadeEnd: reach,
    uCell: scene.cell,
    uPixel: (2 * Math.tan(FIELD_OF_VIEW / 2)) / height,
    uLightTile: tinted(scene.theme.lightTile, rgba),
    uDarkTile: tinted(scene.theme.darkTile, rgba),
    uLine: scene.theme.line,
  });
  bindAttribute(gl, programs.ground, "aCorner", corners, 2);
  gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
}

// Opaque shapes first, clear ones after from back to front.
function drawSolids(renderer, scene, shared) {
  const { gl } = renderer;
  const items = renderer.solids.map((geom) => {
    const matrix = matrixFromPose(geomPose(geom, scene.poses));
    const range = length(subtract(matrix.slice(12, 15), shared.uEye));
    return { surface: geom.surface, matrix, normalMatrix: matrix, color: geom.rgba, range };
  });
  for (const { surface, soft } of renderer.soft) {
    items.push({ surface, matrix: IDENTITY, normalMatrix: IDENTITY, color: soft.rgba, range: 0 });
  }
  const opaque = items.filter((item) => item.color[3] >= 0.999);
  const clear = items.filter((item) => item.color[3] < 0.999).sort((a, b) => b.range - a.range);
  gl.enable(gl.DEPTH_TEST);
  if (scene.show.wireframe) {
    drawLines(renderer, items, shared);
    return;
  }
  gl.disable(gl.BLEND);
  drawItems(renderer, opaque, { ...shared, uGloss: 1, uShadowSoft: 5 });
  gl.enable(gl.BLEND);
  gl.depthMask(false);
  drawItems(renderer, clear, { ...shared, uGloss: 1, uShadowSoft: 5 });
  gl.depthMask(true);
  drawSprings(renderer, shared);
}

// The lines of soft shapes, darker than their surfaces.
function drawSprings(renderer, shared) {
  const { gl, programs } = renderer;
  useProgram(gl, programs.plain, { ...shared, uWorldFromGeom: IDENTITY });
  for (const { lines, soft } of renderer.soft) {
    if (!lines.count) continue;
    const alpha = soft.triangles.length ? 0.35 : 0.9;
    setUniforms(gl, programs.plain, { uColor: [...soft.rgba.slice(0, 3).map((c) => 0.45 * c), alpha] });
    bindAttribute(gl, programs.plain, "aPosition", lines.positions, 3);
    gl.drawArrays(gl.LINES, 0, lines.count);
  }
}

function drawItems(renderer, items, uniforms) {
  const { gl, programs, shadowMap } = renderer;
  gl.bindTexture(gl.TEXTURE_2D, shadowMap.texture);
  useProgram(gl, programs.surface, uniforms);
  for (const { surface, matrix, normalMatrix, color } of items) {
    setUniforms(gl, programs.surface, { uWorldFromGeom: matrix, uNormalFromGeom: normalMatrix, uColor: color });
    bindAttribute(gl, programs.surface, "aPosition", surface.positions, 3);
    bindAttribute(gl, programs.surface, "aNormal", surface.normals, 3);
    gl.drawArrays(gl.TRIANGLES, 0, surface.count);
  }
}

function drawLines(renderer, items, shared) {
  const { gl, programs } = renderer;
  gl.enable(gl.BLEND);
  useProgram(gl, programs.plain, shared);
  for (const { surface, matrix, color } of items) {
    const lines = wireframeOf(gl, surface);
    setUniforms(gl, programs.plain, { uWorldFromGeom: matrix, uColor: [color[0], color[1], color[2], 0.55] });
    bindAttribute(gl, programs.plain, "aPosition", lines.positions, 3);
    gl.drawArrays(gl.LINES, 0, lines.count);
  }
}

// Marks are seen clearly in front of shapes and faintly through them.
function drawMarks(renderer, scene, shared) {
  const { gl, marks } = renderer;
  // Seen from near, marks shrink so that they do not hide what they mark; only a force keeps its length.
  const size = Math.min(scene.size, 0.55 * scene.camera.now.distance);
  const full = { force: scene.fullForce, length: 0.4 * scene.size, width: 0.4 * size };
  const items = [
    ...(scene.show.axes ? axisMarks(marks, scene.poses, 0.085 * size) : []),
    ...(scene.show.contacts ? contactMarks(marks, scene.contacts, 0.022 * size) : []),
    ...(scene.show.forces ? forceMarks(marks, scene.contacts, full) : []),
    ...arrowMarks(marks, scene.arrows || [], 0.3 * size),
    ...lineMarks(marks, scene.lines || [], 0.006 * size),
  ];
  if (!items.length) return;
  const lit = { ...shared, uGloss: 0.2, uShadowSoft: 0 };
  gl.enable(gl.BLEND);
  gl.depthMask(false);
  gl.depthFunc(gl.GREATER);
  drawItems(renderer, items.map((item) => ({ ...item, color: [...item.color.slice(0, 3), 0.28] })), lit);
  gl.depthMask(true);
  gl.depthFunc(gl.LEQUAL);
  drawItems(renderer, items, lit);
}
