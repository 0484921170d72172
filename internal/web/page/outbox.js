// What the person sent and the daemon has not yet confirmed. It is kept in the
// browser, so that neither a lost answer nor a reload loses or doubles it: a
// message sent again has the same key.

const store = 'cligate-unsent';

function read() {
  try {
    return JSON.parse(localStorage.getItem(store)) || [];
  } catch {
    return [];
  }
}

function write(list) {
  try {
    localStorage.setItem(store, JSON.stringify(list));
  } catch { /* no room, or not allowed: it lives in this page only */ }
}

export const unsent = (chat) => read().filter((m) => m.chat === chat);
export const everyUnsent = () => read();
export const keep = (m) => write([...read().filter((o) => o.key !== m.key), m]);
export const drop = (key) => write(read().filter((m) => m.key !== key));
