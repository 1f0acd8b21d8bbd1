// Buttons, keys and the address of the page.

const SWITCHES = ["contacts", "forces", "axes", "wireframe", "loop"];

function bindControls(app) {
  const { playback } = app;
  const act = (change) => () => { change(); app.refresh(); };
  byId("play").addEventListener("click", act(() => togglePlaying(playback)));
  byId("back").addEventListener("click", act(() => stepFrame(playback, -1)));
  byId("forth").addEventListener("click", act(() => stepFrame(playback, 1)));
  byId("frame-all").addEventListener("click", act(() => frameAll(app)));
  byId("theme").addEventListener("click", act(() => setTheme(app, app.themeName === "dark" ? "light" : "dark")));
  byId("scrubber").addEventListener("input", act(() => scrubTo(playback, byId("scrubber").value / 1000)));
  byId("speed").addEventListener("change", act(() => { playback.speed = Number(byId("speed").value); }));
  byId("follow").addEventListener("change", act(() => follow(app, Number(byId("follow").value))));
  for (const name of SWITCHES) byId(name).addEventListener("click", act(() => flip(app, name)));
  bindKeys(app);
  bindPointers(app);
  window.addEventListener("hashchange", act(() => applyAddress(app)));
  window.addEventListener("resize", act(() => layout(app)));
}

function isOn(app, name) {
  return name === "loop" ? app.playback.loop : app.show[name];
}

function flip(app, name, value = !isOn(app, name)) {
  if (name === "loop") app.playback.loop = value; else app.show[name] = value;
  byId(name).setAttribute("aria-pressed", String(value));
}

function follow(app, body) {
  app.followed = body >= 0 && body < app.recording.bodies.length ? body : -1;
  app.followedAt = null;
  byId("follow").value = String(app.followed);
  document.documentElement.dataset.follow = app.recording.bodies[app.followed] || "";
  if (app.followed >= 0) app.camera.goal.target = currentInstant(app).poses[app.followed].position;
}

function bindKeys(app) {
  const { playback } = app;
  const actions = {
    " ": () => togglePlaying(playback),
    ArrowLeft: () => stepFrame(playback, -1),
    ArrowRight: () => stepFrame(playback, 1),
    Home: () => showFrame(playback, 0),
    End: () => showFrame(playback, playback.times.length - 1),
    f: () => frameAll(app),
    c: () => flip(app, "contacts"),
    v: () => flip(app, "forces"),
    a: () => flip(app, "axes"),
    w: () => flip(app, "wireframe"),
    l: () => flip(app, "loop"),
    t: () => setTheme(app, app.themeName === "dark" ? "light" : "dark"),
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLSelectElement) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    // The keys act the same wherever the focus is.
    event.preventDefault();
    action();
    app.refresh();
  });
  // A focused button would answer the space bar a second time.
  window.addEventListener("keyup", (event) => { if (event.key === " ") event.preventDefault(); });
}

// What the address asks for: #frame=10 (or t=1.5, seconds)&contacts=1&forces=0&theme=dark&azimuth=40&elevation=20 (degrees) and so on.
function applyAddress(app) {
  const wishes = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (wishes.has(name) && isFinite(wishes.get(name)) ? Number(wishes.get(name)) : null);
  for (const name of SWITCHES) if (wishes.has(name)) flip(app, name, wishes.get(name) !== "0");
  if (wishes.has("theme")) setTheme(app, wishes.get("theme"));
  if (number("speed") > 0) app.playback.speed = number("speed");
  if (number("azimuth") !== null) app.camera.goal.azimuth = (number("azimuth") * Math.PI) / 180;
  if (number("elevation") !== null) app.camera.goal.elevation = clamp((number("elevation") * Math.PI) / 180, -1.5, 1.55);
  if (number("zoom") > 0) app.camera.goal.distance /= number("zoom");
  if (number("t") !== null) showFrame(app.playback, positionAt(app.playback, number("t") + 1e-9).frame);
  if (number("frame") !== null) showFrame(app.playback, number("frame"));
  if (wishes.has("follow")) follow(app, app.recording.bodies.indexOf(wishes.get("follow")));
  if (number("play") !== null) app.playback.playing = number("play") !== 0;
}

// Writes the state of the replay into the page.
function updateControls(app) {
  const { playback, recording } = app;
  const { frame } = positionAt(playback);
  const share = shareOf(playback);
  const digits = playback.end - playback.start < 1 ? 3 : 2;
  byId("play").dataset.state = playback.playing ? "playing" : "paused";
  byId("play").setAttribute("aria-label", playback.playing ? "Pause" : "Play");
  byId("scrubber").value = String(Math.round(1000 * share));
  byId("scrubber").style.setProperty("--share", `${100 * share}%`);
  byId("time").textContent = `${Math.min(playback.time, playback.end).toFixed(digits)} s`;
  byId("count").textContent = `${frame + 1} / ${recording.times.length}`;
  if (document.activeElement !== byId("speed")) byId("speed").value = String(playback.speed);
  document.documentElement.dataset.frame = String(frame);
  document.documentElement.dataset.playing = String(playback.playing);
  updatePlots(app.plots, frame, share);
}
