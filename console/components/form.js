// Owns forms: labelled fields, hints and errors, the error summary. What was typed stays.
import { el, redraw, uid } from '../dom.js';
import { clockOf, dayOf, t, word } from '../format.js';
import { box } from './page.js';
import { personField } from './person-picker.js';
import { quote, refusal } from './states.js';

/* {name, label, kind, value, optional, hint, options, max, ...}: kind text (default), textarea, date,
 * time, number, password, select, radio, cards (radio with a sentence each), check, checks (several, the value is their list), person, file.
 * options [{value, label, hint}]; hint may be a function. suggest(): words that are offered while a
 * text is typed. change(value) is called for what the person
 * does, of a person with the person. Answers {name, label, id, view(), value(), set(value),
 * error(message), changed(), unclear()}. */
export function field({ name, label, kind = 'text', value, optional, hint, options, max, change, suggest,
  attrs = {} }) {
  const id = uid();
  let given = kind === 'checks' ? value || [] : kind === 'check' ? Boolean(value) : kind === 'file' ? undefined : String(value ?? '');
  let fault = '';
  if (kind === 'select' && !options.some((one) => String(one.value) === given)) given = String(options[0]?.value ?? '');
  const told = (what) => { change?.(what); redraw(); };
  const take = (next) => { given = next; told(read()); };
  const box = kind === 'person' && personField({ id, name, label, value, change: told });
  const read = () => (box ? box.value() : typeof given === 'string' ? given.trim() : given);
  const initial = read();
  const oninput = (event) => take(event.target.value);

  function control(common) {
    if (box) return box.view({ ...common, ...attrs });
    if (kind === 'select') {
      return el('select', { ...common, onchange: oninput }, options.map((one) => el('option',
        { value: one.value, selected: String(one.value) === given }, one.label)));
    }
    if (kind === 'check') {
      return el('input', { ...common, type: 'checkbox', checked: given,
        onchange: (event) => take(event.target.checked) });
    }
    if (kind === 'checks') {
      const turn = (one, on) => take(options.map((each) => each.value).filter((each) =>
        (each === one ? on : given.includes(each))));
      return el('div', { class: 'radios' }, options.map((one, i) => el('label', { class: 'radio' }, el('input', {
        type: 'checkbox', id: i ? null : id, name, value: one.value, checked: given.includes(one.value),
        onchange: (event) => turn(one.value, event.target.checked),
      }), el('span', null, el('span', null, one.label), one.hint && el('small', null, one.hint)))));
    }
    if (kind === 'radio' || kind === 'cards') {
      return el('div', { class: kind === 'cards' ? 'choices' : 'radios' }, options.map((one, i) =>
        el('label', { class: kind === 'cards' ? 'choice' : 'radio' }, el('input', {
          type: 'radio', name: name + id, id: i ? null : id, value: one.value, checked: one.value === given,
          onchange: () => take(one.value),
        }), el('span', null, el('span', null, one.label), one.hint && el('small', null, one.hint)))));
    }
    if (kind === 'textarea') return el('textarea', { ...common, rows: 3, maxlength: max, value: given, oninput });
    return kind === 'file' ? el('input', { ...common, type: kind, onchange: (event) => take(event.target.files[0]) })
      : [el('input', { ...common, type: kind, maxlength: max, value: given, oninput,
        list: suggest && `${id}s` }),
      suggest && el('datalist', { id: `${id}s` }, suggest().map((word) => el('option', { value: word })))];
  }

  function view() {
    const described = [hint && `${id}h`, `${id}e`].filter(Boolean).join(' ');
    const made = control({ id, name, 'aria-describedby': described, autocomplete: 'off',
      'aria-invalid': fault ? 'true' : null, ...attrs });
    const title = [label, optional && el('span', { class: 'muted' }, ` ${t('form.optional')}`)];
    const hinted = hint && el('p', { class: 'hint', id: `${id}h` }, typeof hint === 'function' ? hint() : hint);
    const wrong = el('p', { class: 'error', id: `${id}e`, hidden: !fault }, fault);
    if (['radio', 'cards', 'checks'].includes(kind)) {
      return el('fieldset', { class: 'field', key: id, 'aria-describedby': described },
        el('legend', null, title), hinted, wrong, made);
    }
    return kind === 'check'
      ? el('div', { class: 'field', key: id }, el('label', { class: 'radio' }, made, el('span', null, label)),
        hinted, wrong)
      : el('div', { class: `field ${kind}`, key: id }, el('label', { for: id }, title), hinted, wrong, made);
  }
  return {
    name, label, id, view, value: read, changed: () => read() !== initial,
    unclear: () => Boolean(box && box.unclear()),
    set: (next) => { given = next; redraw(); },
    error: (message) => { fault = message; },
  };
}

