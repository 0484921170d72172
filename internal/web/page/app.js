// The chat page: one open chat, the list of chats beside it.

import { load, t } from './words.js';
import { get, post, patiently, newKey, chatPath, Lost } from './calls.js';
import { Messages } from './messages.js';
import { Stream } from './stream.js';
import { copyCode } from './markup.js';
import { unsent, everyUnsent, keep, drop } from './outbox.js';
import * as access from './access.js';

const el = (id) => document.getElementById(id);
const scroll = el('scroll');
const text = el('text');
const messages = new Messages(el('log'));
const drafts = new Map();
const news = new Set(); // chats with something unread
let chats = [];
let current = '';
let before = ''; // the page of history before the first one shown
let editing = ''; // key of the message that is being edited
let unread = 0;

const stream = new Stream({ event: onEvent, state: showState, stale: () => openChat(current) });

// --- chats

async function refreshChats() {
  chats = (await get('/api/chats')).chats;
  drawChats();
}

function drawChats() {
  const shown = chats.some((c) => c.id === current) || !current ? chats : [{ id: current, title: '' }, ...chats];
  el('chats').replaceChildren(...shown.map((c) => {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = '#' + c.id;
    link.textContent = c.title || t('untitled');
    if (c.id === current) link.setAttribute('aria-current', 'page');
    if (news.has(c.id)) link.classList.add('news');
    item.append(link);
    return item;
  }));
  el('title').textContent = chats.find((c) => c.id === current)?.title || t('untitled');
}

async function openChat(id) {
  if (current !== id) drafts.set(current, text.value);
  const fresh = current !== id;
  current = id;
  news.delete(id);
  stopEditing();
  if (fresh) {
    stream.close();
    messages.clear();
    text.value = drafts.get(id) || '';
    fitText();
    drawChats();
  }
  showState('connecting');
  const page = await patiently(() => get(chatPath(id) + '/lines'), () => showState('offline'));
  if (current !== id) return; // another one was opened meanwhile
  messages.clear();
  for (const m of page.lines) messages.show(m);
  for (const m of unsent(id)) messages.show(local(m, 'unsent'));
  before = page.before || '';
  settle();
  toBottom();
  stream.open(chatPath(id), page.cursor);
}

async function earlier() {
  const page = await get(chatPath(current) + '/lines?before=' + encodeURIComponent(before));
  const height = scroll.scrollHeight;
  for (const m of page.lines) messages.show(m);
  before = page.before || '';
  settle();
  scroll.scrollTop += scroll.scrollHeight - height;
}

// settle brings what depends on all messages up to date.
function settle() {
  el('earlier').hidden = !before;
  el('empty').hidden = messages.size > 0;
  let answered = false;
  for (const m of messages.all().reverse()) {
    if (m.class === 'final') answered = true;
    const open = Boolean(m.mine && !answered && !m.text.startsWith('/'));
    if (m.mine && m.open !== open) messages.show({ ...m, open });
  }
}

// --- events

function onEvent(e) {
  const low = atBottom();
  switch (e.kind) {
    case 'message':
      noteNews(e.message);
      messages.show(e.message);
      if (e.message.mine) drop(e.message.key);
      else el('typing').hidden = true;
      break;
    case 'remove':
      messages.remove(e.id);
      break;
    case 'mark':
      messages.mark(e.id, e.emoji);
      break;
    case 'typing':
      el('typing').hidden = false;
      clearTimeout(onEvent.timer);
      onEvent.timer = setTimeout(() => { el('typing').hidden = true; }, 6000);
      break;
    case 'chats':
      noteOther(e.chat);
      return;
    default:
      return;
  }
  settle();
  if (low) toBottom();
}

function noteNews(m) {
  if (m.mine || m.silent || m.kind === 'progress' || messages.get(m.id)) return;
  if (!chats.some((c) => c.id === current && c.title)) refreshChats().catch(() => {});
  if (document.visibilityState !== 'visible') {
    unread++;
    document.title = `(${unread}) ${t('title')}`;
  }
}

async function noteOther(id) {
  if (id !== current) news.add(id);
  await refreshChats().catch(() => {});
}

function showState(state) {
  const s = el('state');
  if (s.className === state) return;
  s.className = state;
  s.firstElementChild.textContent = t(state);
}

// --- sending

const local = (m, state) => ({ id: 'in:' + m.key, key: m.key, mine: true, text: m.text, at: m.at, state });

function submit() {
  const body = text.value.trim();
  if (!body || !current) return;
  text.value = '';
  fitText();
  if (editing) return change('edits', editing, body);
  send({ chat: current, key: newKey(), text: body, at: messages.after() });
}

async function send(m) {
  keep(m);
  show(m, 'sending');
  toBottom();
  try {
    await patiently(() => post(chatPath(m.chat) + '/messages', { key: m.key, text: m.text }), () => show(m, 'unsent'));
    drop(m.key);
    show(m, undefined);
    if (!chats.some((c) => c.id === m.chat && c.title)) refreshChats().catch(() => {});
  } catch (err) {
    show(m, 'failed', err.message);
  }
}

