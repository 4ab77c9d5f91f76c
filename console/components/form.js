// Owns forms: labelled fields, hints and errors, the error summary. What was typed stays.
import { el, nodes, uid } from '../dom.js';
import { t, word } from '../format.js';
import { personField } from './person-picker.js';
import { refusal } from './states.js';

/* {name, label, kind, value, optional, hint, options, max, ...}: kind text (default), textarea, date,
 * time, number, password, select, radio, cards (radio with a sentence each), check, person, file.
 * options [{value, label, hint}]. Answers {name, label, node, input, value(), error(message)}. */
export function field({ name, label, kind = 'text', value, optional, hint, options, max, change,
  attrs = {} }) {
  const id = uid();
  const fault = el('p', { class: 'error', id: `${id}e`, hidden: true });
  const described = [hint && `${id}h`, `${id}e`].filter(Boolean).join(' ');
  const common = { id, name, 'aria-describedby': described, autocomplete: 'off', ...attrs };
  const title = [label, optional && el('span', { class: 'muted' }, ` ${t('form.optional')}`)];
  const hinted = hint && el('p', { class: 'hint', id: `${id}h` }, ...nodes([hint]));
  const made = make();

  function make() {
    if (kind === 'select') {
      const input = el('select', common, options.map((one) => el('option', { value: one.value,
        selected: String(one.value) === String(value ?? '') }, one.label)));
      return { input, get: () => input.value };
    }
    if (kind === 'check') {
      const input = el('input', { ...common, type: 'checkbox', checked: Boolean(value) });
      return { input, get: () => input.checked };
    }
    if (kind === 'radio' || kind === 'cards') {
      const inputs = options.map((one, i) => el('input', {
        type: 'radio', name: name + id, id: i ? null : id, value: one.value, checked: one.value === value,
      }));
      const body = el('div', { class: kind === 'cards' ? 'choices' : 'radios' },
        inputs.map((input, i) => el('label', { class: kind === 'cards' ? 'choice' : 'radio' }, input,
          el('span', null, el('span', null, options[i].label),
            options[i].hint && el('small', null, options[i].hint)))));
      return { input: inputs[0], body, get: () => inputs.find((one) => one.checked)?.value ?? '' };
    }
    if (kind === 'person') {
      const box = personField({ id, name, label, value, change });
      box.input.setAttribute('aria-describedby', described);
      return { input: box.input, body: box.node, get: box.value };
    }
    const long = kind === 'textarea';
    const input = el(long ? 'textarea' : 'input', {
      ...common, type: long ? null : kind, rows: long ? 3 : null, maxlength: max,
      value: kind === 'file' ? null : value ?? '',
    });
    return { input, get: () => (kind === 'file' ? input.files[0] : input.value.trim()) };
  }

  const node = kind === 'radio' || kind === 'cards'
    ? el('fieldset', { class: 'field', 'aria-describedby': described },
      el('legend', null, title), hinted, fault, made.body)
    : kind === 'check'
      ? el('div', { class: 'field' }, el('label', { class: 'radio' }, made.input, el('span', null, label)),
        hinted, fault)
      : el('div', { class: `field ${kind}` }, el('label', { for: id }, title), hinted, fault,
        made.body || made.input);
  if (change && kind !== 'person') {
    node.addEventListener(kind === 'text' ? 'input' : 'change', () => change(made.get()));
  }
  const initial = made.get();
  return {
    name, label, node, input: made.input, value: made.get, changed: () => made.get() !== initial,
    error(message) {
      fault.replaceChildren(...nodes([message]));
      fault.hidden = !message;
      if (message) made.input.setAttribute('aria-invalid', 'true');
      else made.input.removeAttribute('aria-invalid');
    },
  };
}

/* fields: all of them; layout: nodes that hold theirs (default: the fields in order). check(values)
 * answers [{name, message}] of this page's own; run(values) does it, its refusal becomes the summary.
 * submit: the button's text; buttons: further ones before it. Answers {node, values(), dirty(),
 * faults(list), change(listener)}. */
export function form({ fields, layout, submit, check, run, buttons, label }) {
  const summary = el('div', { class: 'box bad summary', tabindex: '-1', hidden: true });
  const values = () => Object.fromEntries(fields.map((one) => [one.name, one.value()]));
  let working = false;

  function faults(list) {
    const of = (name) => fields.find((one) => one.name === name);
    fields.forEach((one) => one.error(''));
    summary.hidden = !list.length;
    if (!list.length) return;
    // A fault of the service is in English.
    const said = ({ message, english }) => (english
      ? el('span', { lang: 'en' }, el('bdi', null, message)) : message);
    list.forEach((fault) => of(fault.name)?.error([said(fault)]));
    summary.replaceChildren(el('div', null, el('h2', null, t('form.problem')),
      el('ul', null, list.map((fault) => {
        const one = of(fault.name);
        const words = [one ? one.label : word('field', fault.name), ': ', said(fault)];
        return el('li', null, one ? el('a', {
          href: `#${one.input.id}`,
          onclick: (event) => {
            event.preventDefault();
            one.input.closest('details')?.setAttribute('open', '');
            one.input.focus();
          },
        }, words) : words);
      }))));
    for (const fault of list) of(fault.name)?.input.closest('details')?.setAttribute('open', '');
    summary.focus();
  }
  function refused(error) {
    if (error.fields?.length) {
      faults(error.fields.map((one) => ({ ...one, english: true })));
      return;
    }
    summary.replaceChildren(refusal(error));
    summary.hidden = false;
    summary.focus();
  }
  const node = el('form', {
    novalidate: true, 'aria-label': label,
    onsubmit: async (event) => {
      event.preventDefault();
      if (working) return;
      const found = check?.(values()) || [];
      faults(found);
      if (found.length) return;
      working = true;
      node.setAttribute('aria-busy', 'true');
      try { await run(values()); } catch (error) {
        if (error.status === undefined) throw error;
        refused(error);
      } finally {
        working = false;
        node.removeAttribute('aria-busy');
      }
    },
  }, summary, layout || fields.map((one) => one.node),
  el('div', { class: 'form-foot' }, buttons, el('button', { class: 'button primary' }, submit)));
  return {
    node, values, faults, refused,
    dirty: () => fields.some((one) => one.changed()),
    change: (listener) => ['input', 'change'].forEach((name) => node.addEventListener(name, listener)),
  };
}

/* "is required" for each of the fields that is empty. */
export const required = (values, ...names) => names.filter((name) => !values[name])
  .map((name) => ({ name, message: t('form.required') }));