/* fields: all of them; layout(): elements that hold theirs (default: the fields in order). check(values)
 * answers [{name, message}] of this page's own; run(values) does it, its refusal becomes the summary.
 * submit: the button's text; buttons: further ones before it; change(): something was typed or chosen. Answers {view(), values(), dirty()}. */
export function form({ fields, layout = () => fields.map((one) => one.view()), submit, check, run, buttons,
  label, change }) {
  const id = uid();
  const values = () => Object.fromEntries(fields.map((one) => [one.name, one.value()]));
  const of = (name) => fields.find((one) => one.name === name);
  let working = false, faults = [], refused;

  /* A fold that holds a field opens for it. */
  const reach = (one) => {
    const node = document.getElementById(one.id);
    node?.closest('details')?.setAttribute('open', '');
    return node;
  };
  function tell(list, error) {
    [faults, refused] = [list, error];
    for (const one of fields) {
      const own = list.find((fault) => fault.name === one.name);
      one.error(own ? said(own) : '');
      if (own) reach(one);
    }
    redraw();
    if (list.length || error) setTimeout(() => document.getElementById(id)?.focus());
  }
  const said = ({ message, english }) => (english ? quote(message) : message);
  const line = (fault) => {
    const one = of(fault.name);
    const words = [one ? one.label : word('field', fault.name), ': ', said(fault)];
    return el('li', null, one ? el('a', {
      href: `#${one.id}`, onclick: (event) => { event.preventDefault(); reach(one)?.focus(); },
    }, words) : words);
  };
  async function submitted(event) {
    event.preventDefault();
    if (working) return;
    const unclear = fields.filter((one) => one.unclear()).map(({ name }) => ({ name, message: t('form.pick') }));
    const found = [...unclear, ...(check?.(values()) || [])
      .filter((fault) => !unclear.some((one) => one.name === fault.name))];
    tell(found);
    if (found.length) return;
    working = true;
    redraw();
    try { await run(values()); } catch (error) {
      if (error.status === undefined) throw error;
      if (error.fields?.length) tell(error.fields.map((one) => ({ ...one, english: true }))); else tell([], error);
    } finally {
      working = false;
      redraw();
    }
  }
  const view = () => el('form', { novalidate: true, 'aria-label': label, onsubmit: submitted,
    oninput: change, onchange: change,
    'aria-busy': working ? 'true' : null },
  el('div', { id, class: refused ? 'summary' : 'box bad summary', tabindex: '-1', hidden: !faults.length && !refused },
    refused ? refusal(refused) : el('div', null, el('h2', null, t('form.problem')), el('ul', null, faults.map(line)))),
  layout(), el('div', { class: 'form-foot' }, buttons, el('button', { class: 'button primary' }, submit)));
  return { view, values, dirty: () => fields.some((one) => one.changed()) };
}

/* Why, for colleagues: the record of the call keeps it, the task shows it. */
export const comment = () => field({ name: 'comment', label: t('act.comment'), optional: true, max: 500,
  hint: t('act.commentHint') });

/* "is required" for each of the fields that is empty. */
export const required = (values, ...names) => names.filter((name) => !values[name])
  .map((name) => ({ name, message: t('form.required') }));

/* A field that stands where the moment of values() has passed, which is "now" for all at once: a word is
 * typed for it. check() answers what is wrong. */
export function pastField(values) {
  const one = field({ name: 'typed', label: t('confirm.type', { text: t('confirm.now') }),
    attrs: { autocapitalize: 'none', spellcheck: false } });
  const passed = () => {
    const { date, time } = values();
    return Boolean(date) && `${date} ${time || '00:00'}` <= `${dayOf()} ${clockOf()}`;
  };
  return { ...one, passed, view: () => passed() && [box('warn', t('moment.past')), one.view()],
    check: () => (passed() && one.value().toLowerCase() !== t('confirm.now')
      ? [{ name: 'typed', message: t('confirm.mismatch') }] : []) };
}
