// The page's texts, in the language that the browser prefers.

let texts = {};

export async function load() {
  const answer = await fetch('/texts/' + encodeURIComponent(navigator.language) + '.json');
  const got = await answer.json();
  texts = got.texts;
  document.documentElement.lang = got.lang;
  document.title = t('title');
  for (const e of document.querySelectorAll('[data-text]')) e.textContent = t(e.dataset.text);
  for (const e of document.querySelectorAll('[data-label]')) e.setAttribute('aria-label', t(e.dataset.label));
  for (const e of document.querySelectorAll('[data-hint]')) e.placeholder = t(e.dataset.hint);
}

// t returns the text of a key; values replace {placeholders}.
export function t(key, values = {}) {
  const form = texts[key] ?? key;
  return form.replace(/\{([a-z_]+)\}/g, (hole, name) => (name in values ? String(values[name]) : hole));
}
