// Owns comboboxes: a field whose hits come from the service. Used to find a person, a manager, a
// company.
import { get } from '../api.js';
import { announce, el, later, redraw, uid } from '../dom.js';
import { t } from '../format.js';
import { person } from './page.js';

/* load(query, signal) answers items; text(item) is what the field shows when one is picked; render
 * is an element. pick(item), typed(words): neither picked nor empty; enter(words): Enter with nothing
 * chosen, where there is no such the only hit is chosen. group(item): the words under which its hits
 * stand together. pause: milliseconds after the last key. empty: the list opens without a word, too.
 * Answers {id, view(attributes), set(text), open()}. */
export function combobox({ id = uid(), label, value = '', placeholder, load, render, text, pick,
  enter, typed, hideLabel, name, type = 'text', group, pause = 250, empty }) {
  const listId = `${id}l`;
  let items = null, at = -1, asking, words = value;
  const input = () => document.getElementById(id);
  const ask = later(pause, async (query) => {
    asking?.abort();
    asking = new AbortController();
    try {
      const found = await load(query, asking.signal);
      if (document.activeElement !== input() || words.trim() !== query) return;
      [items, at] = [found, -1];
      announce(t('list.hits', { n: items.length }), { quiet: true });
      redraw();
    } catch { hide(); } // the field still takes what is typed
  });
  function hide() {
    items = null;
    redraw();
  }
  function mark(to) {
    at = (to + items.length) % items.length;
    redraw();
    requestAnimationFrame(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' }));
  }
  function choose(item) {
    words = text(item);
    hide();
    pick(item);
  }
  function keys(event) {
    const there = items?.length;
    if (event.key === 'ArrowDown' && there) mark(at + 1);
    else if (event.key === 'ArrowDown' && (empty || words.trim())) ask(words.trim());
    else if (event.key === 'ArrowUp' && there) mark(at < 0 ? -1 : at - 1);
    else if (event.key === 'Enter' && there && at >= 0) choose(items[at]);
    else if (event.key === 'Enter' && enter) { asking?.abort(); hide(); enter(words.trim()); }
    else if (event.key === 'Enter' && there === 1) choose(items[0]);
    else if (event.key === 'Enter' && there) mark(0); // several: which one is the person's to say
    else if (event.key === 'Escape' && items) { hide(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  }
  const option = (item, i) => el('li', {
    id: `${id}-${i}`, key: i, role: 'option', 'aria-selected': String(i === at),
    onpointerdown: (event) => { event.preventDefault(); choose(item); },
  }, render(item));
  const options = () => (!group ? items.map(option) : [...new Set(items.map(group))].map((words) => el('li', {
    role: 'group', 'aria-label': words, key: words,
  }, el('span', { class: 'menu-title', 'aria-hidden': 'true' }, words), el('ul', { role: 'none' },
    items.map((item, i) => group(item) === words && option(item, i))))));
  const view = (more) => el('div', { class: 'combo' }, el('input', {
    ...more, id, name, type, value: words, placeholder, role: 'combobox', 'aria-expanded': String(Boolean(items)),
    'aria-controls': listId, 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: false,
    'aria-label': hideLabel ? label : null, maxlength: '256',
    'aria-activedescendant': items && at >= 0 ? `${id}-${at}` : null,
    oninput: (event) => {
      words = event.target.value;
      typed?.(words.trim());
      if (empty || words.trim()) ask(words.trim()); else hide();
    },
    onkeydown: keys, onblur: () => setTimeout(hide, 150),
  }), el('ul', { id: listId, role: 'listbox', 'aria-label': label, hidden: !items },
    items && (items.length ? options() : el('li', { class: 'muted', role: 'option', 'aria-disabled': 'true' },
      t('picker.none')))));
  return { id, view, set: (shown) => { words = shown; redraw(); },
    open: () => { input()?.focus(); input()?.select(); if (empty) ask(words.trim()); } };
}

const people = async (query, signal) => (await get('users', { query, limit: 8 }, signal)).items;
const nameOf = (one) => one.displayName || one.userPrincipalName || '';

/* A field of a form: {id, view, value(), unclear()}, the value is the UPN. An address that is typed and
 * not chosen counts, so that a queued person can be named; a name alone identifies no person.
 * value: a person. */
export function personField({ id, name, label, value, change }) {
  let upn = value?.userPrincipalName || '', words = '';
  const box = combobox({
    id, name, label, value: value ? nameOf(value) : '', load: people, render: person, text: nameOf,
    pick: (one) => { upn = one.userPrincipalName; words = ''; change(one); },
    typed: (text) => {
      upn = text.includes('@') ? text : '';
      words = text;
      change(null);
    },
  });
  return { ...box, value: () => upn, unclear: () => Boolean(words && !upn) };
}
