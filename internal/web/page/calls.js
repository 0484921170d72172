// Requests to the daemon. A call that got no answer throws Lost: it may or may
// not have arrived, and is safe to make again with the same key.

export class Lost extends Error {}

export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.message || String(status));
    this.status = status;
  }
}

async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (err) {
    throw new Lost(err.message);
  }
  if (answer.status === 401) {
    location.replace('/login');
    throw new Lost('not logged in');
  }
  const text = await answer.text().catch((err) => { throw new Lost(err.message); });
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    if (answer.ok) throw new Lost('the answer was cut off');
  }
  if (answer.ok) return value;
  if (answer.status >= 500 || answer.status === 429) throw new Lost(value?.message || String(answer.status));
  throw new Refused(answer.status, value);
}

export const get = (path) => call('GET', path);
export const post = (path, body) => call('POST', path, body);

// patiently makes a call again until it is answered; tell is called when it has
// to be made again.
export async function patiently(work, tell = () => {}) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
    try {
      return await work();
    } catch (err) {
      if (!(err instanceof Lost)) throw err;
      tell(err);
      await new Promise((done) => setTimeout(done, wait + Math.random() * 250));
    }
  }
}

// newKey makes the key of an event. It works where the page is not served
// securely, too.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

export const chatPath = (id) => '/api/chats/' + encodeURIComponent(id);
