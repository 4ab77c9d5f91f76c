// Owns the system log: what was done, by whom, and up to where its chain is known to be whole.
import { address, get, send } from '../api.js';
import { announce, bdi, el, redraw } from '../dom.js';
import { actionText, dayOf, instantOf, number, rich, t, when } from '../format.js';
import { href } from '../router.js';
import { menu } from '../components/menu.js';
import { filters } from '../components/filters.js';
import { open } from '../components/dialog.js';
import { button, facts, head, pill } from '../components/page.js';
import { notice, quote } from '../components/states.js';
import { list } from '../components/table.js';

export const shape = 'table';

const MOST = 100000; // records of an export

const who = (one) => (one.actor === 'worker' ? t('log.worker') : bdi(one.actor || t('task.nobody')));
/* Refused by a rule, or failed on the way; the code stands among the details. */
const FAULT = /INTERNAL|UNAVAILABLE|PROVIDER|failed/;
const ended = (one) => (one.outcome === 'ok' ? null
  : pill(t(FAULT.test(one.outcome) ? 'state.failed' : 'log.denied'), 'bad', 'failed'));

/* A record as a line of another page's list. */
export const recordLine = (one) => el('li', null, when(one.at, 'minute'), ' · ', who(one), ' ',
  actionText(one), ' ', ended(one), one.parameters?.comment && el('blockquote', null, bdi(one.parameters.comment)));

/* Members of a record's parameters as a list of terms; what is itself a structure as JSON. */
const parameters = (one) => facts([
  [t('log.record'), one.id], [t('log.who'), bdi([one.actor, one.label].filter(Boolean).join(' · '))],
  [t('log.action'), el('code', null, one.action)], [t('log.target'), one.target && bdi(one.target)],
  [t('log.endpoint'), one.endpoint && el('code', null, one.endpoint)], [t('log.address'), one.address],
  [t('log.outcome'), one.outcome], [t('log.detail'), one.detail && quote(one.detail)],
  ...Object.entries(one.parameters || {}).map(([name, value]) => [el('code', null, name),
    name === 'taskId' ? el('a', { href: href('task', value) }, value)
      : bdi(typeof value === 'object' ? JSON.stringify(value) : String(value))]),
], { kind: 'wide' });

/* --- the chain --- */

const SEALS = { whole: ['ok', 'chain'], broken: ['bad', 'failed'], unverified: ['', 'queued'] };

function chainBadge(chain) {
  const values = { at: chain.brokenAt && Number(chain.brokenAt), to: chain.verifiedTo && Number(chain.verifiedTo) };
  const label = () => rich(`chain.${chain.state}`, { ...values, when: when(chain.verifiedAt) });
  return el('button', {
    type: 'button', class: `pill ${SEALS[chain.state][0]}`, 'aria-haspopup': 'dialog',
    onclick: () => open({
      title: label(), back: t('close'),
      body: [el('p', null, t('chain.what')), el('p', null, rich(`chain.${chain.state}.means`, values)),
        quote(chain.reason), facts([[t('chain.records'), chain.firstId
          && `${number(Number(chain.firstId))} – ${number(Number(chain.lastId))}`],
          [t('chain.verified'), when(chain.verifiedAt, 'second')]])],
      buttons: [{ label: t('chain.now'), kind: 'primary', run: async () => {
        await send('POST', 'audit/verify');
        notice({ text: t('chain.asked') });
      } }],
    }),
  }, el('span', null, label()));
}

/* --- the page --- */

export async function page({ company, query, signal }) {
  const day = (value) => (value?.includes('T') ? dayOf(value) : value);
  let records, fresh = 0; // records that came after those that are shown
  const renew = () => { fresh = 0; records.reload(); };
  const filter = filters({
    query: { ...query, from: day(query.from), to: day(query.to) },
    words: { name: 'category', label: t('log.category'), options: ['', 'api', 'workflow', 'portal',
      'command', 'alarm'].map((value) => ({ value, label: t(`log.category.${value || 'all'}`) })) },
    more: [
      { name: 'actor', label: t('log.who') }, { name: 'target', label: t('log.target') },
      { name: 'action', label: t('log.action'), hint: t('log.actionHint') },
      { name: 'outcome', kind: 'select', label: t('log.outcome'), options: [{ value: '', label: t('any') },
        { value: 'ok', label: t('log.ok') }, { value: 'refused', label: t('log.refused') }] },
      { name: 'from', kind: 'date', label: t('log.from') }, { name: 'to', kind: 'date', label: t('log.to') },
      { name: 'taskId', label: t('log.task') }, { name: 'includeReads', kind: 'check', label: t('log.reads') },
    ],
    change: renew,
  });
  const args = () => {
    const { from, to, sort, ...rest } = filter.query();
    return { ...rest, from: from && instantOf(from), to: to && instantOf(to) };
  };
  records = list({
    name: 'log', path: 'audit', filter, query: args, signal, caption: t('nav.log'),
    columns: [
      { key: 'what', sort: (one) => one.action, label: t('tasks.what'), kind: 'main', cell: (one) => el('details', { class: 'record' },
        el('summary', null, el('span', null, actionText(one)), ' ', ended(one)), parameters(one)) },
      { key: 'who', sort: (one) => one.actor, label: t('log.who'), cell: (one) => [who(one),
        one.label && el('small', { class: 'muted' }, ' ', bdi(one.label))] },
      { key: 'when', sort: (one) => one.at, label: t('log.when'), cell: (one) => when(one.at, 'cell') },
    ],
    none: () => ({ text: t('log.none'), action: button(t('filters.clear'), { run: () => filter.clear() }) }),
  });
  const chain = await get('audit/chain', {}, signal);
  await records.ready;
  const save = (format) => ({ label: t(`export.${format}`), icon: 'download',
    href: address('audit/export', { ...args(), format }) });
  return {
    title: t('nav.log'),
    view: () => el('div', { class: 'page' }, head({
      title: t('nav.log'), pill: chainBadge(chain),
      actions: company.can('audit.export') && menu({
        label: t('export.title'), kind: '',
        items: () => [records.page().totalCount > MOST && el('p', { class: 'menu-title' }, t('export.cut', { n: MOST })),
          save('csv'), save('jsonl')],
      }),
    }), fresh > 0 && button(t('log.new', { n: fresh }), { kind: 'fresh', run: renew }),
    el('div', { class: 'card' }, filter.view(records.tools()), records.view())),
    poll: {
      path: 'audit', query: args, every: () => 15000,
      /* Rows never shift under the reader's eyes: what is new is counted. */
      apply: ({ items }) => {
        const known = new Set(records.rows().map((one) => one.id));
        fresh = filter.query().to ? 0 : items.filter((one) => !known.has(one.id)).length;
        redraw();
        if (fresh) announce(t('log.new', { n: fresh }), { quiet: true });
      },
    },
  };
}
