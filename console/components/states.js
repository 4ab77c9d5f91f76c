// Owns what stands where data does not: loading, empty, failed, withheld, stale; and the notices
// above a page. The page's own sentence comes first, the service's English words are quoted.
import { whenBack } from '../api.js';
import { announce, el, guarded, icon, redraw, report } from '../dom.js';
import { has, listed, said, t, word } from '../format.js';

/* What the service says, in the reader's language. Without such a sentence an English reader sees its
 * words, others that they are there. */
export const inWords = (text) => text && el('bdi', { class: 'quote' }, said(text) ?? t('service.says'));
/* The same with its own words folded beneath; quiet: nothing but those where there is no sentence. */
export function quote(text, quiet) {
  if (!text) return null;
  const own = said(text);
  return el('span', { class: 'quote' }, (own || !quiet) && inWords(text), own !== text
    && el('details', { class: 'fold small' }, el('summary', null, t('error.detail')),
      el('q', { lang: 'en' }, el('bdi', null, text))));
}

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
      el('li', null, `${word('field', name)}: `, quote(message))))
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
  error.status !== undefined && error.message && el('details', null,
    el('summary', null, t('error.detail')), el('p', null, quote(error.message))),
  retry && el('button', { type: 'button', class: 'button', onclick: retry }, t('again')));

/* Content that is worked out here: a fault in it costs no more than itself. */
export const safely = (make) => guarded(make, (error) => failed(error));

/* What is loaded for one place: {view(), ready, reload(), data()}. show(data) draws it; where it could
 * not be had, its place alone says why. */
export function part(load, show = (data) => data) {
  let data, error, state = 'loading', turn = 0;
  const reload = async () => {
    const mine = ++turn;
    try {
      const got = await load();
      if (mine !== turn) return;
      [data, state] = [got, 'there'];
    } catch (fault) {
      if (fault.name === 'AbortError' || mine !== turn) return;
      if (fault.status === undefined) report(fault); // a fault of ours: it must be seen
      [error, state] = [fault, 'failed'];
      whenBack(fault, () => mine === turn && reload());
    }
    redraw();
  };
  const ready = reload();
  return {
    ready, reload, data: () => data,
    set: (fresh) => { turn++; [data, state] = [fresh, 'there']; redraw(); },
    view: () => (state === 'there' ? safely(() => show(data)) : el('div', { class: 'part',
      'aria-busy': state === 'loading' ? 'true' : null }, state === 'failed' ? failed(error, reload)
      : [el('i', { class: 'bar line' }), el('i', { class: 'bar line' })])),
  };
}

const wholePage = (title, ...content) => ({
  title, view: () => el('div', { class: 'page narrow' }, el('h1', { tabindex: '-1' }, title),
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

let all = [];

/* The result of a write, or a warning: stays until dismissed or left. next: stands on the page that
 * is gone to. key: replaces the one with this key. actions [{label, run(notice)}] or elements; text and
 * actions that are functions are called at each drawing. fixed: it cannot be dismissed. */
export function notice(one) {
  all = [...all.filter((old) => !one.key || old.key !== one.key), one];
  if (!one.fixed) announce(plain(typeof one.text === 'function' ? one.text() : one.text));
  redraw();
  return one;
}
export function unnotice(one) {
  const left = all.filter((each) => each !== one && each.key !== one);
  if (left.length !== all.length) redraw();
  all = left;
}
/* The words of elements, to be read out. */
const plain = (one) => (Array.isArray(one) ? one.map(plain).join('')
  : one && typeof one === 'object' ? plain(one.props.children) : one === false ? '' : one ?? '');

/* On the way to another page: what belongs to the old one goes, what is meant for the next stays. */
export function clearNotices() {
  all = all.filter((one) => one.next !== undefined || one.frame);
  for (const one of all) delete one.next;
}

const made = (of) => (typeof of === 'function' ? of() : of);
export const noticeLine = (one) => el('div', { class: `notice ${one.tone || 'ok'}`, key: one.key },
  one.tone !== 'info' && icon((one.tone || 'ok') === 'ok' ? 'done' : 'attention'),
  el('div', { class: 'said' }, made(one.text)),
  el('div', { class: 'notice-actions' }, (made(one.actions) || []).map((action) => (action.run
    ? el('button', { type: 'button', class: 'button small', onclick: () => action.run(one) },
      action.label) : action)),
  !one.fixed && el('button', { type: 'button', class: 'button small plain', 'aria-label': t('dismiss'),
    onclick: () => unnotice(one) }, icon('failed'))));
/* One at a time: the worst, of those alike the newest; when it is dismissed, the next one. */
const WORSE = ['info', 'ok', 'warn', 'bad'];
export const notices = () => all.toSorted((a, b) => WORSE.indexOf(a.tone || 'ok') - WORSE.indexOf(b.tone || 'ok'))
  .slice(-1).map(noticeLine);

/* A poll's answer that waits because the person reads or chooses. */
export const heldNotice = (text, show) => notice({
  key: 'held', tone: 'info', text,
  actions: [{ label: t('show'), run: (one) => { unnotice(one); show(); } }],
});
