// Shaders, WebGL 1. Light is computed in linear color and written as sRGB.

const COMMON = `
precision highp float;
uniform vec3 uEye, uSun, uSunColor, uSky, uBounce;
uniform mat4 uLightFromWorld;
uniform sampler2D uShadowMap;
uniform float uShadowTexel, uShadowSoft;

vec3 linearFromSrgb(vec3 c) { return pow(c, vec3(2.2)); }
vec3 srgbFromLinear(vec3 c) { return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2)); }
float depthFromColor(vec4 c) { return dot(c, vec4(1.0, 1.0 / 255.0, 1.0 / 65025.0, 1.0 / 16581375.0)); }

// How much of the sun arrives: sixteen points of a spiral, turned per pixel, looked up in the shadow map.
float sunlight(vec3 world, vec3 normal) {
  vec3 p = (uLightFromWorld * vec4(world, 1.0)).xyz * 0.5 + 0.5;
  float bias = 0.0015 + 0.004 * (1.0 - abs(dot(normal, uSun)));
  float turn = 6.2832 * fract(52.9829 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584))));
  float lit = 0.0;
  for (int k = 0; k < 16; k++) {
    float r = sqrt((float(k) + 0.5) / 16.0) * uShadowSoft * uShadowTexel;
    float a = float(k) * 2.39996 + turn;
    float stored = depthFromColor(texture2D(uShadowMap, p.xy + r * vec2(cos(a), sin(a))));
    lit += (stored > 0.999 || stored > p.z - bias) ? 1.0 : 0.0;
  }
  // Nothing outside the map casts a shadow.
  vec2 edge = smoothstep(vec2(0.5), vec2(0.47), abs(p.xy - 0.5));
  return mix(1.0, lit / 16.0, edge.x * edge.y);
}`;

const SURFACE_VERTEX = `
attribute vec3 aPosition, aNormal;
uniform mat4 uClipFromWorld, uWorldFromGeom, uNormalFromGeom;
varying vec3 vWorld, vNormal;
void main() {
  vec4 world = uWorldFromGeom * vec4(aPosition, 1.0);
  vWorld = world.xyz;
  vNormal = (uNormalFromGeom * vec4(aNormal, 0.0)).xyz;
  gl_Position = uClipFromWorld * world;
}`;

// Light that a surface with normal n sends to the eye.
const SHADED = `
uniform float uGloss, uGroundHeight, uOcclusionReach;
vec3 shaded(vec3 rgb, vec3 world, vec3 n) {
  vec3 view = normalize(uEye - world);
  vec3 albedo = linearFromSrgb(rgb);
  float facing = max(dot(n, uSun), 0.0);
  float sun = facing > 0.0 ? sunlight(world + n * 0.01 * uOcclusionReach, n) : 0.0;
  // Near the ground, what faces down sees little sky.
  float height = clamp((world.z - uGroundHeight) / uOcclusionReach, 0.0, 1.0);
  float open = mix(1.0, 0.55 + 0.45 * height, 0.5 - 0.5 * n.z);
  vec3 ambient = mix(uBounce, uSky, 0.5 + 0.5 * n.z) * open;
  vec3 color = albedo * (ambient + uSunColor * facing * sun);
  // Highlights: the sun, and the sky at grazing angles.
  vec3 halfway = normalize(view + uSun);
  float fresnel = 0.04 + 0.96 * pow(1.0 - max(dot(n, view), 0.0), 5.0);
  float shine = pow(max(dot(n, halfway), 0.0), 70.0) * 1.1 + pow(max(dot(n, halfway), 0.0), 14.0) * 0.10;
  color += uGloss * (uSunColor * sun * facing * shine * 0.45 + uSky * fresnel * 0.35 * open);
  return srgbFromLinear(color);
}`;

const SURFACE_FRAGMENT = `${COMMON}${SHADED}
uniform vec4 uColor;
varying vec3 vWorld, vNormal;
void main() {
  vec3 n = normalize(vNormal);
  vec3 view = normalize(uEye - vWorld);
  // Of a clear shape only the front is seen; an opaque mesh may be open, and its back is lit as a front.
  if (uColor.a < 0.999 && dot(n, view) < 0.0) discard;
  if (dot(n, view) < 0.0) n = mix(n, -n, step(0.15, -dot(n, view)));
  gl_FragColor = vec4(shaded(uColor.rgb, vWorld, n), uColor.a);
}`;

// A ball as a square that faces the eye: its normals come from the place within the square.
const DOT_VERTEX = `
attribute vec3 aPosition;
uniform mat4 uClipFromWorld;
uniform float uRadius, uPixelsPerLength, uFlat;
varying vec3 vWorld;
void main() {
  vWorld = aPosition;
  gl_Position = uClipFromWorld * vec4(aPosition, 1.0);
  gl_PointSize = max(2.0 * uRadius * uPixelsPerLength / mix(gl_Position.w, 1.0, uFlat), 1.0);
}`;

