// Sliders of controls and parameters.

// Rows shown at a time; a search finds the others.
const MOST_ROWS = 40;

// What a slider reaches: the bounds, or a span around the value at first.
function sliderRange({ lower, upper, value }) {
  const span = Math.max(2 * Math.abs(value), 1e-3);
  if (lower !== null && upper !== null) return [lower, upper];
  if (lower !== null) return [lower, Math.max(lower + span, 2 * value)];
  if (upper !== null) return [Math.min(upper - span, 2 * value), upper];
  return value === 0 ? [-1, 1] : [value - span, value + span];
}

function createRow(parent, vector, item) {
  const row = element("div", "row", parent);
  const label = element("label", "name", row);
  const name = element("bdi", "", label);
  name.textContent = item.name;
  if (item.unit !== "1") element("span", "unit", name).textContent = item.unit;
  const many = item.count > 1 ? `, all ${item.count} entries` : "";
  row.title = `${item.name}${item.doc ? `: ${item.doc}` : ""}${many}`;
  const number = element("input", "", row);
  const slider = element("input", "", row);
  number.type = "number";
  number.step = "any";
  slider.type = "range";
  const [low, high] = sliderRange(item);
  Object.assign(slider, { min: low, max: high, step: (high - low) / 1000 });
  slider.dataset.name = item.name;
  number.dataset.name = item.name;
  slider.setAttribute("aria-label", item.name);
  number.setAttribute("aria-label", `${item.name}, value`);
  const show = (value, from) => {
    if (from !== slider) slider.value = value;
    if (from !== number) number.value = String(Number(value.toPrecision(5)));
  };
  const sendLatest = createSender();
  const set = (from) => () => {
    if (from.value === "" || !isFinite(from.value)) return;
    item.now = Number(from.value);
    row.classList.add("changed");
    show(item.now, from);
    sendLatest({ do: "set", vector, name: item.name, value: item.now });
    if (vector === "control") byId("free-controls").hidden = false;
  };
  slider.addEventListener("input", set(slider));
  number.addEventListener("change", set(number));
  show(item.now ?? item.value, null);
  row.classList.toggle("changed", item.now !== undefined);
  return { item, row, slider, number, show };
}

function createPanels(app) {
  const { control, params } = app.description;
  byId("control-part").hidden = control.length === 0;
  byId("params-part").hidden = params.length === 0;
  byId("control-count").textContent = String(control.length);
  byId("params-count").textContent = String(params.length);
  app.controlRows = control.slice(0, 4 * MOST_ROWS).map((item) => createRow(byId("control-rows"), "control", item));
  byId("free-controls").addEventListener("click", () => {
    byId("free-controls").hidden = true;
    for (const { item, row } of app.controlRows) {
      delete item.now;
      row.classList.remove("changed");
    }
    send({ do: "free_controls" });
  });
  byId("params-filter").addEventListener("input", () => fillParams(params));
  fillParams(params);
}

function fillParams(params) {
  const words = byId("params-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = params.filter((item) => words.every((word) => item.name.toLowerCase().includes(word)));
  byId("params-rows").textContent = "";
  for (const item of found.slice(0, MOST_ROWS)) createRow(byId("params-rows"), "params", item);
  byId("params-more").hidden = found.length <= MOST_ROWS && found.length > 0;
  byId("params-more").textContent = found.length ? `and ${found.length - MOST_ROWS} more: search for them` : "no parameter is called so";
}

// Controls that the scene sets are followed, unless a hand is on them.
function updateControlRows(app, values) {
  for (const { item, slider, number, show } of app.controlRows) {
    const value = values[item.entry];
    if (value === undefined || item.now !== undefined) continue;
    if (document.activeElement === slider || document.activeElement === number) continue;
    show(value, null);
  }
}
