// The list of messages. A message has one id for ever: showing it again
// replaces its earlier form, so nothing is shown twice whatever arrives twice.

import { t } from './words.js';
import { parse } from './markup.js';

export class Messages {
  constructor(log) {
    this.log = log;
    this.byID = new Map(); // id → { message, element }
  }

  clear() {
    this.byID.clear();
    this.log.replaceChildren();
  }

  get(id) { return this.byID.get(id)?.message; }

  get size() { return this.byID.size; }

  all() { return [...this.log.children].map((e) => this.byID.get(e.dataset.id).message); }

  // show puts a message at its place in time, or its new form in its old place.
  show(message) {
    const known = this.byID.get(message.id);
    if (known) {
      const merged = { ...known.message, state: undefined, reason: undefined, ...message };
      if (!('buttons' in message)) delete merged.buttons;
      if (!('panels' in message)) delete merged.panels;
      if (!('footer' in message)) delete merged.footer;
      if (!message.emoji && known.message.emoji) merged.emoji = known.message.emoji;
      known.message = merged;
      this.fill(known.element, merged);
      const at = Date.parse(merged.at);
      if (at !== Number(known.element.dataset.at)) this.place(known.element, at);
      return;
    }
    const element = document.createElement('article');
    this.byID.set(message.id, { message, element });
    this.fill(element, message);
    this.place(element, Date.parse(message.at));
  }

  // after is a time behind all messages, whatever this browser's clock says.
  after() {
    const last = Number(this.log.lastElementChild?.dataset.at || 0);
    return new Date(Math.max(Date.now(), last)).toISOString();
  }

  place(element, at) {
    element.remove();
    element.dataset.at = at;
    let next = null;
    for (let e = this.log.lastElementChild; e && Number(e.dataset.at) > at; e = e.previousElementSibling) next = e;
    this.log.insertBefore(element, next);
  }

  remove(id) {
    this.byID.get(id)?.element.remove();
    this.byID.delete(id);
  }

  mark(id, emoji) {
    const known = this.byID.get(id);
    if (!known) return;
    known.message.emoji = emoji || '';
    this.fill(known.element, known.message);
  }

  fill(element, m) {
    element.dataset.id = m.id;
    element.className = 'message ' + (m.mine ? 'mine' : 'ours ' + (m.kind || 'notice'));
    if (m.kind === 'progress' && m.buttons?.length) element.classList.add('live');
    if (m.emoji) element.classList.add('marked');
    if (m.state === 'failed') element.classList.add('failed');
    element.setAttribute('aria-label', m.mine ? (m.from || t('you')) : t('agent'));
    const parts = [body(m)];
    for (const p of m.panels || []) parts.push(panel(p, element));
    if (m.footer) parts.push(note(m.footer));
    if (m.file) parts.push(file(m.file));
    if (m.buttons?.length) parts.push(buttons(m));
    parts.push(meta(m));
    keepFocus(element, () => element.replaceChildren(...parts));
  }
}

// keepFocus lets a keyboard user stay on a button, or a panel, while the message
// around it changes.
function keepFocus(element, change) {
  const at = element.contains(document.activeElement) ? document.activeElement : undefined;
  const data = at?.dataset.data, title = at?.parentElement?.dataset.title;
  change();
  if (data) [...element.querySelectorAll('button[data-data]')].find((b) => b.dataset.data === data)?.focus();
  else if (title) [...element.querySelectorAll('details.panel')].find((d) => d.dataset.title === title)?.firstElementChild.focus();
}

function body(m) {
  const e = document.createElement('div');
  e.className = 'body';
  if (m.mine || !m.html) e.textContent = m.text;
  else e.append(parse(m.html));
  return e;
}

// panel is what a reader may look into. One that was opened stays open while
// the message around it changes, and shows its newest line.
function panel(p, before) {
  const e = document.createElement('details');
  e.className = 'panel';
  e.dataset.title = p.title;
  e.open = [...before.querySelectorAll('details.panel')].some((d) => d.open && d.dataset.title === p.title);
  const title = document.createElement('summary');
  title.textContent = p.title;
  const lines = document.createElement('pre');
  lines.textContent = p.lines.join('\n');
  e.append(title, lines);
  requestAnimationFrame(() => { lines.scrollTop = lines.scrollHeight; });
  e.addEventListener('toggle', () => { lines.scrollTop = lines.scrollHeight; });
  return e;
}

function note(text) {
  const e = document.createElement('div');
  e.className = 'foot-note';
  e.textContent = text;
  return e;
}

function file(f) {
  const e = document.createElement('a');
  e.className = 'file';
  e.href = f.url || '#';
  e.download = f.name;
  if (f.photo && f.url) {
    const i = document.createElement('img');
    i.className = 'photo';
    i.loading = 'lazy';
    i.alt = f.name;
    i.src = f.url;
    i.addEventListener('error', () => i.replaceWith(t('download', { name: f.name })), { once: true });
    e.append(i);
    return e;
  }
  e.textContent = t('download', { name: f.name });
  return e;
}

function buttons(m) {
  const box = document.createElement('div');
  box.className = 'buttons';
  for (const row of m.buttons) {
    const line = document.createElement('div');
    line.className = 'row';
    for (const b of row) line.append(button(b));
    box.append(line);
  }
  return box;
}

function button(b) {
  const e = document.createElement('button');
  e.type = 'button';
  e.dataset.data = b.data;
  e.textContent = b.label;
  if (b.style === 'primary' || b.style === 'danger') e.className = b.style;
  return e;
}

function action(name) {
  const e = document.createElement('button');
  e.type = 'button';
  e.className = 'plain';
  e.dataset.action = name;
  e.textContent = t(name);
  return e;
}

function meta(m) {
  const e = document.createElement('div');
  e.className = 'meta';
  if (m.emoji) {
    const mark = document.createElement('span');
    mark.className = 'mark';
    mark.textContent = m.emoji;
    e.append(mark);
  }
  if (m.state) e.append(stateWord(m));
  if (m.state === 'failed') e.append(action('again'), action('discard'));
  if (m.mine && m.open && !m.state) e.append(action('edit'), action('withdraw'));
  const time = document.createElement('time');
  time.dateTime = m.at;
  time.textContent = new Date(m.at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  time.title = new Date(m.at).toLocaleString();
  e.append(time);
  return e;
}

function stateWord(m) {
  const e = document.createElement('span');
  e.className = 'state';
  e.textContent = m.state === 'failed' ? t('refused', { reason: m.reason }) : t(m.state);
  return e;
}