const DOT_FRAGMENT = `${COMMON}${SHADED}
uniform vec4 uColor;
uniform vec3 uForward, uRight, uAbove;
uniform float uRadius;
varying vec3 vWorld;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float r = dot(p, p);
  if (r > 1.0) discard;
  vec3 n = p.x * uRight - p.y * uAbove - sqrt(1.0 - r) * uForward;
  gl_FragColor = vec4(shaded(uColor.rgb, vWorld + uRadius * n, n), uColor.a);
}`;

const GROUND_VERTEX = `
attribute vec2 aCorner;
uniform mat4 uClipFromWorld, uWorldFromPlane;
uniform vec2 uCenter, uHalf;
varying vec3 vWorld;
varying vec2 vPlane;
void main() {
  vPlane = uCenter + aCorner * uHalf;
  vec4 world = uWorldFromPlane * vec4(vPlane, 0.0, 1.0);
  vWorld = world.xyz;
  gl_Position = uClipFromWorld * world;
}`;

// The squares and lines are averaged over the pixel's footprint, so that they fade instead of flickering.
const GROUND_FRAGMENT = `${COMMON}
uniform vec3 uLightTile, uDarkTile, uLine, uNormal, uFocus;
uniform float uCell, uPixel, uFadeStart, uFadeEnd;
varying vec3 vWorld;
varying vec2 vPlane;
vec2 squareWave(vec2 x, vec2 w) {
  return 2.0 * (abs(fract((x - 0.5 * w) * 0.5) - 0.5) - abs(fract((x + 0.5 * w) * 0.5) - 0.5)) / w;
}
float lines(vec2 x, float w, float thickness) {
  float width = max(w, thickness);
  vec2 distance = abs(fract(x - 0.5) - 0.5);
  vec2 cover = (1.0 - smoothstep(0.5 * width, 0.5 * width + w, distance)) * min(thickness / width, 1.0);
  return max(cover.x, cover.y);
}
void main() {
  vec3 toEye = uEye - vWorld;
  float range = length(toEye);
  float cosine = dot(uNormal, toEye) / range;
  float footprint = range * uPixel / max(abs(cosine), 0.02) / uCell;
  vec2 x = vPlane / uCell;
  vec2 wave = squareWave(x, vec2(max(footprint, 1e-4)));
  vec3 albedo = linearFromSrgb(mix(uDarkTile, uLightTile, 0.5 + 0.5 * wave.x * wave.y));
  albedo = mix(albedo, linearFromSrgb(uLine), 0.8 * lines(x, footprint, 0.012) * exp(-footprint * 4.0));
  float sun = sunlight(vWorld, uNormal);
  vec3 color = albedo * (uSky + uSunColor * max(dot(uNormal, uSun), 0.0) * sun);
  float fade = 1.0 - smoothstep(uFadeStart, uFadeEnd, length(vWorld - uFocus));
  // From below the ground is a thin veil.
  float alpha = fade * (cosine < 0.0 ? 0.25 : 1.0);
  gl_FragColor = vec4(srgbFromLinear(color), alpha);
}`;

const BACKDROP_VERTEX = `
attribute vec2 aCorner;
varying vec2 vCorner;
void main() { vCorner = aCorner; gl_Position = vec4(aCorner, 0.9999, 1.0); }`;

// Zenith above, horizon in the middle, by the height of the view ray.
const BACKDROP_FRAGMENT = `
precision highp float;
uniform vec3 uZenith, uHorizon, uForward, uRight, uAbove;
varying vec2 vCorner;
void main() {
  vec3 ray = normalize(uForward + vCorner.x * uRight + vCorner.y * uAbove);
  float grain = fract(52.9829 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584)))) - 0.5;
  vec3 color = mix(uHorizon, uZenith, smoothstep(0.0, 0.75, ray.z)) + grain / 255.0;
  gl_FragColor = vec4(color, 1.0);
}`;

const DEPTH_VERTEX = `
attribute vec3 aPosition;
uniform mat4 uClipFromWorld, uWorldFromGeom;
void main() { gl_Position = uClipFromWorld * uWorldFromGeom * vec4(aPosition, 1.0); }`;

const DEPTH_WRITTEN = `
precision highp float;
vec4 colorFromDepth(float depth) {
  vec4 c = fract(depth * vec4(1.0, 255.0, 65025.0, 16581375.0));
  return c - c.yzww * vec4(1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0, 0.0);
}
void writeDepth() { gl_FragColor = colorFromDepth(min(gl_FragCoord.z, 0.99999)); }`;

const DEPTH_FRAGMENT = `${DEPTH_WRITTEN}
void main() { writeDepth(); }`;

// The disc that a dot throws as its shadow.
const DOT_DEPTH_FRAGMENT = `${DEPTH_WRITTEN}
void main() {
  if (length(gl_PointCoord - 0.5) > 0.5) discard;
  writeDepth();
}`;

const PLAIN_FRAGMENT = `
precision highp float;
uniform vec4 uColor;
void main() { gl_FragColor = uColor; }`;
