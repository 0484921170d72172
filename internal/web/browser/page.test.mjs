// The chat page in a headless Chromium. CHROMIUM is the browser's path, CONTROL
// the address at which the test's daemon is started, stopped and asked for
// one-time login addresses, SHOTS an optional folder for screenshots.

import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const { CHROMIUM, CONTROL, SHOTS } = process.env;
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
});
after(() => browser?.close());

const control = async (what) => (await fetch(CONTROL + '/' + what)).text();

// visit opens a browser of its own, logged in, and notes what goes wrong in it.
async function visit(options = {}) {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1100, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.wrong = [];
  page.on('pageerror', (e) => page.wrong.push(String(e)));
  page.on('console', (m) => {
    if (m.type() === 'error' && !/ERR_CONNECTION|Failed to load resource/.test(m.text())) page.wrong.push(m.text());
  });
  await page.goto(await control('link'));
  await connected(page);
  return page;
}

const connected = (page) => page.locator('#state.connected').waitFor();
const messages = (page, of = '') => page.locator('.message' + of);

async function say(page, text) {
  await page.fill('#text', text);
  await page.press('#text', 'Enter');
}

async function fresh(page) {
  await page.click('#new');
  await connected(page);
  await page.locator('#empty').waitFor();
}

async function shot(page, name) {
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png` });
}

function clean(page) {
  assert.deepEqual(page.wrong, []);
}

test('a one-time address logs in once, and leaves no secret behind', async () => {
  const link = await control('link');
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await connected(page);
  assert.ok(!page.url().includes('token'), page.url());
  await page.goBack().catch(() => {});
  assert.ok(!page.url().includes('token'), page.url());
  const other = await (await browser.newContext()).newPage();
  await other.goto(link);
  await other.getByText('used already').waitFor();
  await shot(other, 'login');
  await other.goto(new URL('/', link).href);
  await other.getByText('one-time address').waitFor();
  await other.context().close();
  await context.close();
});

test('an answer streams into one message that the final replaces', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'stream please');
  const live = messages(page, '.progress');
  await live.getByText('word3').waitFor();
  await live.getByRole('button', { name: 'Stop' }).waitFor();
  await shot(page, 'streaming');
  await messages(page, '.answer').getByText('word11').waitFor();
  await live.getByText('done in 1 s').waitFor();
  assert.equal(await messages(page).count(), 3);
  assert.equal(await live.getByRole('button').count(), 0);
  clean(page);
  await page.context().close();
});

test('panels are folded, and stay as the reader left them while they grow', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'look into it');
  const live = messages(page, '.progress');
  const thinking = live.locator('details.panel').filter({ hasText: 'Thinking' });
  const tools = live.locator('details.panel').filter({ hasText: 'Tools' });
  await thinking.locator('summary').waitFor();
  assert.equal(await thinking.locator('pre').isVisible(), false, 'unfolded by itself');
  await thinking.locator('summary').click();
  await thinking.getByText('<script>window.pwned=6</script>').waitFor();
  await shot(page, 'panels');
  await thinking.getByText('thought 12').waitFor();
  assert.equal(await thinking.evaluate((e) => e.open), true, 'folded while it grew');
  assert.equal(await tools.evaluate((e) => e.open), false, 'another one was unfolded');
  await live.getByText('done in 6 s').waitFor();
  assert.equal(await live.locator('details').count(), 0);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  clean(page);
  await page.context().close();
});

test('a request is approved by its button, in every browser', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'ask me');
  const ask = messages(page, '.ask');
  await ask.getByRole('button', { name: 'Allow' }).waitFor();
  await shot(page, 'ask');
  const other = await visit();
  await other.goto(page.url());
  const seen = messages(other, '.ask');
  await seen.getByRole('button', { name: 'Allow' }).waitFor();
  await ask.getByRole('button', { name: 'Allow' }).click();
  await ask.getByText('Allowed').waitFor();
  await seen.getByText('Allowed').waitFor();
  assert.equal(await seen.getByRole('button').count(), 0);
  await messages(page, '.answer').getByText('ran it').waitFor();
  clean(page);
  clean(other);
  await page.context().close();
  await other.context().close();
});

test('a reload and a restart of the daemon keep the history and the login', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'remember the word plum');
  await messages(page, '.answer').getByText('plum').waitFor();
  await page.reload();
  await connected(page);
  assert.equal(await messages(page).count(), 2);
  await control('restart');
  await page.locator('#state:not(.connected)').waitFor();
  await connected(page);
  await say(page, 'what was the word');
  await messages(page, '.answer').nth(1).waitFor();
  assert.equal(await messages(page).count(), 4);
  await page.context().close();
});

test('what is sent while the daemon is down arrives once when it is back', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'before');
  await messages(page, '.answer').getByText('before').waitFor();
  await control('stop');
  await page.locator('#state.offline').waitFor();
  await say(page, 'while down');
  await page.getByText('not sent yet').waitFor();
  await control('start');
  await messages(page, '.answer').getByText('while down').waitFor();
  await connected(page);
  await page.reload();
  await connected(page);
  assert.equal(await messages(page, '.mine').filter({ hasText: 'while down' }).count(), 1);
  assert.equal(await messages(page, '.answer').filter({ hasText: 'while down' }).count(), 1);
  await page.context().close();
});

test('a message whose answer was lost is sent again and arrives once', async () => {
  const page = await visit();
  await fresh(page);
  let lost = 0;
  await page.route('**/messages', async (route) => {
    await route.fetch(); // it arrives
    if (lost++ < 2) await route.abort(); // and the page never learns of it
    else await route.continue();
  });
  await say(page, 'only once');
  await messages(page, '.answer').waitFor();
  while (lost < 3) await page.waitForTimeout(100);
  await page.unroute('**/messages');
  await page.reload();
  await connected(page);
  assert.equal(await messages(page).count(), 2);
  assert.equal(await page.evaluate(() => localStorage.getItem('cligate-unsent')), '[]');
  await page.context().close();
});

test('a browser whose clock is wrong keeps the order', async () => {
  for (const off of [-3600e3, 3600e3]) {
    const page = await visit();
    await page.addInitScript((by) => { const now = Date.now; Date.now = () => now() + by; }, off);
    await page.reload();
    await fresh(page);
    for (const word of ['first', 'second']) {
      await say(page, word);
      await messages(page, '.answer').getByText(word).waitFor();
    }
    const shown = await messages(page).locator('.body').allTextContents();
    assert.deepEqual(shown.map((s) => s.trim()), ['first', 'You said: first', 'second', 'You said: second']);
    await page.context().close();
  }
});

test('news of another chat is marked in the list', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'this chat');
  await messages(page, '.answer').waitFor();
  const other = await visit();
  await fresh(other);
  await say(other, 'elsewhere');
  await messages(other, '.answer').waitFor();
  await page.locator('#chats a.news').getByText('elsewhere').waitFor();
  await page.locator('#chats a').getByText('elsewhere').click();
  await messages(page, '.answer').getByText('elsewhere').waitFor();
  assert.equal(await page.locator('#chats a.news').count(), 0);
  clean(page);
  await page.context().close();
  await other.context().close();
});

test('two chats stay apart and are both in the list', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'alpha chat');
  await messages(page, '.answer').waitFor();
  const first = page.url();
  await fresh(page);
  await say(page, 'beta chat');
  await messages(page, '.answer').waitFor();
  assert.equal(await messages(page).filter({ hasText: 'alpha' }).count(), 0);
  await page.locator('#chats a').getByText('beta chat').waitFor();
  await page.locator('#chats a').getByText('alpha chat').click();
  await messages(page, '.answer').getByText('alpha').waitFor();
  assert.equal(page.url(), first);
  assert.equal(await messages(page).count(), 2);
  assert.equal(await page.locator('#title').textContent(), 'alpha chat');
  clean(page);
  await page.context().close();
});

test('Markdown is shown, code can be copied', async () => {
  const page = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  await fresh(page);
  await say(page, 'rich');
  const answer = messages(page, '.answer');
  await answer.locator('table td', { hasText: '1234' }).waitFor();
  assert.equal(await answer.locator('pre code').textContent(), 'func main() {\n\tprintln("<hello>")\n}\n');
  assert.equal(await answer.locator('a[href^="https://example.com"]').getAttribute('rel'), 'noopener noreferrer nofollow');
  await answer.getByRole('button', { name: 'Copy' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'func main() {\n\tprintln("<hello>")\n}');
  await shot(page, 'rich');
  clean(page);
  await page.context().close();
});

test('nothing that a model writes runs or is fetched', async () => {
  const page = await visit();
  const fetched = [];
  page.on('request', (r) => { if (r.url().includes('evil')) fetched.push(r.url()); });
  await fresh(page);
  await say(page, 'evil');
  await messages(page, '.answer').getByText('after').waitFor();
  await page.reload();
  await messages(page, '.answer').getByText('after').waitFor();
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator('.message script, .message img, .message svg, .message [onerror], .message a[href^="javascript"]').count(), 0);
  assert.deepEqual(fetched, []);
  clean(page);
  await page.context().close();
});

test('the policy of the page forbids inline scripts', async () => {
  const page = await visit();
  const ran = await page.evaluate(() => {
    const s = document.createElement('script');
    try {
      s.textContent = 'window.inline = 1';
    } catch { /* refused already here */ }
    document.body.append(s);
    return window.inline;
  });
  assert.equal(ran, undefined);
  await page.context().close();
});

test('Enter sends, Shift+Enter does not, a composed character neither', async () => {
  const page = await visit();
  await fresh(page);
  await page.focus('#text');
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  await page.evaluate(() => document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true })));
  assert.equal(await messages(page).count(), 0);
  await page.keyboard.press('Enter');
  await messages(page, '.answer').waitFor();
  assert.equal(await messages(page, '.mine').locator('.body').textContent(), 'one\ntwo');
  clean(page);
  await page.context().close();
});

test('a waiting message shows its mark and can be edited', async () => {
  const page = await visit();
  await fresh(page);
  await say(page, 'silent wait');
  const mine = messages(page, '.mine');
  await mine.getByText('😴').waitFor();
  await mine.getByRole('button', { name: 'Edit' }).click();
  assert.equal(await page.inputValue('#text'), 'silent wait');
  await shot(page, 'editing');
  await page.fill('#text', 'silent still');
  await page.press('#text', 'Enter');
  await mine.getByText('silent still').waitFor();
  assert.equal(await messages(page).count(), 1);
  clean(page);
  await page.context().close();
});

test('a phone in Chinese at night', async () => {
  const page = await visit({ locale: 'zh-CN', viewport: { width: 390, height: 780 }, colorScheme: 'dark', isMobile: true, hasTouch: true });
  await page.click('#menu');
  await page.getByRole('button', { name: '新对话' }).click();
  await page.locator('#empty').waitFor();
  await shot(page, 'phone-empty');
  await say(page, 'rich');
  await messages(page, '.answer').locator('table').waitFor();
  await say(page, 'ask');
  await messages(page, '.ask').getByRole('button', { name: 'Allow' }).waitFor();
  await shot(page, 'phone');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, 'the page is wider than the phone');
  await page.click('#menu');
  await page.locator('body.menu #chats').waitFor();
  await shot(page, 'phone-menu');
  clean(page);
  await page.context().close();
});

test('a stranger is let in from the page', async () => {
  const page = await visit();
  await page.click('#access-open');
  await page.locator('#strangers').getByText('777').waitFor();
  assert.equal(await page.locator('#strangers b').count(), 0);
  await shot(page, 'access');
  await page.getByRole('button', { name: 'Let in', exact: true }).click();
  await page.getByText('Nobody is waiting').waitFor();
  clean(page);
  await page.context().close();
});

test('who logs out is out', async () => {
  const page = await visit();
  await page.click('#logout');
  await page.getByText('one-time address').waitFor();
  await page.goto(new URL('/', page.url()).href);
  await page.getByText('one-time address').waitFor();
  await page.context().close();
});

test('the parts of the page have names', async () => {
  const page = await visit();
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, textarea, a, nav, dialog')]
    .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML));
  assert.deepEqual(nameless, []);
  assert.equal(await page.locator('[data-text]').evaluateAll((all) => all.filter((e) => !e.textContent || e.textContent === e.dataset.text).length), 0);
  await page.context().close();
});
