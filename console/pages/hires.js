// Hires by CSV: pasted or from a file, looked at line by line, queued one by one, with a receipt.
import { get, newKey, send } from '../api.js';
import { ATTRIBUTES } from '../attributes.js';
import { announce, bdi, el, redraw } from '../dom.js';
import { city, dayOf, rich, t, when, word } from '../format.js';
import { digest, parseCsv, textOf } from '../components/csv.js';
import { confirm } from '../components/dialog.js';
import { comment, field } from '../components/form.js';
import { box, button, card, head, statePill } from '../components/page.js';
import { errorText, quote } from '../components/states.js';
import { rowsTable } from '../components/table.js';
import { href, settle } from '../router.js';
import { nextMonday } from './hire.js';

export const shape = 'form';

const MOST = 200; // lines of a file
const NAMES = ['firstname', 'surname', 'middleName', 'jobTitle', 'department', 'manager', 'employeeId', 'date',
  'time', ...Object.keys(ATTRIBUTES)];
/* How else a column may be called; the labels of the forms are known in both languages. */
const CALLED = {
  firstname: ['given name', 'förnamn'], surname: ['last name', 'family name', 'efternamn'],
  middleName: ['mellannamn'], jobTitle: ['title', 'befattning', 'titel'], department: ['avdelning'],
  manager: ['chef', 'närmaste chef'], employeeId: ['employee number', 'number', 'anställningsnummer'],
  date: ['start', 'start date', 'day', 'startdatum', 'datum', 'dag'], time: ['start time', 'tid', 'klockslag'],
  company: ['employer', 'företag', 'arbetsgivare'], office: ['kontor'], city: ['ort'], country: ['land'],
  streetAddress: ['street', 'adress', 'gatuadress'], postalCode: ['postal code', 'postnummer'],
  preferredLanguage: ['language', 'språk'],
};
/* A title as it looks: letters and digits, without accents and what is not seen. */
const TWINS = { а: 'a', е: 'e', о: 'o', р: 'p', с: 'c', у: 'y', х: 'x', і: 'i', ѕ: 's', ј: 'j', к: 'k', м: 'm', т: 't', н: 'h',
  α: 'a', ε: 'e', ο: 'o', ρ: 'p', τ: 't', ι: 'i' };
const key = (text) => text.toLowerCase().normalize('NFKD').replace(/[^\p{L}\p{N}]/gu, '')
  .replace(/./gu, (sign) => TWINS[sign] ?? sign);
const columnOf = (title) => NAMES.find((name) => [name, t(`field.${name}`), ...CALLED[name] ?? []]
  .some((one) => key(one) === key(title)));

/* --- what a file says --- */

const GOOD = { date: /^\d{4}-\d{2}-\d{2}$/, time: /^([01]\d|2[0-3]):[0-5]\d$/ };

/* {lines: [{line, values, faults: [{name, message}]}], unknown: titles of columns, fault: why none}. */
function readFile(text, start) {
  const [titles, ...rows] = parseCsv(text);
  if (!titles) return { fault: t('hires.empty') };
  const names = titles.cells.map(columnOf);
  const missing = ['firstname', 'surname'].filter((name) => !names.includes(name));
  if (missing.length) return { fault: t('hires.noColumn', { names: missing.map((name) => t(`field.${name}`)).join(', ') }) };
  const twice = names.find((name, i) => name && names.indexOf(name) !== i);
  if (twice) return { fault: t('hires.twice', { name: t(`field.${twice}`) }) };
  if (!rows.length) return { fault: t('hires.empty') };
  if (rows.length > MOST) return { fault: t('hires.tooMany', { n: rows.length, most: MOST }) };
  const seen = new Map();
  return {
    unknown: titles.cells.filter((title, i) => title && !names[i]),
    lines: rows.map(({ line, cells }) => {
      const values = {};
      names.forEach((name, i) => { if (name && cells[i]) values[name] = cells[i]; });
      for (const name of Object.keys(start)) values[name] ||= start[name];
      const faults = [
        ...['firstname', 'surname'].filter((name) => !values[name]).map((name) => ({ name, message: t('form.required') })),
        ...Object.keys(GOOD).filter((name) => values[name] && !GOOD[name].test(values[name]))
          .map((name) => ({ name, message: t(`hires.${name}`) })),
        ...(cells.length > names.length ? [{ message: t('hires.cells', { n: cells.length, of: names.length }) }] : []),
      ];
      const same = JSON.stringify(values);
      const twin = seen.get(same);
      if (!twin) seen.set(same, line);
      return { id: String(line), line, values, faults, twin };
    }),
  };
}

/* --- the page --- */

