// Elements of pages, numbers as text, and failures. What happened is written on the root element as data attributes.

const byId = (id) => document.getElementById(id);

const report = document.documentElement.dataset;

function fail(message) {
  report.error = (report.error ? `${report.error}; ` : "") + message;
  byId("message").hidden = false;
  byId("message-text").textContent = message;
}

window.addEventListener("error", (event) => fail(event.message));
window.addEventListener("unhandledrejection", (event) => fail(String(event.reason)));

function element(tag, className, parent) {
  const made = document.createElement(tag);
  made.className = className;
  parent.append(made);
  return made;
}

function formatNumber(x) {
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return x.toExponential(2);
  return x.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

function setTheme(app, name) {
  app.themeName = name === "dark" ? "dark" : "light";
  document.documentElement.dataset.theme = app.themeName;
}
