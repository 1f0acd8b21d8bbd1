// Colors of the scene in the light and the dark design; sRGB, lights linear.

const THEMES = {
  light: {
    zenith: [0.74, 0.80, 0.87],
    horizon: [0.935, 0.945, 0.957],
    lightTile: [0.868, 0.872, 0.878],
    darkTile: [0.828, 0.834, 0.844],
    line: [0.72, 0.735, 0.76],
    sky: [0.46, 0.50, 0.56],
    bounce: [0.27, 0.26, 0.25],
    sun: [0.86, 0.82, 0.75],
  },
  dark: {
    zenith: [0.055, 0.065, 0.085],
    horizon: [0.145, 0.16, 0.185],
    lightTile: [0.235, 0.25, 0.28],
    darkTile: [0.20, 0.215, 0.24],
    line: [0.36, 0.385, 0.42],
    sky: [0.36, 0.41, 0.50],
    bounce: [0.10, 0.10, 0.11],
    sun: [0.95, 0.90, 0.82],
  },
};

const SUN_DIRECTION = normalize([0.42, -0.55, 0.95]);
const CONTACT_COLOR = [0.98, 0.45, 0.09, 1];
const FORCE_COLOR = [0.91, 0.20, 0.26, 1];
const AXIS_COLORS = [[0.90, 0.22, 0.21, 1], [0.26, 0.70, 0.30, 1], [0.16, 0.47, 0.96, 1]];

function preferredTheme() {
  return window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// The ground keeps the hue of its geom but the lightness of the design.
function tinted(tile, rgba) {
  const mean = (rgba[0] + rgba[1] + rgba[2]) / 3;
  return tile.map((c, k) => clamp(c + 0.35 * (rgba[k] - mean), 0, 1));
}
