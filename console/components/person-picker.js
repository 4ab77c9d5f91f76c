// Owns comboboxes: a field whose hits come from the service. Used to find a person, a manager, a
// company.
import { get } from '../api.js';
import { announce, el, later, uid } from '../dom.js';
import { t } from '../format.js';
import { person } from './page.js';

/* load(query, signal) answers items; text(item) is what the field shows when one is picked; render
 * is a node. pick(item), enter(words): Enter with nothing chosen. clear(): the field was emptied.
 * Answers {node, input, set(text)}; error and hint by the form. */
export function combobox({ id = uid(), label, value = '', placeholder, load, render, text, pick,
  enter, clear, hideLabel, name, type = 'text' }) {
  const listId = `${id}l`;
  let items = [], at = -1, asking;
  const hits = el('ul', { id: listId, role: 'listbox', 'aria-label': label, hidden: true });
  const input = el('input', {
    id, name, type, value, placeholder, role: 'combobox', 'aria-expanded': 'false',
    'aria-controls': listId, 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false',
    'aria-label': hideLabel ? label : null, maxlength: '256',
    oninput: () => { if (!input.value.trim()) { clear?.(); hide(); } else ask(input.value.trim()); },
    onkeydown: keys, onblur: () => setTimeout(hide, 150),
  });
  const ask = later(250, async (query) => {
    asking?.abort();
    asking = new AbortController();
    try {
      const found = await load(query, asking.signal);
      if (document.activeElement === input) show(found);
    } catch { hide(); } // the field still takes what is typed
  });
  function show(found) {
    items = found;
    at = -1;
    hits.replaceChildren(...(items.length ? items.map((item, i) => el('li', {
      id: `${id}-${i}`, role: 'option', 'aria-selected': 'false',
      onpointerdown: (event) => { event.preventDefault(); choose(i); },
    }, render(item))) : [el('li', { class: 'muted', role: 'option', 'aria-disabled': 'true' },
      t('picker.none'))]));
    hits.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    announce(t('list.hits', { n: items.length }), { quiet: true });
  }
  function hide() {
    hits.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  }
  function mark(to) {
    at = (to + items.length) % items.length;
    [...hits.children].forEach((one, i) => one.setAttribute('aria-selected', String(i === at)));
    hits.children[at].scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', `${id}-${at}`);
  }
  function choose(i) {
    input.value = text(items[i]);
    hide();
    pick(items[i]);
  }
  function keys(event) {
    const openNow = !hits.hidden && items.length;
    if (event.key === 'ArrowDown' && openNow) mark(at + 1);
    else if (event.key === 'ArrowUp' && openNow) mark(at < 0 ? -1 : at - 1);
    else if (event.key === 'Enter' && openNow && at >= 0) choose(at);
    else if (event.key === 'Enter' && enter) { hide(); asking?.abort(); enter(input.value.trim()); }
    else if (event.key === 'Escape' && !hits.hidden) { hide(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  }
  return {
    node: el('div', { class: 'combo' }, input, hits), input,
    set: (shown) => { input.value = shown; },
  };
}

const people = async (query, signal) => (await get('users', { query, limit: 8 }, signal)).items;
const nameOf = (one) => one.displayName || one.userPrincipalName || '';

/* Finds a person and goes on: the search of the frame. */
export const finder = ({ label, placeholder, pick, enter }) => combobox({
  label, placeholder, hideLabel: true, type: 'search', load: people, render: person, text: () => '',
  pick, enter,
});

/* A field of a form: {input, node, value()}, the value is the UPN. What was typed and not chosen
 * counts as a UPN, so that somebody who is only queued can be named. value: a person. */
export function personField({ id, name, label, value, change }) {
  let upn = value?.userPrincipalName || '';
  const box = combobox({
    id, name, label, value: value ? nameOf(value) : '', load: people, render: person, text: nameOf,
    pick: (one) => { upn = one.userPrincipalName; change?.(one); },
    clear: () => { upn = ''; change?.(null); },
  });
  box.input.addEventListener('input', () => { upn = box.input.value.trim(); });
  return { ...box, value: () => upn };
}
