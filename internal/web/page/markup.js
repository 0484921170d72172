// The only place that turns text into HTML. The daemon has made the HTML from
// its own block tree; here everything that such HTML never contains is taken
// out once more before it is shown.

import { t } from './words.js';

const allowed = new Set(['P', 'BR', 'HR', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'UL', 'OL', 'LI', 'BLOCKQUOTE', 'PRE', 'CODE',
  'STRONG', 'B', 'EM', 'I', 'DEL', 'S', 'A', 'TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD', 'SPAN', 'DIV', 'INPUT', 'DL', 'DT', 'DD']);
const attributes = new Set(['href', 'class', 'start', 'value', 'align', 'type', 'checked', 'disabled', 'colspan', 'data-lang', 'scope']);

const policy = globalThis.trustedTypes?.createPolicy('cligate', { createHTML: (html) => html });

// parse returns the fragment that shows html.
export function parse(html) {
  const holder = document.createElement('template');
  holder.innerHTML = policy ? policy.createHTML(html) : html;
  clean(holder.content);
  dress(holder.content);
  return holder.content;
}

function clean(root) {
  for (const e of root.querySelectorAll('*')) {
    if (!allowed.has(e.tagName) || (e.tagName === 'INPUT' && e.getAttribute('type') !== 'checkbox')) {
      e.replaceWith(document.createTextNode(e.textContent));
      continue;
    }
    for (const a of [...e.attributes]) {
      if (!attributes.has(a.name)) e.removeAttribute(a.name);
    }
    if (e.tagName === 'A') cleanLink(e);
    if (e.tagName === 'INPUT') e.disabled = true;
  }
}

function cleanLink(link) {
  if (!/^(https?:|mailto:|tg:)/i.test(link.getAttribute('href') || '')) link.removeAttribute('href');
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
}

// dress adds what a reader needs: wide tables scroll by themselves, code has a
// button that copies it.
function dress(root) {
  for (const table of root.querySelectorAll('table')) {
    const box = document.createElement('div');
    box.className = 'scroller';
    box.tabIndex = 0;
    table.replaceWith(box);
    box.append(table);
  }
  for (const pre of root.querySelectorAll('pre')) {
    const box = document.createElement('div');
    const bar = document.createElement('div');
    const lang = document.createElement('span');
    const copy = document.createElement('button');
    box.className = 'code';
    bar.className = 'bar';
    lang.textContent = language(pre);
    copy.type = 'button';
    copy.className = 'plain copy';
    copy.textContent = t('copy');
    bar.append(lang, copy);
    pre.tabIndex = 0;
    pre.replaceWith(box);
    box.append(bar, pre);
  }
}

function language(pre) {
  const code = pre.querySelector('code');
  const named = pre.dataset.lang || code?.dataset.lang;
  return named || [...(code?.classList || [])].find((c) => c.startsWith('language-'))?.slice(9) || '';
}

// copyCode puts a code block's text on the clipboard.
export async function copyCode(button) {
  const pre = button.closest('.code').querySelector('pre');
  const text = pre.textContent.replace(/\n$/, '');
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not a secure page, or not allowed: select it, the person can copy it
    const range = document.createRange();
    range.selectNodeContents(pre);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (!document.execCommand('copy')) return;
  }
  button.textContent = t('copied');
  setTimeout(() => { button.textContent = t('copy'); }, 1500);
}
