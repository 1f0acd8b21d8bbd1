// The gradient of a quantity: what it is, its numbers, its arrows.

const GRADIENT_COLORS = { light: [0.36, 0.22, 0.86, 1], dark: [0.70, 0.58, 1.0, 1] };
const VECTOR_TITLES = { control: "by controls, held", state: "by the state now", params: "by parameters" };
// Derivatives shown of each vector.
const MOST_SHOWN = 6;

function createGradient(app) {
  const { quantities, steps, dt } = app.description;
  const offer = (text, value) => {
    const option = element("option", "", byId("quantity"));
    option.textContent = text;
    option.value = String(value);
  };
  offer("nothing", -1);
  quantities.forEach(({ label }, k) => offer(label, k));
  byId("ahead").value = String(steps);
  const ask = () => {
    const chosen = quantities[Number(byId("quantity").value)];
    const ahead = Math.round(Number(byId("ahead").value));
    byId("ahead-time").textContent = ahead > 0 ? `${formatNumber(ahead * dt)} s` : "";
    showGradient(app, null);
    send({ do: "gradient", of: chosen ? { quantity: chosen.quantity, steps: ahead } : null });
  };
  byId("quantity").addEventListener("change", ask);
  byId("ahead").addEventListener("change", ask);
  byId("ahead-time").textContent = `${formatNumber(steps * dt)} s`;
}

// What the server says of the gradient; null while nothing is known.
function showGradient(app, head) {
  app.gradient = head && head.gradient;
  report.gradient = app.gradient ? app.gradient.label : "";
  byId("gradient-note").hidden = !(head && head.error);
  byId("gradient-note").textContent = head && head.error ? head.error : "";
  byId("gradient-value").hidden = !app.gradient;
  byId("gradient-entries").textContent = "";
  if (!app.gradient) return;
  const { now, ahead, unit, label, entries, arrows, arrows_by: by } = app.gradient;
  const of = unit === "1" ? "" : ` ${unit}`;
  byId("gradient-value").textContent = `${label}: ${formatNumber(now)} → `;
  element("b", "", byId("gradient-value")).textContent = `${formatNumber(ahead)}${of}`;
  for (const vector of ["control", "state", "params"]) {
    fillEntries(entries.filter((entry) => entry.vector === vector), vector, unit);
  }
  const longest = Math.max(0, ...arrows.map(({ vector }) => length(vector)));
  if (longest > 0) {
    const text = by === "N" ? "a force on a body, held" : "the place of a particle";
    byId("gradient-note").hidden = false;
    byId("gradient-note").textContent = `Arrows: by ${text}; the longest is ${formatNumber(longest)} ${perUnit(unit, by)}.`;
  }
}

function perUnit(unit, by) {
  return by === "1" ? unit : `${unit}/${/[ /]/.test(by) ? `(${by})` : by}`;
}

function fillEntries(entries, vector, unit) {
  if (!entries.length) return;
  const table = element("table", "entries", byId("gradient-entries"));
  element("caption", "", table).textContent = VECTOR_TITLES[vector];
  const largest = Math.max(...entries.map(({ gradient }) => Math.abs(gradient)));
  for (const entry of entries.slice(0, MOST_SHOWN)) {
    const row = element("tr", "", table);
    element("td", "", row).textContent = entry.name;
    row.title = `d / d ${entry.name} = ${entry.gradient} ${perUnit(unit, entry.unit)}`;
    const bar = element("i", "", element("div", "bar", element("td", "", row)));
    const share = (50 * Math.abs(entry.gradient)) / largest;
    bar.style.width = `${share}%`;
    bar.style.left = `${entry.gradient < 0 ? 50 - share : 50}%`;
    element("td", "", row).textContent = formatNumber(entry.gradient);
  }
}

// Arrows from bodies where they are now, the longest as long as a third of the scene.
function gradientArrows(app) {
  if (!app.gradient || !app.show.gradients) return [];
  const longest = Math.max(1e-300, ...app.gradient.arrows.map(({ vector }) => length(vector)));
  const long = (0.5 * app.motion.frameRadius) / longest;
  return app.gradient.arrows.map(({ body, position, vector }) => ({
    position: body === null ? position : app.now.poses[body].position,
    vector: scale(vector, long),
    color: GRADIENT_COLORS[app.themeName],
  }));
}
