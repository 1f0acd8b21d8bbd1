// Starts the viewer: the scene, the picture, the stream.

function frameAll(app) {
  const aspect = app.canvas.clientWidth / app.canvas.clientHeight;
  const now = solidBounds(app.framed, app.now);
  const { motion } = app;
  // What was seen of the motion beforehand, unless it went on elsewhere.
  const elsewhere = [0, 1, 2].some((k) => now.high[k] < motion.low[k] || now.low[k] > motion.high[k]);
  const box = elsewhere ? now : motion;
  frameBox(app.camera, box.low, box.high, aspect);
  // Room for what comes.
  zoom(app.camera, 1.25);
}

function layout(app) {
  const { canvas, camera } = app;
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  // The picture is centered between what stands at the top and what stands below.
  const height = canvas.clientHeight;
  const bar = byId("bar").getBoundingClientRect().top;
  const phone = window.innerWidth <= 640;
  byId("panel").style.bottom = phone ? `${height - bar + 8}px` : "";
  const panel = byId("panel").getBoundingClientRect();
  const below = height - (phone && panel.height ? panel.top : bar);
  const above = 60;
  camera.lift = clamp((below - above) / height, -0.5, 0.5);
  camera.free = clamp(1 - (below + above) / height, 0.3, 1);
}

function draw(app) {
  const { poses, soft, contacts } = app.now;
  if (app.followed >= 0) {
    const place = poses[app.followed].position;
    if (app.followedAt) carry(app.camera, subtract(place, app.followedAt));
    app.followedAt = place;
  }
  const { drag } = app.head;
  const line = drag && drag.from ? [{ from: drag.from, to: drag.to, color: FORCE_COLOR }] : [];
  drawScene(app.renderer, {
    poses, soft, contacts,
    camera: app.camera,
    theme: THEMES[app.themeName],
    show: app.show,
    size: app.motion.frameRadius,
    cell: app.cell,
    groundHeight: app.groundHeight,
    fullForce: app.fullForce,
    arrows: gradientArrows(app),
    lines: line,
  });
}

// Draws when something moved.
function runLoop(app) {
  let before = 0;
  let scheduled = false;
  const tick = (now) => {
    scheduled = false;
    const seconds = before ? Math.min((now - before) / 1000, 0.1) : 0;
    before = now;
    const moving = easeCamera(app.camera, seconds);
    draw(app);
    report.drawn = String(Number(report.drawn || 0) + 1);
    if (moving) app.refresh(); else before = 0;
  };
  app.refresh = () => {
    if (!scheduled) requestAnimationFrame(tick);
    scheduled = true;
  };
}

// The force drawn at full length follows the largest of late.
function noteForces(app) {
  const largest = Math.max(0, ...app.now.contacts.map(({ force }) => length(force)));
  app.fullForce = Math.max(largest, 0.98 * app.fullForce);
  byId("forces").title = `Contact forces (V); a full arrow is ${formatNumber(app.fullForce)} N`;
}

function fillChoices(app) {
  const { description, recording } = app;
  const offer = (id, text, value) => {
    const option = element("option", "", byId(id));
    option.textContent = text;
    option.value = String(value);
  };
  offer("follow", "none", -1);
  recording.bodies.forEach((name, body) => { if (body) offer("follow", name || `body ${body}`, body); });
  byId("follow-field").hidden = recording.bodies.length < 2;
  offer("keyframe", "the start", "");
  description.keyframes.forEach((name, index) => offer("keyframe", name || `keyframe ${index}`, name || index));
  byId("keyframe-field").hidden = description.keyframes.length === 0;
  const pulled = description.pulled.some(Boolean);
  byId("title").textContent = description.title;
  document.title = description.title;
  byId("facts").textContent = `${description.summary}${pulled ? "; drag a body to pull it" : ""}`;
}

// Reads the stream for as long as there is a server.
async function listen(app) {
  const news = (kind, head, numbers) => {
    if (kind === KIND_GRADIENT) {
      showGradient(app, head);
    } else {
      app.head = head;
      app.now = readPicture(app.recording, head, numbers);
      noteForces(app);
      updateControls(app);
    }
    app.refresh();
  };
  for (let tries = 0; ; tries++) {
    try {
      byId("message").hidden = true;
      await readMessages((...message) => { tries = 0; news(...message); });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    byId("message").hidden = false;
    byId("message-text").textContent = "The simulation has stopped. Start `pullback view` again and open the URL it prints.";
    report.stopped = "true";
    if (tries > 2) return;
    await new Promise((done) => setTimeout(done, 1000));
  }
}

async function start() {
  const canvas = byId("view");
  const description = await (await fetch("scene")).json();
  const recording = decodeRecording(description.recording);
  const gl = openGpu(canvas);
  if (!gl) {
    fail("Scenes are drawn with WebGL, which this browser does not offer. Turn on hardware acceleration or try another browser.");
    return;
  }
  canvas.addEventListener("webglcontextlost", () => fail("The graphics device was lost. Reload the page to go on."));
  const renderer = createRenderer(gl, recording);
  const framed = framedSolids(renderer, recording);
  const motion = motionBounds(recording, framed);
  const app = {
    canvas, description, recording, renderer, framed, motion,
    camera: createCamera(),
    now: { ...instantAt(recording, 0, 0), contacts: [] },
    head: { time: 0, step: 0, playing: false, speed: 1, share: null, halted: null, drag: null, control: [] },
    show: { contacts: true, forces: true, axes: false, wireframe: false, gradients: true },
    cell: roundNumber(0.3 * motion.frameRadius),
    groundHeight: groundHeightOf(renderer, recording),
    fullForce: 0,
    followed: -1,
    followedAt: null,
    gradient: null,
  };
  runLoop(app);
  setTheme(app, preferredTheme());
  fillChoices(app);
  createPanels(app);
  createGradient(app);
  bindControls(app);
  // On a phone the panel would hide the scene.
  showPanels(app, window.innerWidth > 640);
  frameAll(app);
  settleCamera(app.camera);
  draw(app);
  if (gl.getError() !== gl.NO_ERROR) throw new Error("WebGL reported an error");
  report.ready = "true";
  app.refresh();
  const still = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!still) await send({ do: "play" });
  await listen(app);
}

start().catch((error) => fail(error.message));
