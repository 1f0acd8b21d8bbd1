// Pictures and gradients from the server, commands to it.

const KIND_GRADIENT = 1;

// Reads messages until the server goes; `news(kind, head, numbers)` is called for each.
async function readMessages(news) {
  const response = await fetch("stream");
  if (!response.ok) throw new Error(`the stream is refused: ${response.status}`);
  const reader = response.body.getReader();
  let pending = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(pending.length + value.length);
    joined.set(pending);
    joined.set(value, pending.length);
    pending = takeMessages(joined, news);
  }
}

// Hands whole messages on; returns what is left.
function takeMessages(bytes, news) {
  let at = 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  while (bytes.length - at >= 12) {
    const end = at + 4 + view.getUint32(at, true);
    if (bytes.length < end) break;
    const kind = view.getUint32(at + 4, true);
    const first = at + 12 + view.getUint32(at + 8, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(at + 12, first)));
    news(kind, head, new Float32Array(bytes.slice(first, end).buffer));
    at = end;
  }
  return bytes.subarray(at);
}

// The numbers of a picture: poses, contacts and vertices.
function readPicture(recording, head, numbers) {
  const slice = (from, count) => Array.from(numbers.subarray(from, from + count));
  let at = 0;
  const poses = recording.bodies.map(() => {
    at += 7;
    return { position: slice(at - 7, 3), orientation: slice(at - 4, 4) };
  });
  const contacts = Array.from({ length: head.contacts }, () => {
    at += 10;
    return { position: slice(at - 10, 3), normal: slice(at - 7, 3), force: slice(at - 4, 3), distance: numbers[at - 1] };
  });
  const soft = recording.soft.map(({ count }) => {
    at += 3 * count;
    return numbers.subarray(at - 3 * count, at);
  });
  return { poses, contacts, soft };
}

// Sends a command; what the server says against it is shown.
async function send(command) {
  try {
    const response = await fetch("command", { method: "POST", body: JSON.stringify(command) });
    const answer = await response.json();
    if (!response.ok) toast(answer.error);
    return answer;
  } catch {
    // The stream tells that the server went.
    return null;
  }
}

// Sends the latest of many commands, one at a time.
function createSender() {
  let waiting = null;
  let busy = false;
  const go = async () => {
    busy = true;
    while (waiting) {
      const command = waiting;
      waiting = null;
      await send(command);
    }
    busy = false;
  };
  return (command) => { waiting = command; if (!busy) go(); };
}

let toastTimer = 0;

function toast(text) {
  byId("toast").textContent = text;
  byId("toast").hidden = false;
  report.toast = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { byId("toast").hidden = true; }, 6000);
}