// show shows the local form of a message in its own chat, until the ledger's
// form has arrived.
function show(m, state, reason) {
  if (m.chat !== current) return;
  const known = messages.get('in:' + m.key);
  if (known && !known.state && !state) return;
  messages.show({ ...local(m, state), at: known?.at || m.at, reason });
  settle();
}

async function change(what, key, body) {
  stopEditing();
  const m = messages.get('in:' + key);
  try {
    const event = { key: newKey(), message: key, ...(body ? { text: body } : {}) };
    const taken = await patiently(() => post(chatPath(current) + '/' + what, event));
    if (taken.toast) toast(taken.toast);
    if (body && m) messages.show({ ...m, text: body });
    if (!body) setTimeout(() => lookWhetherGone(key), 400);
  } catch (err) {
    fail(err);
  }
}

async function lookWhetherGone(key) {
  const fate = await get(chatPath(current) + '/fates/' + encodeURIComponent(key)).catch(() => null);
  if (fate && (fate.state === 'withdrawn' || fate.as === 'withdrawn')) {
    messages.remove('in:' + key);
    settle();
  }
}

function startEditing(key) {
  editing = key;
  text.value = messages.get('in:' + key).text;
  el('editing').hidden = false;
  fitText();
  text.focus();
}

function stopEditing() {
  editing = '';
  el('editing').hidden = true;
}

// press presses a button of a message. It can be pressed again only when the
// press came to nothing.
async function press(button) {
  const id = button.closest('.message').dataset.id;
  const all = button.closest('.buttons').querySelectorAll('button');
  const event = { key: newKey(), message: id, data: button.dataset.data };
  for (const b of all) b.disabled = true;
  try {
    const taken = await patiently(() => post(chatPath(current) + '/clicks', event), (err) => toast(err.message));
    if (taken.message) messages.show(taken.message);
    if (taken.toast) toast(taken.toast, taken.alert);
  } catch (err) {
    fail(err);
  }
  setTimeout(() => { for (const b of all) b.disabled = false; }, 800);
}

function act(button) {
  const id = button.closest('.message').dataset.id;
  const m = messages.get(id);
  switch (button.dataset.action) {
    case 'edit': return startEditing(m.key);
    case 'withdraw': return change('withdrawals', m.key);
    case 'again': return send({ chat: current, key: m.key, text: m.text, at: m.at });
    default:
      drop(m.key);
      messages.remove(id);
      settle();
  }
}

// --- small things

function fail(err) {
  toast(t('failed', { reason: err instanceof Lost ? t('offline') : err.message }));
}

function toast(words, stays) {
  const e = el('toast');
  e.textContent = words;
  e.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { e.hidden = true; }, stays ? 15000 : 4000);
}

const atBottom = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
function toBottom() { scroll.scrollTop = scroll.scrollHeight; }

function fitText() {
  text.style.height = 'auto';
  text.style.height = text.scrollHeight + 2 + 'px';
}

function showMenu(open) {
  document.body.classList.toggle('menu', open);
  el('menu').setAttribute('aria-expanded', String(open));
}

function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  showMenu(false);
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) return openChat(id).catch(fail);
  location.replace('#' + (chats[0]?.id || newChat()));
}

const newChat = () => 'c-' + newKey();

function listen() {
  addEventListener('hashchange', route);
  el('new').addEventListener('click', () => { location.hash = newChat(); text.focus(); });
  el('menu').addEventListener('click', () => showMenu(!document.body.classList.contains('menu')));
  el('veil').addEventListener('click', () => showMenu(false));
  el('earlier').addEventListener('click', () => earlier().catch(fail));
  el('access-open').addEventListener('click', () => access.open(fail));
  el('logout').addEventListener('click', () => post('/logout', {}).then(() => location.replace('/login')).catch(fail));
  el('editing').querySelector('button').addEventListener('click', () => { text.value = ''; stopEditing(); });
  el('composer').addEventListener('submit', (e) => { e.preventDefault(); submit(); });
  text.addEventListener('input', fitText);
  text.addEventListener('keydown', (e) => {
    if (e.key === 'Escape' && editing) { text.value = ''; stopEditing(); }
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return; // a composed character is not finished yet
    e.preventDefault();
    submit();
  });
  el('log').addEventListener('click', (e) => {
    const button = e.target.closest('button');
    if (!button) return;
    if (button.classList.contains('copy')) copyCode(button);
    else if (button.dataset.data) press(button);
    else if (button.dataset.action) act(button);
  });
  document.addEventListener('keydown', (e) => { if (e.key === 'Escape') showMenu(false); });
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    unread = 0;
    document.title = t('title');
  });
}

async function start() {
  await patiently(load);
  listen();
  await patiently(refreshChats, () => showState('offline'));
  for (const m of everyUnsent()) send(m);
  await route();
  text.focus();
}

start();
