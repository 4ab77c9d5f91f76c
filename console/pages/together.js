// Owns changes of several people at once: another manager, and offboardings with what the brake says.
import { get, send } from '../api.js';
import { el } from '../dom.js';
import { addDays, city, dayOf, t } from '../format.js';
import { comment, field, pastField, required } from '../components/form.js';
import { many } from '../components/many.js';
import { box } from '../components/page.js';

const write = (method, path) => (one, { comment: why, typed, ...values }, key) =>
  send(method, path, { key, query: { comment: why }, body: { userPrincipalName: one.id, ...values } });

const setManager = (items) => {
  const manager = field({ name: 'manager', kind: 'person', label: t('field.manager') });
  return many({
    title: t('together.manager.ask', { n: items.length }), items, fields: [manager, comment()],
    verb: t('together.manager'), sum: 'together.manager.sum',
    check: (values) => (manager.unclear() ? [{ name: 'manager', message: t('form.pick') }]
      : required(values, 'manager')),
    each: write('PATCH', 'user'),
  });
};

/* What the brake does with so many: how many an hour it lets through, and how many will wait. */
const brakeWords = (brake, n) => (brake?.offboardingsPerHour > 0 && n > brake.offboardingsPerHour
  ? box('warn', el('p', null, t('together.brake', { n: brake.offboardingsPerHour })),
    el('p', null, t('together.held', { n: n - brake.offboardingsPerHour }))) : null);

async function offboard(items, company) {
  const { brake } = company.can('company.read') ? await get('company') : {};
  const own = items.find((one) => one.userPrincipalName === company.person?.userPrincipalName);
  const day = [
    field({ name: 'date', label: t('field.date'), kind: 'date', value: addDays(dayOf(), 7) }),
    field({ name: 'time', label: t('moment.time', { city: city() }), kind: 'time', value: '17:00' }),
  ];
  const past = pastField(() => ({ date: day[0].value(), time: day[1].value() }));
  return many({
    title: t('together.offboard.ask', { n: items.length }), items, fields: [...day, past, comment()], danger: true,
    verb: t('together.offboard.go', { n: items.length }), sum: 'together.offboard.sum',
    lead: () => [!past.passed() && el('p', null, t('offboard.canMove')), own && box('bad', t('person.own')),
      brakeWords(brake, items.length)],
    check: (values) => [...required(values, 'date', 'time'),
      ...(values.date && values.date < dayOf() ? [{ name: 'date', message: t('together.past') }] : past.check())],
    each: write('POST', 'user/offboard'),
  });
}

/* What may be done with people that are ticked in a list. */
export const together = (company, verbs) => company.can('people.write') && ((picked) => [
  verbs.includes('manager') && { label: t('together.manager'), key: 'manager',
    run: () => setManager(picked) },
  verbs.includes('offboard') && { label: t('offboard.open'), key: 'offboard', icon: 'leave',
    run: () => offboard(picked, company) }].filter(Boolean));
export { setManager };
