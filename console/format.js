// Owns texts, numbers, dates and the names of steps and actions in the reader's language. Dates are
// those of the company's zone; one language is loaded.
import { now } from './api.js';
import { bdi, el, redraw, useEffect, useState } from './dom.js';

export const LANGUAGES = { en: 'English', sv: 'Svenska' };

let texts = {};
let lang = 'en';
let plural, numbers, lists, sentences; // sentences: what the service says, of steps and tasks
export const language = () => lang;

/* {frame: {skip: …}} as frame.skip; the text of a group itself stands under the empty name. */
const flat = (group, before = '') => Object.assign({}, ...Object.entries(group).map(([key, one]) =>
  (typeof one === 'string' ? { [(before + key).replace(/\.$/, '')]: one }
    : flat(one, `${before}${key}.`))));

/* The Overview does without a half of the texts, which every other page asks for. */
let rest;
export const allTexts = () => {
  rest ||= Promise.all([import(`./i18n/${lang}.tasks.js`), lang !== 'en' && learn(lang)])
    .then(([file]) => { Object.assign(texts, flat(file.default)); },
      (error) => { rest = null; throw error; });
  return rest;
};

export async function loadLanguage(chosen) {
  const wanted = [chosen, ...navigator.languages].map((tag) => (tag || '').slice(0, 2));
  lang = wanted.find((tag) => LANGUAGES[tag]) || 'en';
  texts = flat((await import(`./i18n/${lang}.js`)).default);
  const had = rest;
  rest = null;
  if (had) await allTexts();
  sentences = null;
  plural = new Intl.PluralRules(lang);
  numbers = new Intl.NumberFormat(lang, { maximumFractionDigits: 1 });
  lists = new Intl.ListFormat(lang);
  document.documentElement.lang = lang;
}

export const number = (n) => numbers.format(n);
export const listed = (items) => lists.format(items);
export const percent = (share) => new Intl.NumberFormat(lang, {
  style: 'percent', maximumFractionDigits: share > 0.99 && share < 1 ? 1 : 0,
}).format(share);

/* --- texts --- */

export const has = (key) => key in texts;

/* Plurals by values.n: `key.zero` where there is one, else `key.one` or `key.other`. */
function text(key, values) {
  if (values && 'n' in values) {
    const n = Number(values.n);
    if (n === 0 && has(`${key}.zero`)) return texts[`${key}.zero`];
    if (has(`${key}.other`)) return texts[`${key}.${plural.select(n)}`] ?? texts[`${key}.other`];
  }
  return texts[key] ?? key;
}

const shown = (value) => (typeof value === 'number' ? number(value) : value ?? '');

/* A text with {placeholders}. */
export const t = (key, values) => text(key, values)
  .replace(/\{(\w+)\}/g, (all, name) => (values && name in values ? shown(values[name]) : all));

/* The same as a list of children: values may be elements; strings come from people and directories
 * and stand in <bdi>. */
export const rich = (key, values) => text(key, values).split(/\{(\w+)\}/).map((part, i) => {
  if (i % 2 === 0) return part;
  const value = values?.[part];
  return typeof value === 'number' ? number(value)
    : value && typeof value === 'object' ? value : bdi(value);
});

/* t() where there is such a text, else the service's own word, as it is. */
export const word = (prefix, name) => (has(`${prefix}.${name}`) ? t(`${prefix}.${name}`) : name);

/* --- what the service says --- */

/* What fits a sentence of the C source: %s is any text, %d and the like a number. */
const patternOf = (format) => new RegExp(`^${format.split(/(%l*z?[sdu])/).map((part) => (
  part === '%s' ? '(.*?)' : /^%/.test(part) ? '(\\d+)' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))).join('')}$`, 's');
/* They come when the first one is met; of two that fit, the one that says more counts. */
async function learn(language) {
  sentences = [];
  const known = (await import(`./i18n/said.${language}.js`)).default;
  if (language !== lang) return;
  sentences = Object.entries(known).sort(([a], [b]) => b.length - a.length)
    .map(([format, words]) => [patternOf(format), words]);
  redraw();
}

