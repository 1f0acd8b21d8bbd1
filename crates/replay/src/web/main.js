// Starts the viewer and runs its loop.

// The body that travels farthest, -1 if none moves.
function traveller(recording) {
  const last = recording.times.length - 1;
  const travel = recording.bodies.map((_, body) =>
    length(subtract(recordedPose(recording, last, body).position, recordedPose(recording, 0, body).position)));
  const farthest = Math.max(...travel);
  return farthest > 0 ? travel.indexOf(farthest) : -1;
}

function frameAll(app) {
  const aspect = app.canvas.clientWidth / app.canvas.clientHeight;
  if (app.followed < 0) {
    frameBox(app.camera, app.motion.low, app.motion.high, aspect);
  } else {
    const now = solidBounds(app.framed, currentInstant(app));
    frameBox(app.camera, now.low, now.high, aspect);
    // Room for what comes.
    zoom(app.camera, 1.3);
  }
}

function currentInstant(app) {
  const { frame, fraction } = positionAt(app.playback);
  return instantAt(app.recording, frame, fraction);
}

function layout(app) {
  const { canvas, camera } = app;
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  // The picture is centered between the control bar and what stands at the top.
  const height = canvas.clientHeight;
  const below = height - byId("bar").getBoundingClientRect().top;
  const plots = byId("plots").getBoundingClientRect();
  const above = plots.width > 0.6 * canvas.clientWidth ? plots.bottom : 20;
  camera.lift = clamp((below - above) / height, -0.4, 0.4);
  camera.free = clamp(1 - (below + above) / height, 0.4, 1);
}

function draw(app) {
  const { playback, camera, recording } = app;
  const { poses, soft } = currentInstant(app);
  if (app.followed >= 0) {
    const place = poses[app.followed].position;
    if (app.followedAt) carry(camera, subtract(place, app.followedAt));
    app.followedAt = place;
  }
  drawScene(app.renderer, {
    poses,
    soft,
    contacts: contactsAt(recording, positionAt(playback).frame),
    camera,
    theme: THEMES[app.themeName],
    show: app.show,
    size: app.motion.frameRadius,
    cell: app.cell,
    groundHeight: app.groundHeight,
    fullForce: app.fullForce,
  });
  updateControls(app);
}

// Draws only while something moves.
function runLoop(app) {
  let before = 0;
  let scheduled = false;
  const tick = (now) => {
    scheduled = false;
    const seconds = before ? Math.min((now - before) / 1000, 0.1) : 0;
    before = now;
    advance(app.playback, seconds);
    const moving = easeCamera(app.camera, seconds);
    draw(app);
    if (app.playback.playing || moving) app.refresh(); else before = 0;
  };
  app.refresh = () => {
    if (!scheduled) requestAnimationFrame(tick);
    scheduled = true;
  };
}

function fillBodies(recording) {
  const offer = (text, value) => {
    const option = element("option", "", byId("follow"));
    option.textContent = text;
    option.value = String(value);
  };
  offer("none", -1);
  recording.bodies.forEach((name, body) => offer(name || `body ${body}`, body));
}

function describe(app) {
  const { recording, playback } = app;
  const seconds = playback.end - playback.start;
  byId("facts").textContent = `${recording.times.length} frames, ${formatNumber(seconds)} s, grid ${app.cell} m`;
  byId("forces").title = `Contact forces (V); a full arrow is ${formatNumber(app.fullForce)} N`;
  for (const name of ["contacts", "forces"]) byId(name).hidden = recording.contacts.length === 0;
}

function start() {
  const canvas = byId("view");
  const recording = decodeRecording(JSON.parse(byId("replay-data").textContent));
  report.frames = String(recording.times.length);
  const gl = openGpu(canvas);
  if (!gl) {
    fail("This replay is drawn with WebGL, which this browser does not offer. Turn on hardware acceleration or try another browser.");
    return;
  }
  canvas.addEventListener("webglcontextlost", () => fail("The graphics device was lost. Reload the page to go on."));
  const renderer = createRenderer(gl, recording);
  report.shaders = "compiled";

  const framed = framedSolids(renderer, recording);
  const motion = motionBounds(recording, framed);
  const app = {
    canvas, recording, renderer, framed, motion,
    camera: createCamera(),
    playback: createPlayback(recording),
    show: { contacts: true, forces: true, axes: false, wireframe: false },
    cell: roundNumber(0.3 * motion.frameRadius),
    groundHeight: groundHeightOf(renderer, recording),
    fullForce: referenceForce(recording),
    followed: -1,
    followedAt: null,
  };
  runLoop(app);
  fillBodies(recording);
  app.plots = createPlots(byId("plots"), recording, app.playback, (share) => { scrubTo(app.playback, share); app.refresh(); });
  setTheme(app, preferredTheme());
  describe(app);
  bindControls(app);
  layout(app);
  // A motion that leaves the picture is followed.
  if (motion.radius > 3 * motion.frameRadius) follow(app, traveller(recording));
  frameAll(app);
  const still = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  app.playback.playing = !still && recording.times.length > 1;
  applyAddress(app);
  settleCamera(app.camera);
  draw(app);
  if (gl.getError() !== gl.NO_ERROR) throw new Error("WebGL reported an error");
  report.ready = "true";
  app.refresh();
}

try {
  start();
} catch (error) {
  fail(error.message);
}
