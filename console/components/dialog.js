// Owns dialogs: native <dialog>, labelled by its heading. Each answers a promise: the value of the
// button that ended it, undefined when the person went back.
import { newKey } from '../api.js';
import { draw, el, redraw, uid, useLayoutEffect, useRef } from '../dom.js';
import { rich, t } from '../format.js';
import { refusal, safely } from './states.js';

let all = [];

/* buttons [{label, kind: 'primary'|'danger'|'plain', run}]: run's answer is the dialog's; false
 * keeps it open, a refusal is shown in it. body: elements, or a function that is asked at each
 * drawing. back: text of the button that dismisses, null for none. locked: neither Escape nor a click
 * outside closes. first: ID of what gets the focus, else the heading. ready(close) is called when it
 * stands. */
export function open({ back = t('back'), buttons = [], ready, ...rest }) {
  return new Promise((resolve) => {
    const one = { id: uid(), back, buttons, opener: document.activeElement, resolve, ...rest };
    all = [...all, one];
    draw();
    ready?.((answer) => end(one, answer));
  });
}

function end(one, answer) {
  one.answer = answer;
  document.getElementById(one.id)?.closest('dialog').close();
}
function closed(one) {
  all = all.filter((each) => each !== one);
  draw();
  const target = one.opener?.isConnected && one.opener !== document.body
    ? one.opener : document.querySelector('#page h1');
  target?.focus({ preventScroll: true });
  one.resolve(one.answer);
}

/* A question belongs to its page; one that is locked ("signed out") stays. */
export const closeAll = () => all.filter((one) => !one.locked).forEach((one) => end(one));

async function press(one, button) {
  if (one.working) return;
  one.working = button;
  one.trouble = null;
  redraw();
  try {
    const value = button.run ? await button.run() : button.value ?? true;
    if (value !== false) end(one, value);
  } catch (error) { one.trouble = error; }
  one.working = null;
  redraw();
}

function Dialog({ one }) {
  const node = useRef();
  useLayoutEffect(() => {
    node.current.showModal();
    document.getElementById(one.first || one.id).focus();
  }, []);
  return el('dialog', {
    class: one.wide ? 'wide' : null, 'aria-labelledby': one.id, closedby: one.locked ? 'none' : null,
    ref: node,
    // A prevented cancel event alone lets the first Escape through.
    onkeydown: (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      if (one.locked || one.working) event.preventDefault();
    },
    oncancel: (event) => { if (one.locked || one.working) event.preventDefault(); },
    onclose: (event) => event.target === node.current && closed(one),
  },
  el('div', { class: 'dialog-body' }, el('h2', { id: one.id, tabindex: '-1' }, one.title),
    typeof one.body === 'function' ? safely(one.body) : one.body,
    el('div', { role: 'alert' }, one.trouble && refusal(one.trouble))),
  el('div', { class: 'dialog-foot' },
    one.back && el('button', { type: 'button', class: 'button',
      onclick: () => one.working || end(one) }, one.back),
    one.buttons.map((button) => el('button', {
      type: 'button', class: `button ${button.kind || ''}`, 'aria-busy': one.working === button ? 'true' : null,
      onclick: () => press(one, button),
    }, button.label))));
}
export const dialogs = () => all.map((one) => el(Dialog, { key: one.id, one }));

/* A question before a write. run(key): key is made when the question opens, so that a second press
 * after a lost answer means the same write. typed: what must be typed first. The button that was
 * pressed too early says what is missing. */
export function confirm({ title, body, verb, danger, back, typed, run, wide }) {
  const key = newKey();
  const id = uid();
  let text = '', wrong = false;
  const made = typeof body === 'function' ? body : () => body;
  return open({
    title, back, wide, first: typed && id,
    body: () => [made(), typed && el('div', { class: 'field' },
      el('label', { for: id }, rich('confirm.type', { text: el('bdi', { class: 'code' }, typed) })),
      el('input', {
        id, name: 'typed', type: 'text', autocomplete: 'off', autocapitalize: 'none', spellcheck: false,
        'aria-describedby': `${id}e`, 'aria-invalid': wrong ? 'true' : null, value: text,
        oninput: (event) => { text = event.target.value; },
      }), el('p', { class: 'error', id: `${id}e` }, wrong && t('confirm.mismatch')))],
    buttons: [{
      label: verb, kind: danger ? 'danger' : 'primary',
      run: () => {
        wrong = Boolean(typed) && text.trim().toLowerCase() !== typed.toLowerCase();
        if (!wrong) return run(key);
        document.getElementById(id).focus();
        return false;
      },
    }],
  });
}

/* One answer of several: options [{label, value, kind}]. */
export const choose = ({ title, text, body, options, back }) => open({
  title, back, body: [text && el('p', null, text), body],
  buttons: options.map(({ label, value, kind }) => ({ label, value, kind })),
});