/* What a directory answered by a code, of LDAP or HTTP: kinds of answers that have a sentence. */
const ANSWERS = {
  away: [-1, -5, -11, 3, 51, 52, 408, 429, 500, 502, 503, 504], rights: [13, 50, 403], login: [8, 48, 49, 401],
  value: [17, 19, 21, 34, 65, 400], taken: [20, 68, 409], gone: [16, 32, 404], unwilling: [53],
};
function answered(words) {
  const [, code] = words.match(/(?:^|: )[A-Z][\w' ]+ \((-?\d+)\)(?:: |$)/s) || words.match(/: HTTP (\d+)\b/) || [];
  const kind = code && (Object.keys(ANSWERS).find((one) => ANSWERS[one].includes(Number(code))) || 'other');
  return kind ? t(`answer.${kind}`, { code }) : null;
}

/* What is filled in: a name as it is, the reasons behind names where they are known. */
const filled = (text) => said(text) ?? text.replace(/ \(((?:[^()]|\([^()]*\))*)\)/g, (all, why) => {
  const own = said(why);
  return own ? ` (${own})` : all;
});
function whole(words) {
  for (const [pattern, own] of sentences) {
    const found = words.match(pattern);
    if (found) {
      return own.replace(/\{(\d)(\??)\}/g, (_, n, reason) => (
        reason && filled(found[n]) === found[n] ? t('service.untold') : filled(found[n])));
    }
  }
  return null;
}
/* Parts of which each is known, or names of fields. */
function parts(words, between, each) {
  const all = words.split(between).map(each);
  return all.every(Boolean) ? all.join(between) : null;
}
const fieldOf = (words) => {
  const [, name, cleared] = words.match(/^(\w+)( cleared)?$/) || [];
  return has(`field.${name}`) ? t(`field.${name}`) + (cleared ? ` (${t('service.cleared')})` : '') : whole(words);
};

/* Its sentence in the reader's language, null where there is none. What is filled in may be a sentence
 * again. */
export function said(words) {
  if (lang === 'en') return answered(words) ?? words;
  if (/^\S+@\S+$/.test(words)) return words; // an address alone
  if (!sentences) learn(lang);
  const own = (words.includes('; ') && parts(words, '; ', said)) || whole(words)
    || parts(words, ', ', fieldOf) || answered(words);
  if (own) return own;
  // A step, or a field, and what became of it.
  const [, step, rest] = words.match(/^(\S+\/\d+ \w+|[a-z]\w+(?:@\w+)?): (.*)$/s) || [];
  const of = step && said(rest);
  return of ? `${has(`field.${step}`) ? t(`field.${step}`) : stepName(step).name}: ${of}` : null;
}

/* --- dates --- */

let zone = 'UTC';
export const useZone = (name) => { zone = name || 'UTC'; };
const viewer = Intl.DateTimeFormat().resolvedOptions().timeZone;
/* "Stockholm" of Europe/Stockholm: how people name a zone. */
export const city = (name = zone) => name.split('/').pop().replaceAll('_', ' ');

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
const DAY = { day: 'numeric', month: 'long' };
const STYLES = {
  clock: CLOCK,
  second: { ...CLOCK, second: '2-digit' },
  day: DAY,
  weekday: { weekday: 'long', ...DAY },
  short: { weekday: 'short', day: 'numeric' },
  weekdayShort: { weekday: 'short' },
  month: { month: 'short' },
  monthYear: { month: 'long', year: 'numeric' },
  minute: { ...DAY, ...CLOCK },
  moment: { ...DAY, ...CLOCK },
  cell: { ...DAY, month: 'short', ...CLOCK },
  cellDay: { ...DAY, month: 'short' },
  date: { year: 'numeric', month: '2-digit', day: '2-digit' },
  full: { ...DAY, year: 'numeric', ...CLOCK, second: '2-digit', timeZoneName: 'short' },
};
const made = new Map();
/* Making one takes longer than all that is drawn of a row. */
function formatter(style, timeZone, year, tag = lang === 'en' ? 'en-GB' : lang) {
  const key = `${tag} ${style} ${timeZone} ${year}`;
  if (!made.has(key)) {
    made.set(key, new Intl.DateTimeFormat(tag, { ...STYLES[style], ...(year && { year: 'numeric' }), timeZone }));
  }
  return made.get(key);
}

/* The day as YYYY-MM-DD, and the clock as HH:mm, of an instant (default: now) in the company's zone:
 * what date and time fields hold. */
const wall = (instant, style) => formatter(style, zone, false, 'sv').format(new Date(instant ?? now()));
export const dayOf = (instant) => wall(instant, 'date');
export const clockOf = (instant) => wall(instant, 'clock');
export const addDays = (day, count) => new Date(Date.parse(`${day}T12:00Z`) + count * 864e5)
  .toISOString().slice(0, 10);

/* The instant (RFC 3339) at which a day of the company's zone begins, or a clock time of it: for
 * filters. A time that is skipped comes out within the hour after it. */
export function instantOf(day, time = '00:00') {
  const wanted = Date.parse(`${day}T${time}Z`);
  const offsetAt = (at) => Date.parse(`${wall(at, 'date')}T${wall(at, 'second')}Z`) - at;
  const first = wanted - offsetAt(wanted);
  return new Date(wanted - offsetAt(first)).toISOString().replace('.000', '');
}

/* Words that a narrow column breaks before the last one alone. */
const together = (text) => text.replace(/ (?=.* )/g, '\u00a0');
/* Text of an instant in the company's zone. The year stands where it is not this one. */
export function dateText(instant, style = 'minute', timeZone = zone, year = false) {
  const at = new Date(instant);
  const far = year || /day|minute|moment|cell/.test(style) && dayOf(instant).slice(0, 4) !== dayOf().slice(0, 4);
  const text = formatter(style, timeZone, far).format(at);
  return style.startsWith('cell') ? together(text) : text;
}
/* The day of a plain date, YYYY-MM-DD, which is in no zone. */
export const dayText = (day, style = 'day') => dateText(`${day}T12:00:00Z`, style, 'UTC');

const fullTitle = (instant) => [...new Set([zone, viewer, 'UTC'])]
  .map((name) => `${dateText(instant, 'full', name)} (${city(name)})`).join('\n');
/* "03:00 for you" where the viewer's zone differs from the company's, with the day where that is
 * another one; else nothing. */
export const forViewer = (instant) => {
  const theirs = dateText(instant, 'minute', viewer);
  if (theirs === dateText(instant, 'minute')) return '';
  const sameDay = dateText(instant, 'day', viewer) === dateText(instant, 'day');
  return t('date.forYou', { time: sameDay ? dateText(instant, 'clock', viewer) : theirs });
};

const element = (instant, content, more) => el('time',
  { datetime: instant, title: fullTitle(instant), ...more }, content);

/* What stands on paper is read on another day: there, dates are whole and nothing counts. */
let onPaper = false;
export const printing = (yes) => { onPaper = yes; };

/* <time> of an instant: 'today 17:00', '28 March 03:00'; style near: the clock alone today; moment: as it
 * stands in a sentence; cell, cellDay: in a table; year: it stands in any case; forYou: the viewer's own time beside it where the zones differ. Null is a dash. */
export function when(instant, style = 'minute', { forYou, year } = {}) {
  if (!instant) return '–';
  const near = style === 'near' && !onPaper && dayOf(instant) === dayOf();
  let content = dateText(instant, near ? 'clock' : style === 'near' ? 'minute' : style, zone, year);
  if (/^(minute|cell)$/.test(style) && !onPaper) {
    const day = ['today', 'yesterday', 'tomorrow'].find((name, i) =>
      dayOf(instant) === addDays(dayOf(), [0, -1, 1][i]));
    if (day) content = t(`date.${day}`, { time: dateText(instant, 'clock') });
    if (day && style === 'cell') content = content.replaceAll(' ', '\u00a0');
  }
  const node = element(instant, content);
  return forYou && forViewer(instant)
    ? el('span', null, node, ' ', el('small', { class: 'muted' }, forViewer(instant))) : node;
}

const UNITS = [['second', 1e3], ['minute', 6e4], ['hour', 36e5], ['day', 864e5]];
/* "4 minutes" of milliseconds, in the largest unit that fits. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const [unit, size] = UNITS.findLast(([, each]) => ms >= each);
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' })
    .format(Math.floor(ms / size));
}
function ageText(instant) {
  const ms = Date.parse(instant) - now();
  const [unit, size] = UNITS.findLast(([, each]) => Math.abs(ms) >= each) || UNITS[0];
  return together(new Intl.RelativeTimeFormat(lang, { numeric: 'always' })
    .format(Math.trunc(ms / size), unit));
}
/* "14 s ago", "in 3 min": counts by itself; the instant is its title. */
export const age = (instant) => (instant ? el(Age, { instant }) : '–');

const ages = new Set(); // those that are shown look at the clock once a second
function Age({ instant }) {
  const [, show] = useState('');
  useEffect(() => {
    const tick = () => show(ageText(instant));
    ages.add(tick);
    return () => ages.delete(tick);
  }, [instant]);
  return element(instant, onPaper ? dateText(instant) : ageText(instant));
}

let minute;
setInterval(() => {
  ages.forEach((tick) => tick());
  const next = Math.floor(now() / 6e4);
  if (minute !== undefined && minute !== next) redraw(); // "today" may be "yesterday" by now
  minute = next;
}, 1000);

/* --- words of the service --- */

export const directoryName = (name) => word('directory', name);
export const stateWord = (state) => word('state', state);

/* {name, technical}: "Disable the account in the cloud directory" of disableAccount@cloud;
 * "Welcome/2 sendEmail" is action 2 of the workflow Welcome. */
export function stepName(technical) {
  const [, workflow, at, rest] = technical.match(/^(.*)\/(\d+) (\S+)$/) || [];
  const [, what, object] = (rest || technical).match(/^(\S+) ?(.*)$/s); // "addToGroup Sales team"
  const [name, account] = what.split('@');
  const plain = word('step', name) + (object && `: ${object}`);
  return {
    technical,
    name: account ? t('step.in', { step: plain, directory: directoryName(account) }) : plain,
    workflow, by: workflow && t('step.workflow', { workflow, at: Number(at) }),
  };
}

/* "New hire of Maja Ström" as children. */
export const taskTitle = (task) =>
  rich(`task.title.${task.type}`, { name: task.displayName || task.userPrincipalName });

/* What a record of the log tells, as children: "offboarded eva.berg@contoso.example". */
export function actionText({ action, target, parameters }) {
  const [, name, how] = action?.match(/^(.*?)(\.dryRun|\.replay)?$/) || [null, ''];
  const said = rich(has(`action.${name}`) ? `action.${name}` : 'action.plain',
    { action: name, step: parameters?.step && stepName(parameters.step).name, target: target || (has(`action.${name}`) ? t('action.nobody') : '') });
  return how ? [said, ` (${t(`action${how}`)})`] : said;
}
