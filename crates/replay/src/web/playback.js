// The clock of the replay.

// Speeds that the page offers; a motion shorter than a second begins in slow motion.
const SPEEDS = [1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01];

function createPlayback(recording) {
  const { times, fps } = recording;
  const start = times[0];
  const end = times[times.length - 1];
  const slow = end > start && end - start < 1;
  const speed = slow ? SPEEDS.find((s) => (end - start) / s >= 2) || SPEEDS[SPEEDS.length - 1] : 1;
  return { times, start, end, hold: 1 / fps, time: start, playing: false, speed, loop: true };
}

// The last frame that is not after the time, and how far the time is towards the next.
function positionAt(playback, time = playback.time) {
  const { times } = playback;
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle; else high = middle - 1;
  }
  const fraction = low + 1 < times.length ? clamp((time - times[low]) / (times[low + 1] - times[low]), 0, 1) : 0;
  return { frame: low, fraction };
}

function advance(playback, seconds) {
  if (!playback.playing) return;
  playback.time += seconds * playback.speed;
  // The last frame stays for its share before the motion repeats.
  if (playback.time < playback.end + playback.hold) return;
  if (playback.loop) {
    const period = playback.end + playback.hold - playback.start;
    playback.time = playback.start + ((playback.time - playback.start) % period);
  } else {
    playback.time = playback.end;
    playback.playing = false;
  }
}

function togglePlaying(playback) {
  if (!playback.playing && !playback.loop && playback.time >= playback.end) playback.time = playback.start;
  playback.playing = !playback.playing;
}

function showFrame(playback, frame) {
  playback.playing = false;
  playback.time = playback.times[clamp(Math.round(frame) || 0, 0, playback.times.length - 1)];
}

// One frame back or forth; from between two frames, to the nearer one in that direction.
function stepFrame(playback, direction) {
  const { frame, fraction } = positionAt(playback);
  showFrame(playback, direction < 0 && fraction > 1e-9 ? frame : frame + direction);
}

function scrubTo(playback, share) {
  playback.time = mix(playback.start, playback.end, clamp(share, 0, 1));
}

function shareOf(playback) {
  const span = playback.end - playback.start;
  return span > 0 ? clamp((playback.time - playback.start) / span, 0, 1) : 0;
}
