// Owns filters above a list: a search field, a row of words, further ones folded; each that is set is
// a chip that can be taken away. They stand in the address under the names of the arguments.
import { el, icon, later, phone, redraw } from '../dom.js';
import { t } from '../format.js';
import { setQuery } from '../router.js';
import { field } from './form.js';
import { knownWords } from './words.js';

/* query: what the address says. search {name, label}: typed. words {name, label, options[{value,
 * label}]}: one of a row, folded on a phone. more: fields of form.js, folded; suggest: true offers words
 * of the people, which are asked for with signal. change(): the list is to be loaded.
 * Answers {view(), query(), clear(), set(values)}; arguments that are no filters (a tab) are kept. */
export function filters({ query, search, words, more = [], change, signal }) {
  const values = { ...query };
  const names = [search?.name, words?.name, ...more.map((one) => one.name)].filter(Boolean);
  const known = knownWords(signal);
  let typed = values[search?.name] || '', inputs;

  function set(given) {
    Object.assign(values, given);
    for (const name of Object.keys(values)) if (!values[name]) delete values[name];
    setQuery(values);
    redraw();
    change();
  }
  const clear = () => {
    typed = '';
    set(Object.fromEntries(names.map((name) => [name, ''])));
    fill();
  };
  const searched = later(250, () => set({ [search.name]: typed.trim() }));
  /* What is typed is taken when the field is left, or by Enter; half a name of a group is a fault. */
  function fill() {
    inputs = more.map((one) => {
      const own = () => inputs.find((each) => each.name === one.name).value();
      const take = (value) => set({ [one.name]: value === true ? 'true' : value || '' });
      return field({
        ...one, suggest: one.suggest && (() => known.of(one.name)),
        value: one.kind === 'person' ? values[one.name] && { userPrincipalName: values[one.name] }
          : values[one.name],
        change: one.kind === 'person' ? (person) => person && take(person.userPrincipalName)
          : ['select', 'check', 'date'].includes(one.kind) ? take : null,
        attrs: ['select', 'check', 'date'].includes(one.kind) ? one.attrs
          : { ...one.attrs, onchange: () => take(own()) },
      });
    });
  }
  fill();
  const shown = (one) => one.options?.find((option) => option.value === values[one.name])?.label
    ?? one.text?.(values[one.name]) ?? values[one.name];
  const chip = (one) => el('button', {
    type: 'button', class: 'chip', key: one.name,
    'aria-label': t('filters.remove', { filter: `${one.label} ${shown(one)}` }),
    onclick: () => { set({ [one.name]: '' }); fill(); },
  }, one.kind === 'check' ? one.label : [`${one.label}: `, el('bdi', null, shown(one))], icon('failed'));
  /* tools: what stands at the end of the row, such as the menu of the list. */
  function view(tools) {
    const inFold = words && phone.matches;
    const active = [inFold && words, ...more].filter((one) => one && values[one.name]);
    const alone = !search && (!words || inFold); // the fold begins the row
    const choice = words && el('div', { class: 'segments', role: 'group', 'aria-label': words.label },
      words.options.map((one) => el('button', {
        type: 'button', class: 'segment',
        'aria-pressed': String((values[words.name] || '') === one.value),
        onclick: () => set({ [words.name]: one.value }),
      }, one.label)));
    const fold = (more.length > 0 || inFold) && el('details', { class: 'fold',
      ontoggle: (event) => { if (event.currentTarget.open && more.some((one) => one.suggest)) {
        known.load(more.some((one) => one.name === 'license'));
      } } },
    el('summary', null, t(alone || phone.matches ? 'filters.alone' : 'filters.more')), inFold && choice,
    el('div', { class: 'grid' }, inputs.map((one) => one.view())));
    return el('div', { class: 'filters' },
      (!alone || tools) && el('div', { class: `filter-row${alone ? ' alone' : ''}` }, alone && fold,
        search && el('div', { class: 'search' }, icon('search'), el('input', {
          type: 'search', value: typed, autocomplete: 'off', maxlength: 256,
          'aria-label': search.label, placeholder: phone.matches ? t('filters.search') : search.label,
          oninput: (event) => { typed = event.target.value; searched(); },
          onkeydown: (event) => { if (event.key === 'Enter') event.preventDefault(); },
        })),
        !inFold && choice, tools && el('div', { class: 'tools' }, tools)),
      (!alone || !tools) && fold,
      active.length > 0 && el('div', { class: 'chips' }, active.map(chip), active.length > 1 && el('button',
        { type: 'button', class: 'button small plain', onclick: clear }, t('filters.clear'))));
  }
  return { view, query: () => ({ ...values }), clear, set };
}
