// Owns what pages are built of: head, tabs, cards, facts, pills, folds, lists of steps.
import { bdi, el, icon } from '../dom.js';
import { stateWord, t } from '../format.js';
import { safely } from './states.js';

/* h1 with actions beside it, a lead beneath, then whatever the page says of itself. path: the way back
 * above it, [[words, href], ...]. */
export const head = ({ path, title, pill: mark, actions, lead, sub }) => el('header', { class: 'head' },
  path && el('nav', { class: 'path', 'aria-label': t('frame.path') }, path.map(([words, href]) =>
    el('a', { href, key: href }, icon('back'), words))),
  el('div', { class: 'head-row' },
    el('h1', { tabindex: '-1' }, title), mark,
    actions && el('div', { class: 'actions' }, actions)),
  lead && el('p', { class: 'lead' }, lead),
  sub && el('p', { class: 'muted' }, sub));

/* A link or a button that looks like one. kind: '', 'primary', 'danger', 'plain', 'small'. */
export const button = (label, { href, run, kind = '', icon: sign, ...more }) => el(href ? 'a' : 'button', {
  class: `button ${kind}`, href, type: href ? null : 'button', onclick: run, ...more,
}, sign && icon(sign), el('span', null, label));

/* Tabs that change the address: [{label, href, current, count}]. */
export const tabs = (label, items) => el('nav', { class: 'tabs', 'aria-label': label },
  items.filter(Boolean).map((one) => el('a', {
    href: one.href, 'aria-current': one.current ? 'page' : null,
  }, one.label, one.count ? el('span', { class: 'count' }, String(one.count)) : null)));

/* level 2 unless told; beside: what stands at the right of the heading. Content that is a function is
 * drawn by itself: what it throws costs the card alone. */
export const card = ({ title, beside, level = 2, id, kind = '' }, ...children) => el('section',
  { class: `card ${kind}`, id },
  title && el('div', { class: 'card-head' }, el(`h${level}`, null, title), beside),
  ...children.map((one) => (typeof one === 'function' ? safely(one) : one)));

/* [[term, value], ...]; entries without a value are left out. kind: wide (one beneath the other), long (so on
 * a phone). */
export const facts = (entries, { kind = '' } = {}) => el('dl', { class: `facts ${kind}` },
  entries.filter((entry) => entry && entry[1] !== null && entry[1] !== undefined && entry[1] !== '')
    .map(([term, value]) => el('div', null, el('dt', null, term), el('dd', null, value))));

export const fold = (label, ...children) => el('details', { class: 'fold' },
  el('summary', null, label), ...children);

const TONES = {
  done: 'ok', running: 'accent', queued: '', cancelled: '', attention: 'warn', failed: 'bad',
};
/* Icon and word; never colour alone. */
export const pill = (text, tone = '', sign) => el('span', { class: `pill ${tone}` },
  sign && icon(sign), el('span', null, text));
export const statePill = (state) => pill(stateWord(state), TONES[state], state);
const STATUS = { active: ['ok', 'done'], disabled: ['', 'failed'], guest: ['accent', 'people'] };
export const statusPill = (status) => pill(t(`status.${status}`), ...STATUS[status]);

const initials = (name) => (name.match(/[\p{L}\p{N}]+/gu) ?? ['?']).map((one) => [...one][0])
  .filter((_, i, all) => !i || i === all.length - 1).join('').toUpperCase();
/* A person as tables and lists show one: initials, name, address beneath. href makes the name a link.
 * The initials are no text that could be read twice: style.css takes them from the attribute. */
export const named = ({ displayName, userPrincipalName, username, id }) => (displayName && userPrincipalName
  ? `${displayName} (${userPrincipalName})` : displayName || userPrincipalName || username || id || '');
export const person = ({ displayName, userPrincipalName }, href) => el('span', { class: 'person' },
  el('i', { class: 'avatar', 'aria-hidden': 'true',
    'data-initials': initials(displayName || userPrincipalName?.split('@')[0] || '?') }),
  href ? el('a', { href }, bdi(displayName || userPrincipalName))
    : el('strong', null, bdi(displayName || userPrincipalName)),
  displayName && userPrincipalName && el('small', null, bdi(userPrincipalName)));

/* Steps or events, one beneath the other: [{icon, tone, title, detail, beside}]. */
export const timeline = (items) => el('ol', { class: 'timeline' }, items.map((one) => el('li', null,
  el('span', { class: `dot ${one.tone || ''}` }, icon(one.icon)),
  el('div', null, el('div', { class: 'line' }, el('span', null, one.title),
    one.beside && el('span', { class: 'muted' }, one.beside)),
  one.detail && el('div', { class: 'muted' }, one.detail)))));

/* A warning or a hint inside a page. tone: info, warn, bad, ok. */
export const box = (tone, ...children) => el('div', { class: `box ${tone}` },
  tone !== 'info' && icon(tone === 'ok' ? 'done' : 'attention'), el('div', null, ...children));
