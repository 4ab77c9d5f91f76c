// Owns filters above a list: a search field, a row of words, further ones folded; each that is set is
// a chip that can be taken away. They stand in the address under the names of the arguments.
import { el, icon, later, uid } from '../dom.js';
import { t } from '../format.js';
import { setQuery } from '../router.js';
import { field } from './form.js';

/* query: what the address says. search {name, label}: typed. words {name, label, options[{value,
 * label}]}: one of a row. more: fields of form.js, folded. change(): the list is to be loaded.
 * Answers {node, query(), clear(), set(values)}; arguments that are no filters (a tab) are kept. */
export function filters({ query, search, words, more = [], change }) {
  const values = { ...query };
  const names = [search?.name, words?.name, ...more.map((one) => one.name)].filter(Boolean);
  const chips = el('div', { class: 'chips' });
  const folded = el('details', { class: 'fold' }, el('summary', null, t('filters.more')));
  let inputs = [];

  function set(given) {
    Object.assign(values, given);
    for (const name of Object.keys(values)) if (!values[name]) delete values[name];
    setQuery(values);
    draw();
    change();
  }
  const clear = () => {
    set(Object.fromEntries(names.map((name) => [name, ''])));
    if (input) input.value = '';
    drawMore();
  };
  const input = search && el('input', {
    type: 'search', id: uid(), value: values[search.name] || '', autocomplete: 'off', maxlength: 256,
    'aria-label': search.label, placeholder: search.label,
    oninput: later(250, () => set({ [search.name]: input.value.trim() })),
    onkeydown: (event) => { if (event.key === 'Enter') event.preventDefault(); },
  });
  const row = words && el('div', { class: 'segments', role: 'group', 'aria-label': words.label });

  function draw() {
    row?.replaceChildren(...words.options.map((one) => el('button', {
      type: 'button', class: 'segment', 'aria-pressed': String((values[words.name] || '') === one.value),
      onclick: () => { set({ [words.name]: one.value }); focusWord(one.value); },
    }, one.label)));
    const active = more.filter((one) => values[one.name]);
    chips.replaceChildren(...active.map((one) => el('button', {
      type: 'button', class: 'chip',
      'aria-label': t('filters.remove', { filter: `${one.label} ${shown(one)}` }),
      onclick: () => { set({ [one.name]: '' }); drawMore(); },
    }, one.kind === 'check' ? one.label : [`${one.label}: `, el('bdi', null, shown(one))],
    icon('failed'))),
    ...(active.length > 1 ? [el('button', { type: 'button', class: 'button small plain', onclick: clear },
      t('filters.clear'))] : []));
    chips.hidden = !active.length;
  }
  const focusWord = (value) => row.children[words.options.findIndex((one) => one.value === value)]
    .focus();
  const shown = (one) => one.options?.find((option) => option.value === values[one.name])?.label
    ?? one.text?.(values[one.name]) ?? values[one.name];
  function drawMore() {
    inputs = more.map((one) => field({
      ...one,
      value: one.kind === 'person' ? values[one.name] && { userPrincipalName: values[one.name] }
        : values[one.name],
      change: null,
    }));
    inputs.forEach((one, i) => one.node.addEventListener('change', () => setTimeout(() => set({
      [more[i].name]: one.value() === true ? 'true' : one.value() || '',
    }), 200))); // a person is chosen after the field was left
    folded.replaceChildren(folded.firstChild, el('div', { class: 'grid' }, inputs.map((one) => one.node)));
  }
  draw();
  if (more.length) drawMore();
  return {
    node: el('div', { class: 'filters' },
      el('div', { class: 'filter-row' }, input && el('div', { class: 'search' }, icon('search'), input), row),
      more.length ? folded : null, chips),
    query: () => ({ ...values }), clear, set,
  };
}
