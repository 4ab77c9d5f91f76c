// Owns one write for each of several people: the question with its fields, progress and a stop, and what
// came of each, which stays on the page.
import { newKey } from '../api.js';
import { bdi, el, redraw } from '../dom.js';
import { t } from '../format.js';
import { reload } from '../router.js';
import { open } from './dialog.js';
import { box, button, named } from './page.js';
import { errorText, notice, quote } from './states.js';

function report(results, total, sum) {
  const refused = results.filter((one) => one.error);
  const warnings = [...new Set(results.flatMap((one) => one.done?.warnings ?? []))];
  notice({
    tone: refused.length || warnings.length ? 'warn' : 'ok',
    text: [t(sum, { n: results.length - refused.length }),
      results.length < total && ` ${t('act.untouched', { n: total - results.length })}`,
      warnings.map((one) => el('p', null, quote(one))),
      refused.length > 0 && el('details', null, el('summary', null, t('act.refused', { n: refused.length })),
        el('ul', null, refused.map((one) => el('li', null, bdi(named(one.item)), ': ', errorText(one.error), ' ',
          quote(one.error.message)))))],
  });
}

/* each(item, values, key) writes one; its key is made when the question opens, so that going on after a
 * lost answer writes nothing twice. fields: of form.js; check(values) answers what is wrong with them.
 * lead(values): sentences above. sum: text of how many were written. */
export async function many({ title, lead, items, fields = [], check = () => [], verb, danger, each, sum }) {
  const keys = items.map(newKey), results = [];
  const values = () => Object.fromEntries(fields.map((one) => [one.name, one.value()]));
  let begun = false, stopped = false;
  function wrong() {
    const faults = check(values());
    for (const one of fields) one.error(faults.find((fault) => fault.name === one.name)?.message ?? '');
    redraw();
    const first = fields.find((one) => one.name === faults[0]?.name);
    if (first) document.getElementById(first.id)?.focus();
    return faults.length > 0;
  }
  async function go() {
    if (!begun && wrong()) return false;
    [begun, stopped] = [true, false];
    while (results.length < items.length && !stopped) {
      const i = results.length;
      try { results.push({ item: items[i], done: await each(items[i], values(), keys[i]) }); } catch (error) {
        if (error.lost || error.status === undefined || error.status === 429) throw error;
        results.push({ item: items[i], error });
      }
      redraw();
    }
    return true;
  }
  await open({
    title, buttons: [{ label: verb, kind: danger ? 'danger' : 'primary', run: go }],
    body: () => [lead?.(values()), !begun && fields.map((one) => one.view()),
      el('ul', null, items.slice(0, 8).map((one) => el('li', null, bdi(named(one)))),
        items.length > 8 && el('li', { class: 'muted' }, t('act.others', { n: items.length - 8 }))),
      begun && box('info', el('progress', { max: items.length, value: results.length,
        'aria-label': t('act.progress') }), ' ', button(t('act.stop'),
        { kind: 'small', run: () => { stopped = true; } }))],
  });
  if (!results.length) return;
  await reload();
  report(results, items.length, sum);
}