const faultLine = ({ name, message, english }) => el('li', null,
  name && [el('strong', null, word('field', name)), ': '], english ? quote(message) : message);
/* What a refusal says of a line, field by field where the service does. */
const faultsOf = (error) => (error.fields?.length ? error.fields.map((one) => ({ ...one, english: true }))
  : [{ message: [errorText(error), ' ', quote(error.message)] }]);
const passes = (error) => error.lost || error.status === undefined || error.status === 429 || error.status >= 500;

/* What is not done before a person says so, line by line: two that are equal, a day that has passed. */
const questionsOf = (one) => (one.allowed || one.task ? [] : [
  one.twin && t('hires.same', { line: one.twin }),
  one.answer?.plan?.adjustment === 'past' && rich('moment.passed',
    { at: when(one.answer.plan.scheduledAtUtc, 'moment', { year: true }) })].filter(Boolean));

function outcome(one, another) {
  if (one.faults.length) return el('ul', { class: 'bare bad' }, one.faults.map(faultLine));
  const warnings = one.answer?.warnings?.map((text) => el('p', null, quote(text)));
  if (one.task) {
    return [el('a', { href: href('task', one.task) }, bdi(one.upn)), ' ', one.now && statePill(one.now),
      one.answer.replayed && [el('p', null, t('hires.replayed')), button(t('hires.another'), { kind: 'small', run: () => another(one) })],
      warnings];
  }
  const asks = questionsOf(one);
  if (one.answer && asks.length) {
    return [asks.map((text) => el('p', { class: 'warn' }, text)), button(t('hires.allow', { line: one.line }), { kind: 'small',
      run: () => { one.allowed = true; redraw(); } })];
  }
  if (one.answer) return [bdi(one.answer.plan.userPrincipalName), warnings];
  return el('span', { class: 'muted' }, t('hires.waits'));
}

const columns = (another) => [
  { label: t('hires.line'), kind: 'num', cell: (one) => one.line },
  { label: t('people.person'), kind: 'main', cell: ({ values }) => bdi([values.firstname, values.middleName,
    values.surname].filter(Boolean).join(' ')) },
  { label: t('field.jobTitle'), cell: ({ values }) => bdi(values.jobTitle) },
  { label: t('field.department'), cell: ({ values }) => bdi(values.department) },
  { label: t('field.manager'), cell: ({ values }) => bdi(values.manager) },
  { label: t('coming.starts'), cell: ({ values, answer }) => (answer ? when((answer.plan || answer).scheduledAtUtc, 'cell', { year: (answer.plan || answer).adjustment === 'past' })
    : [values.date, values.time].filter(Boolean).join(' ')) },
  { label: t('field.accountEnabled'), kind: 'wide', cell: (one) => outcome(one, another) },
];

