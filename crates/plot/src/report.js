// Values of figures at the pointer.

const label = document.createElement("div");
label.className = "hover";
label.hidden = true;
const dot = document.createElement("div");
dot.className = "hover-dot";
dot.hidden = true;
document.body.append(label, dot);

// Position of a value along an axis [low, high, logarithmic], 0 to 1.
function along([low, high, log], value) {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

// The value at a position along an axis.
function valueAt([low, high, log], share) {
  return log ? low * (high / low) ** share : low + (high - low) * share;
}

function shown(x) {
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}

// "loss (m)" and 3 become "loss = 3 m".
function named(name, value) {
  const parts = /^(.*?)\s*(?:\(([^()]*)\))?$/.exec(name);
  return `${parts[1] || "value"} = ${value}${parts[2] ? ` ${parts[2]}` : ""}`;
}

// The nearest point of the curves of a panel, in pixels of its picture.
function nearest(panel, at, size) {
  let best = null;
  for (const curve of panel.curves) {
    curve.x.forEach((x, k) => {
      const u = along(panel.x, x);
      const v = 1 - along(panel.y, curve.y[k]);
      const far = Math.hypot((u - at.u) * size.width, (v - at.v) * size.height);
      if (!best || far < best.far) best = { far, u, v, x, y: curve.y[k], curve };
    });
  }
  return best && best.far < 60 ? best : null;
}

// What a panel says at a place { u, v } in it, each 0 to 1 from the upper left corner: { text, u, v }.
function answer(panel, at, size) {
  const [nameX, nameY] = panel.names;
  if (panel.curves) {
    const found = nearest(panel, at, size);
    if (!found) return null;
    const name = found.curve.name ? `${found.curve.name}\n` : "";
    return { ...found, text: `${name}${named(nameX, shown(found.x))}\n${named(nameY, shown(found.y))}` };
  }
  if (panel.bars) {
    const index = Math.min(panel.categories.length - 1, Math.floor(at.u * panel.categories.length));
    const lines = panel.bars.map(({ name, values }) => `${name ? `${name}: ` : ""}${values[index] === null ? "none" : shown(values[index])}`);
    return { text: `${panel.categories[index]}\n${lines.join("\n")}` };
  }
  const { rows, columns, smooth, name, values } = panel.field;
  const cell = (share, count) => Math.max(0, Math.min(count - 1, Math.round(smooth ? share * (count - 1) : share * count - 0.5)));
  const value = values[cell(1 - at.v, rows) * columns + cell(at.u, columns)];
  const place = `${named(nameX, shown(valueAt(panel.x, at.u)))}\n${named(nameY, shown(valueAt(panel.y, 1 - at.v)))}`;
  return { text: `${place}\n${named(name, value === null ? "none" : shown(value))}` };
}

function hide() {
  label.hidden = true;
  dot.hidden = true;
}

function show(panels, picture, event) {
  const box = picture.getBoundingClientRect();
  const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  const panel = panels.find(({ box: [x0, y0, x1, y1] }) => x >= x0 && x <= x1 && y >= y0 && y <= y1);
  if (!panel) return hide();
  const [x0, y0, x1, y1] = panel.box;
  const size = { width: (x1 - x0) * box.width, height: (y1 - y0) * box.height };
  const found = answer(panel, { u: (x - x0) / (x1 - x0), v: (y - y0) / (y1 - y0) }, size);
  if (!found) return hide();
  label.textContent = found.text;
  label.hidden = false;
  const room = document.documentElement.clientWidth - label.offsetWidth - 8;
  label.style.left = `${Math.max(8, Math.min(event.clientX + 14, room)) + window.scrollX}px`;
  label.style.top = `${event.clientY + 16 + window.scrollY}px`;
  dot.hidden = found.u === undefined;
  if (dot.hidden) return undefined;
  dot.style.background = found.curve.color;
  dot.style.left = `${box.left + window.scrollX + (x0 + found.u * (x1 - x0)) * box.width}px`;
  dot.style.top = `${box.top + window.scrollY + (y0 + found.v * (y1 - y0)) * box.height}px`;
  return undefined;
}

for (const picture of document.querySelectorAll("img[data-hover]")) {
  const panels = JSON.parse(picture.dataset.hover);
  picture.addEventListener("pointermove", (event) => show(panels, picture, event));
  picture.addEventListener("pointerdown", (event) => show(panels, picture, event));
  picture.addEventListener("pointerleave", hide);
}
