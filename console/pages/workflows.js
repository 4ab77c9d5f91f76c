// Owns workflows: what each is for, and what its runs came to.
import { get, now } from '../api.js';
import { bdi, el, icon } from '../dom.js';
import { duration, has, rich, t, when, word } from '../format.js';
import { href } from '../router.js';
import { box, card, fold, head, pill, tabs } from '../components/page.js';
import { part, quote } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'table';

const OUTCOMES = {
  done: ['done', 'ok'], already: ['done', 'ok'], doneWithWarnings: ['attention', 'warn'], failed: ['failed', 'bad'],
  unknown: ['attention', 'warn'], running: ['running', 'accent'], waiting: ['queued', ''],
  pending: ['queued', ''], skipped: ['more', ''], cancelled: ['failed', ''],
};
const mark = (status) => pill(word('run', status), ...[...(OUTCOMES[status] || ['queued', ''])].reverse());
const month = () => new Date(now() - 30 * 864e5).toISOString().slice(0, 10);

/* Runs of the last 30 days, those that failed and those that warned; counted by the service. */
const figures = (name, signal) => part(async () => (await Promise.all([undefined, 'failed', 'doneWithWarnings']
  .map((status) => get('workflow/runs', { workflow: name, from: month(), status, limit: 1 }, signal))))
  .map((one) => one.totalCount), ([n, failed, warned]) => el('span', null, t('wf.runs', { n }),
  failed > 0 && [' ', pill(t('wf.failed', { n: failed }), 'bad', 'failed')],
  warned > 0 && [' ', pill(t('wf.warned', { n: warned }), 'warn', 'attention')]));

async function all({ signal }) {
  const counted = new Map();
  const counts = (name) => {
    if (!counted.has(name)) counted.set(name, figures(name, signal));
    return counted.get(name).view();
  };
  const flows = list({
    path: 'workflows', signal, caption: t('nav.workflows'),
    columns: [
      { label: t('wf.name'), kind: 'main', cell: (one) =>
        el('a', { href: href('workflows', one.name) }, bdi(one.name)) },
      { label: t('wf.trigger'), cell: (one) => word('type', one.trigger) },
      { label: t('table.actions'), kind: 'num', cell: (one) => String(one.actionCount) },
      { label: t('tasks.state'), cell: (one) => (one.active ? pill(t('change.on'), 'ok', 'done')
        : pill(t('wf.inactive'), '', 'pause')) },
      { label: t('wf.month'), cell: (one) => counts(one.name) },
    ],
    none: () => ({ text: t('wf.none') }),
  });
  await flows.ready;
  const title = t('nav.workflows');
  return {
    title, view: () => el('div', { class: 'page' }, head({ title, lead: t('wf.lead') }),
      el('div', { class: 'card' }, flows.view())),
  };
}

const actions = (run) => el('ol', { class: 'marks' }, run.actions.map((one) => {
  const [sign, tone] = OUTCOMES[one.status] || ['queued', ''];
  return el('li', { class: `pill ${tone}`, title: one.error }, icon(sign),
    el('span', null, word('step', one.type)), el('span', { class: 'unseen' }, ` ${word('run', one.status)}`));
}));

/* --- what it does, in words --- */

const RECIPIENT = /^\{(manager|mail|userPrincipalName)\}$/;
const recipient = (to) => (RECIPIENT.test(to) ? t(`does.to.${to.slice(1, -1)}`) : bdi(to));
function does(action) {
  const { type, to } = action;
  const key = type === 'setAttribute' && !action.value ? 'does.clear'
    : type === 'transferReports' && !to ? 'does.transferReports.manager' : `does.${type}`;
  return el('li', null, has(key) ? rich(key, { ...action, attribute: word('field', action.attribute),
    to: to && el('span', null, recipient(to)) }) : word('step', type),
  el('div', { class: 'muted small' }, t(action.continueOnError ? 'does.goesOn' : 'does.stops')),
  action.body && fold(t('does.text'), el('pre', { tabindex: '0' }, action.body)));
}
const inWords = (flow) => card({ title: t('wf.does'), beside: flow.active === false
  && pill(t('wf.inactive'), '', 'pause') }, el('p', null, t(`wf.after.${flow.trigger}`)),
el('ol', { class: 'numbered' }, flow.actions.map(does)));

const WHICH = ['', 'failed', 'doneWithWarnings'];

async function runs({ company, params: { id: name }, query, signal }) {
  const only = WHICH.includes(query.status) ? query.status : '';
  const made = list({
    path: 'workflow/runs', query: () => ({ workflow: name, status: only }), signal, caption: name,
    columns: [
      { label: t('tasks.person'), kind: 'main', cell: (run) => el('a', { href: href('task', run.event.taskId) },
        bdi(run.event.userPrincipalName)) },
      { label: t('tasks.state'), cell: (run) => mark(run.status) },
      { label: t('table.actions'), kind: 'wide', cell: (run) => [actions(run),
        run.actions.filter((one) => one.error).map((one) => el('small', null, quote(one.error)))] },
      { label: t('wf.started'), cell: (run) => [when(run.startedAt, 'cell'), run.finishedAt && el('small', { class: 'muted' },
        ` ${duration(Date.parse(run.finishedAt) - Date.parse(run.startedAt))}`)] },
    ],
    none: () => ({ text: t(`wf.none.${only || 'all'}`) }),
  });
  const set = company.can('company.read') && part(() => get('company/settings', {}, signal), ({ document }) => {
    const flow = document.workflows?.find((one) => one.name === name);
    return flow ? inWords(flow) : box('info', t('wf.gone'));
  });
  await made.ready;
  return {
    title: name,
    view: () => el('div', { class: 'page' }, head({
      path: [[t('wf.back'), href('workflows')]], title: bdi(name),
    }), set && set.view(), tabs(t('wf.which'), WHICH.map((one) => ({
      label: t(`wf.tab.${one || 'all'}`), current: one === only,
      href: href('workflows', name, { status: one }),
    }))), el('div', { class: 'card' }, made.view())),
  };
}

export const page = (args) => (args.params.id ? runs(args) : all(args));
