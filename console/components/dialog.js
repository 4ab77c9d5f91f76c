// Owns dialogs: native <dialog>, labelled by its heading. Each answers a promise: the value of the
// button that ended it, undefined when the person went back.
import { newKey } from '../api.js';
import { el, nodes, uid } from '../dom.js';
import { rich, t } from '../format.js';
import { refusal } from './states.js';

/* buttons [{label, kind: 'primary'|'danger'|'plain', run}]: run's answer is the dialog's; false
 * keeps it open, a refusal is shown in it. back: text of the button that dismisses, null for none.
 * locked: neither Escape nor a click outside closes. first: the node that gets the focus, else the
 * heading. ready(close) is called when it stands. */
export function open({ title, body, buttons = [], back = t('back'), locked, first, wide, ready }) {
  const opener = document.activeElement;
  const id = uid();
  const heading = el('h2', { id, tabindex: '-1' }, title);
  const trouble = el('div', { role: 'alert' });
  return new Promise((resolve) => {
    let answer, working = false;
    const close = (value) => { answer = value; node.close(); };
    const press = (one) => async (event) => {
      if (working) return;
      working = true;
      event.currentTarget.setAttribute('aria-busy', 'true');
      trouble.replaceChildren();
      const button = event.currentTarget;
      try {
        const value = one.run ? await one.run() : one.value ?? true;
        if (value !== false) close(value);
      } catch (error) {
        trouble.replaceChildren(refusal(error));
        trouble.scrollIntoView({ block: 'nearest' });
      }
      working = false;
      button.removeAttribute('aria-busy');
    };
    const node = el('dialog', {
      class: wide ? 'wide' : null, 'aria-labelledby': id, closedby: locked ? 'none' : null,
      // A prevented cancel event alone lets the first Escape through.
      onkeydown: (event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        if (locked || working) event.preventDefault();
      },
      oncancel: (event) => { if (locked || working) event.preventDefault(); },
      onclose: () => {
        node.remove();
        const target = opener?.isConnected && opener !== document.body
          ? opener : document.querySelector('#page h1');
        target?.focus({ preventScroll: true });
        resolve(answer);
      },
    },
    el('div', { class: 'dialog-body' }, heading, ...nodes([body]), trouble),
    el('div', { class: 'dialog-foot' },
      back && el('button', { type: 'button', class: 'button', onclick: () => working || close() },
        back),
      buttons.map((one) => el('button', {
        type: 'button', class: `button ${one.kind || ''}`, onclick: press(one),
      }, one.label))));
    document.body.append(node);
    node.showModal();
    (first || heading).focus();
    ready?.(close);
  });
}

/* A question before a write. run(key): key is made when the question opens, so that a second press
 * after a lost answer means the same write. typed: what must be typed first. The button that was
 * pressed too early says what is missing. */
export function confirm({ title, body, verb, danger, back, typed, run, wide }) {
  const key = newKey();
  const label = typed && uid();
  const hint = el('p', { class: 'error', id: typed && `${label}e` });
  const input = typed && el('input', {
    id: label, type: 'text', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
    'aria-describedby': `${label}e`,
  });
  return open({
    title, back, wide, first: input,
    body: [body, typed && el('div', { class: 'field' },
      el('label', { for: label }, rich('confirm.type', { text: el('bdi', { class: 'code' }, typed) })),
      input, hint)],
    buttons: [{
      label: verb, kind: danger ? 'danger' : 'primary',
      run: () => {
        if (typed && input.value.trim().toLowerCase() !== typed.toLowerCase()) {
          hint.textContent = t('confirm.mismatch');
          input.setAttribute('aria-invalid', 'true');
          input.focus();
          return false;
        }
        hint.textContent = '';
        input?.removeAttribute('aria-invalid');
        return run(key);
      },
    }],
  });
}

/* One answer of several: options [{label, value, kind}]. */
export const choose = ({ title, text, body, options, back }) => open({
  title, back, body: [text && el('p', null, text), body],
  buttons: options.map(({ label, value, kind }) => ({ label, value, kind })),
});
