// Scalars over time: a small chart per series with its value at the cursor.

const SERIES_COLORS = ["#3b7dd8", "#e07b39", "#3fa46a", "#b65fcf", "#d64550", "#2aa7a7"];

function createPlots(panel, recording, playback, onScrub) {
  const plots = recording.series.map((series, index) => createPlot(panel, series, SERIES_COLORS[index % 6]));
  panel.hidden = plots.length === 0;
  const draw = () => plots.forEach((plot) => drawCurve(plot, playback));
  for (const plot of plots) scrubOnDrag(plot.chart, onScrub);
  new ResizeObserver(draw).observe(panel);
  return plots;
}

function createPlot(panel, series, color) {
  const row = element("div", "plot", panel);
  const label = element("div", "plot-label", row);
  const name = element("span", "plot-name", label);
  name.textContent = series.name;
  name.style.setProperty("--series", color);
  const value = element("output", "plot-value", label);
  const chart = element("div", "plot-chart", row);
  const canvas = element("canvas", "", chart);
  const cursor = element("div", "plot-cursor", chart);
  let low = Infinity;
  let high = -Infinity;
  for (const v of series.values) { low = Math.min(low, v); high = Math.max(high, v); }
  row.title = `${series.name}: ${formatNumber(low)} to ${formatNumber(high)}`;
  return { series, color, value, chart, canvas, cursor, low, high };
}

function drawCurve({ series, color, canvas, chart, low, high }, playback) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [chart.clientWidth, chart.clientHeight];
  if (!width || !height) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const span = playback.end - playback.start || 1;
  const x = (k) => ((playback.times[k] - playback.start) / span) * width;
  const y = (v) => height - 3 - ((v - low) / (high - low || 1)) * (height - 6);
  pen.beginPath();
  series.values.forEach((v, k) => (k ? pen.lineTo(x(k), y(v)) : pen.moveTo(x(k), y(v))));
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.stroke();
  // A light wash below the curve.
  pen.lineTo(width, height);
  pen.lineTo(0, height);
  pen.globalAlpha = 0.12;
  pen.fillStyle = color;
  pen.fill();
}

function scrubOnDrag(chart, onScrub) {
  const scrub = (event) => {
    const box = chart.getBoundingClientRect();
    onScrub((event.clientX - box.left) / box.width);
  };
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    scrub(event);
  });
  chart.addEventListener("pointermove", (event) => {
    if (chart.hasPointerCapture(event.pointerId)) scrub(event);
  });
}

function updatePlots(plots, frame, share) {
  for (const { series, value, cursor } of plots) {
    value.textContent = formatNumber(series.values[frame]);
    cursor.style.left = `${100 * share}%`;
  }
}
