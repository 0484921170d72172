// Who may use this CliGate: strangers to let in, grants to take back.

import { t } from './words.js';
import { get, post } from './calls.js';

const dialog = document.getElementById('access');
const lists = { strangers: document.getElementById('strangers'), grants: document.getElementById('grants') };

export async function open(fail) {
  try {
    await refresh(fail);
    if (!dialog.open) dialog.showModal();
  } catch (err) {
    fail(err);
  }
}

async function refresh(fail) {
  const pairs = await get('/api/control/pairs');
  const act = (path, body) => async () => {
    try {
      await post('/api/control/' + path, body);
      await refresh(fail);
    } catch (err) {
      fail(err);
    }
  };
  lists.strangers.replaceChildren(...(pairs.strangers || []).map((s) => row(
    [s.Person.name, s.Person.id, s.Account, s.Direct ? '' : s.Chat],
    ['approve_member', act('approve', { stranger: s.ID, role: 'member' })],
    ['approve_operator', act('approve', { stranger: s.ID, role: 'operator' })],
  )));
  if (!lists.strangers.children.length) lists.strangers.append(row([t('access_none')]));
  lists.grants.replaceChildren(...(pairs.grants || []).map((g) => row(
    [g.Person, g.Role, g.Account, g.Chat],
    ['revoke', act('revoke', { grant: g.ID })],
  )));
}

function row(words, ...actions) {
  const e = document.createElement('li');
  const text = document.createElement('span');
  text.textContent = words.filter(Boolean).join(' · ');
  e.append(text);
  for (const [name, work] of actions) {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = t(name);
    b.addEventListener('click', work);
    e.append(b);
  }
  return e;
}