export async function page({ company, signal }) {
  let read, working = '', done = 0, stopped = false, trouble;
  const paste = field({ name: 'csv', kind: 'textarea', label: t('hires.paste'), hint: t('hires.hint', { n: MOST }),
    attrs: { rows: 8, spellcheck: false } });
  const file = field({ name: 'file', kind: 'file', label: t('hires.file'), attrs: { accept: '.csv,.txt,text/csv' },
    change: async (chosen) => { if (chosen) { paste.set(await textOf(chosen)); look(); } } });
  const start = [
    field({ name: 'date', label: t('hires.day'), kind: 'date', value: nextMonday(dayOf()) }),
    field({ name: 'time', label: t('moment.time', { city: city() }), kind: 'time', value: '08:00' }),
  ];
  const why = comment();
  const open = () => read?.lines?.filter((one) => !one.faults.length && !one.task) ?? [];
  const good = () => open().filter((one) => !questionsOf(one).length);
  const queued = (before = false) => read?.lines?.filter((one) => one.task && Boolean(one.answer.replayed) === before) ?? [];

  /* Each of them, one after the other, until a fault that is no line's own. */
  async function through(kind, lines, each) {
    [working, done, stopped, trouble] = [kind, 0, false, null];
    for (const one of lines) {
      if (stopped || signal.aborted) break;
      try { await each(one); } catch (error) {
        if (signal.aborted) return;
        if (passes(error)) { trouble = error; break; }
        one.faults = faultsOf(error);
      }
      done++;
      redraw();
    }
    working = '';
    redraw();
  }
  const dryRun = (one) => send('POST', 'user', { query: { dryRun: true }, body: one.values, signal })
    .then((answer) => { one.answer = answer; });
  async function look() {
    if (working) return;
    const [date, time] = start.map((one) => one.value());
    read = readFile(paste.value(), date ? { date, ...(time && { time }) } : {});
    redraw();
    if (!read.lines) return;
    await through('look', open(), dryRun);
    announce(t('hires.found', { good: good().length, bad: read.lines.length - good().length }));
  }
  /* The key follows from the line, so that the same file, sent again, queues no person twice; of another
   * person with an equal line it also follows from which one that is. */
  const write = (one) => send('POST', 'user', { query: { comment: why.value() }, body: one.values,
    key: `csv-${digest(JSON.stringify([company.companyId, one.values, ...(one.twin ? [one.line] : []), ...(one.another ? [one.another] : [])]))}` })
    .then((answer) => { [one.task, one.upn, one.answer] = [answer.taskId, answer.userPrincipalName, answer]; });
  /* Another person whose line an earlier one had. */
  async function another(one) {
    if (working) return;
    one.another = newKey();
    await through('queue', [one], write);
    await states();
  }
  async function queue() {
    const lines = good();
    if (!await confirm({ title: t('hires.ask', { n: lines.length }), verb: t('hires.go', { n: lines.length }),
      body: () => [el('p', null, t('hires.askNote')), el('ul', null, lines.slice(0, 8).map((one) =>
        el('li', null, bdi(`${one.values.firstname} ${one.values.surname}`))),
      lines.length > 8 && el('li', { class: 'muted' }, t('act.others', { n: lines.length - 8 }))), why.view()],
      run: () => true })) return;
    await through('queue', lines, write);
    await states();
    announce(t('hires.done', { n: queued().length }));
    if (!open().length) settle();
  }
  /* How the tasks are now: one that was queued by an earlier try may be over. */
  async function states() {
    for (const one of [...queued(), ...queued(true)]) {
      one.now = (await get('task', { id: one.task }, signal).catch(() => null))?.task.state;
    }
    redraw();
  }

  const progress = () => working && el('div', { class: 'notice info' }, el('div', null,
    t(`hires.${working}ing`), ' ', el('progress', { max: read.lines.length, value: done, 'aria-label': t('act.progress') })),
  button(t('act.stop'), { kind: 'small', run: () => { stopped = true; } }));
  const seats = () => {
    const known = good().find((one) => one.answer?.plan)?.answer.plan.seats;
    const free = known?.limit ? known.limit - known.used : null;
    return free !== null && free < good().length && box('bad', t('hires.seats', { free: Math.max(0, free), n: good().length }));
  };
  const result = () => {
    if (!read) return null;
    if (read.fault) return box('bad', el('p', null, read.fault));
    const before = queued(true).length, asked = open().length - good().length;
    const bad = read.lines.length - open().length - queued().length - before;
    return card({ title: t(queued().length + before ? 'hires.receipt' : 'hires.preview') },
      queued().length > 0 && box('ok', el('p', null, t('hires.done', { n: queued().length }))),
      before > 0 && box('warn', el('p', null, t('hires.before', { n: before }))),
      asked > 0 && !working && box('warn', el('p', null, t('hires.asked', { n: asked }))),
      bad > 0 && box('warn', el('p', null, t('hires.bad', { n: bad }))),
      read.unknown.length > 0 && box('info', el('p', null, t('hires.unknown', { names: read.unknown.join(', ') }))),
      seats(), trouble && box('bad', el('p', null, errorText(trouble)), el('p', null, t('hires.again'))), progress(),
      el('div', { class: 'lines' }, rowsTable({ caption: t('hires.preview'), rows: read.lines, id: (one) => one.id,
        columns: columns(another) })),
      !working && good().length > 0 && el('div', { class: 'form-foot' },
        button(t('hires.lookAgain'), { run: look }),
        button(t('hires.go', { n: good().length }), { kind: 'primary', run: queue })));
  };
  return {
    title: t('hires.title'), leave: () => Boolean(paste.value()) && (!read?.lines || good().length > 0),
    view: () => el('div', { class: 'page' }, head({ title: t('hires.title'), lead: t('hires.lead'),
      path: [[t('coming.title'), href('people', '', { show: 'coming' })]] }),
    card({}, el('form', { class: 'stack', novalidate: true, 'aria-label': t('hires.title'), onsubmit: (event) => {
      event.preventDefault();
      look();
    } }, file.view(), paste.view(), el('div', { class: 'grid' }, start.map((one) => one.view())),
    el('p', { class: 'hint' }, t('hires.columns', { names: NAMES.map((name) => t(`field.${name}`)).join(', ') })),
    el('div', { class: 'form-foot' }, button(t('hires.look'), { kind: read?.lines ? '' : 'primary', type: 'submit',
      'aria-busy': working ? 'true' : null })))), result()),
  };
}
