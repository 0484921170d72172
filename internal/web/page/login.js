// The login page: takes the one-time token from the address's fragment, which
// browsers never send, and exchanges it for a cookie.

async function texts() {
  const answer = await fetch('/texts/' + encodeURIComponent(navigator.language) + '.json');
  return answer.json();
}

function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token) history.replaceState(null, '', '/login'); // out of the address bar and the history
  return token;
}

async function loggedIn() {
  return (await fetch('/api/me')).ok;
}

async function exchange(token) {
  const answer = await fetch('/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return answer.status;
}

async function run() {
  const token = takeToken();
  const { lang, texts: t } = await texts();
  const words = document.getElementById('words');
  const command = document.getElementById('command');
  const say = (key, withCommand) => {
    words.textContent = t[key];
    command.hidden = !withCommand;
  };
  document.documentElement.lang = lang;
  document.title = t.login_title;
  document.getElementById('title').textContent = t.login_title;
  try {
    if (token) {
      say('login_wait', false);
      const status = await exchange(token);
      if (status === 429) return say('login_slow', false);
      if (status !== 200 && !(await loggedIn())) return say('login_bad', true);
      return location.replace('/');
    }
    if (await loggedIn()) return location.replace('/');
    say('login_help', true);
  } catch {
    say('login_down', false);
  }
}

addEventListener('hashchange', run);
run();
