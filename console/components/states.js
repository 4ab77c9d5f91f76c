// Owns what stands where data does not: loading, empty, failed, withheld, stale; and the notices
// above a page. The page's own sentence comes first, the service's English words are quoted.
import { announce, el, icon, nodes } from '../dom.js';
import { has, listed, t, word } from '../format.js';

/* Text that comes from the service in English. */
export const quote = (text) => (text ? el('span', { class: 'quote' }, `${t('service.says')} `,
  el('q', { lang: 'en' }, el('bdi', null, text))) : null);

/* The sentence of a refusal in the reader's language, from reason, else status; null: there is none
 * and the service's words stand alone. */
export function errorText(error) {
  const { reason, status, details = {} } = error;
  if (status === undefined) return t('error.page');
  if (reason && has(`reason.${reason}`)) {
    return t(`reason.${reason}`, {
      ...details, user: details.user,
      roles: listed((details.roles || []).map((role) => word('role', role))),
      name: details.name ?? '',
    });
  }
  return has(`error.${status}`) ? t(`error.${status}`) : t(status >= 500 ? 'error.500' : 'error.400');
}

/* A refusal where the person acted: sentence, quotation, named faults. */
export const refusal = (error) => el('div', { class: 'box bad' }, icon('attention'), el('div', null,
  el('p', null, el('strong', null, errorText(error))),
  error.fields?.length
    ? el('ul', null, error.fields.map(({ name, message }) =>
      el('li', null, `${word('field', name)}: `, el('span', { lang: 'en' }, el('bdi', null, message)))))
    : error.message && el('p', null, quote(error.message))));

/* Grey bars of the shape of what comes: 'table', 'cards', 'form', 'facts'. */
export function skeleton(shape = 'table') {
  const bars = (count, kind) => Array.from({ length: count }, () => el('i', { class: `bar ${kind}` }));
  const card = (count, kind) => el('div', { class: 'card' }, bars(1, 'title'), bars(count, kind));
  const inner = {
    table: () => [card(8, 'row')],
    cards: () => [el('div', { class: 'columns' },
      el('div', { class: 'stack' }, card(3, 'row'), card(1, 'block')),
      el('div', { class: 'stack' }, card(4, 'line'), card(2, 'row')))],
    form: () => [card(6, 'row')],
    facts: () => [card(4, 'line'), card(5, 'row')],
  };
  return el('div', { class: 'skeleton', 'aria-hidden': 'true' },
    bars(1, 'h1'), bars(1, 'short'), (inner[shape] || inner.table)());
}

/* One sentence why, one thing to do. action: a link or a button. */
export const empty = (text, action) => el('div', { class: 'empty' }, el('p', null, text), action);

/* A part that could not be had; retry as a function. */
export const failed = (error, retry) => el('div', { class: 'failed' },
  el('p', null, icon('attention'), ' ', errorText(error)),
  error.message && el('details', null, el('summary', null, t('error.detail')),
    el('p', null, quote(error.message))),
  retry && el('button', { type: 'button', class: 'button', onclick: retry }, t('again')));

/* Runs load() for one card: its content, or the reason why it alone is missing. */
export function part(load) {
  const host = el('div', { class: 'part', 'aria-busy': 'true' },
    el('i', { class: 'bar line' }), el('i', { class: 'bar line' }));
  const run = async () => {
    try {
      host.replaceChildren(...nodes([await load()]));
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.status === undefined) console.error(error); // a fault of ours: it must be seen
      host.replaceChildren(failed(error, run));
    }
    host.removeAttribute('aria-busy');
  };
  run();
  return host;
}

const wholePage = (title, ...content) => ({
  title, node: el('div', { class: 'page narrow' }, el('h1', { tabindex: '-1' }, title),
    el('div', { class: 'card' }, ...content)),
});

const home = () => el('p', null, el('a', { class: 'button', href: '#/' }, t('home')));

export const failure = (error, retry) => (error.reason === 'companyUnknown'
  ? wholePage(t('company.unknown'), el('p', null, t('reason.companyUnknown')), home())
  : error.status === 404 ? wholePage(t('error.title'), failed(error), home()) // again is no help
    : wholePage(t('error.title'), failed(error, retry)));

export const unknownPage = () => wholePage(t('unknown.title'), el('p', null, t('unknown.text')),
  home());

/* needs: rights of which one would do; the roles that have one are known from the table of roles. */
export function noRight(company, needs) {
  const roles = Object.entries(ROLES).filter(([, rights]) => needs.some((one) => rights.test(one)));
  const names = roles.map(([role]) => word('role', role));
  const or = new Intl.ListFormat(document.documentElement.lang, { type: 'disjunction' });
  return wholePage(t('noright.title'), el('p', null, t('noright.text', {
    needed: or.format(names), roles: listed(company.roles.map((role) => word('role', role))),
  })), home());
}
/* Only to tell whom to ask; what is allowed, rights[] of the session say. */
const READS = 'overview|people|tasks|access|workflows|hygiene|company|requests';
const ROLES = {
  viewer: new RegExp(`^(${READS}).read$`),
  operator: new RegExp(`^((${READS}).read|(people|tasks|access).write|tasks.release|company.operate)$`),
  approver: /^(overview\.read|requests\..*)$/,
  'key-administrator': /^(overview|company|keys)\.(read|write)$/,
  auditor: /\.(read|export)$/,
  administrator: /./,
};

/* --- notices above the page --- */

const host = () => document.getElementById('notices');

/* The result of a write, or a warning: stays until dismissed or left. next: stands on the page that
 * is gone to. key: replaces the one with this key. */
export function notice({ text, tone = 'ok', actions = [], key, next, fixed }) {
  const node = el('div', { class: `notice ${tone}`, 'data-key': key, 'data-next': next },
    tone !== 'info' && icon(tone === 'ok' ? 'done' : 'attention'),
    el('div', { class: 'said' }, ...nodes([text])),
    el('div', { class: 'notice-actions' }, actions.map((one) => (one instanceof Node ? one
      : el('button', { type: 'button', class: 'button small', onclick: () => one.run(node) },
        one.label))),
    !fixed && el('button', {
      type: 'button', class: 'button small plain', 'aria-label': t('dismiss'),
      onclick: () => node.remove(),
    }, icon('failed'))));
  const old = key && host().querySelector(`[data-key="${key}"]`);
  if (old) old.replaceWith(node); else host().append(node);
  if (!old && !fixed) announce(node.querySelector('.said').textContent);
  return node;
}
export const unnotice = (key) => host()?.querySelector(`[data-key="${key}"]`)?.remove();

/* On the way to another page: what belongs to the old one goes, what is meant for the next stays. */
export function clearNotices() {
  for (const node of [...(host()?.children || [])]) {
    if (node.dataset.frame !== undefined) continue;
    if (node.dataset.next !== undefined) delete node.dataset.next; else node.remove();
  }
}

/* A poll's answer that waits because the person reads or chooses. */
export const heldNotice = (text, show) => notice({
  key: 'held', tone: 'info', text,
  actions: [{ label: t('show'), run: (node) => { node.remove(); show(); } }],
});
