// Buttons and keys.

const SWITCHES = ["contacts", "forces", "axes", "wireframe", "gradients"];

function bindControls(app) {
  const act = (change) => () => { change(); app.refresh(); };
  byId("play").addEventListener("click", () => togglePlaying(app));
  byId("step").addEventListener("click", () => send({ do: "step" }));
  byId("reset").addEventListener("click", () => reset(app));
  byId("keyframe").addEventListener("change", () => reset(app));
  byId("speed").addEventListener("change", () => send({ do: "speed", value: Number(byId("speed").value) }));
  byId("follow").addEventListener("change", act(() => follow(app, Number(byId("follow").value))));
  byId("frame-all").addEventListener("click", act(() => frameAll(app)));
  byId("theme").addEventListener("click", act(() => setTheme(app, app.themeName === "dark" ? "light" : "dark")));
  byId("panels").addEventListener("click", act(() => showPanels(app, byId("panel").hidden)));
  for (const name of SWITCHES) byId(name).addEventListener("click", act(() => flip(app, name)));
  window.addEventListener("resize", act(() => layout(app)));
  bindKeys(app);
  bindPointers(app);
  bindGrabbing(app);
}

function flip(app, name) {
  app.show[name] = !app.show[name];
  byId(name).setAttribute("aria-pressed", String(app.show[name]));
}

function showPanels(app, shown) {
  byId("panel").hidden = !shown;
  byId("panels").setAttribute("aria-pressed", String(shown));
  layout(app);
}

function togglePlaying(app) {
  return send({ do: app.head.playing ? "pause" : "play" });
}

function reset(app) {
  const keyframe = byId("keyframe").value;
  return send({ do: "reset", keyframe: keyframe === "" ? null : keyframe });
}

function follow(app, body) {
  app.followed = body;
  app.followedAt = null;
  byId("follow").value = String(body);
  if (body >= 0) app.camera.goal.target = app.now.poses[body].position;
}

function bindKeys(app) {
  const actions = {
    " ": () => togglePlaying(app),
    ArrowRight: () => send({ do: "step" }),
    Home: () => reset(app),
    f: () => frameAll(app),
    c: () => flip(app, "contacts"),
    v: () => flip(app, "forces"),
    a: () => flip(app, "axes"),
    w: () => flip(app, "wireframe"),
    g: () => flip(app, "gradients"),
    p: () => showPanels(app, byId("panel").hidden),
    t: () => setTheme(app, app.themeName === "dark" ? "light" : "dark"),
  };
  window.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLSelectElement || event.target instanceof HTMLInputElement;
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
    app.refresh();
  });
  // A focused button would answer the space bar a second time.
  window.addEventListener("keyup", (event) => {
    if (event.key === " " && event.target instanceof HTMLButtonElement) event.preventDefault();
  });
}

// Writes where the simulation is into the page.
function updateControls(app) {
  const { head } = app;
  byId("play").dataset.state = head.playing ? "playing" : "paused";
  byId("play").setAttribute("aria-label", head.playing ? "Pause" : "Play");
  byId("time").textContent = `${head.time.toFixed(app.description.dt < 0.005 ? 3 : 2)} s`;
  byId("count").textContent = `step ${head.step}`;
  if (document.activeElement !== byId("speed")) byId("speed").value = String(head.speed);
  const slow = head.share !== null && head.share < 0.95;
  const rate = head.share === null ? "" : `${formatRate(head.share * head.speed)}× real time`;
  byId("rate").textContent = slow ? `${rate}: too slow for ${head.speed}×` : rate;
  byId("rate").dataset.slow = String(slow);
  report.playing = String(head.playing);
  report.step = String(head.step);
  if (head.halted && app.halted !== head.halted) toast(`${head.halted}. Start anew to go on.`);
  app.halted = head.halted;
  updateControlRows(app, head.control);
}

function formatRate(rate) {
  return rate.toPrecision(2).replace(/\.0$/, "");
}
