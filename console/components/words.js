// Owns the words that people of a company have already, which are offered while one is typed.
import { get } from '../api.js';
import { redraw } from '../dom.js';

const NAMES = ['department', 'jobTitle', 'office', 'city', 'country', 'company'];

const quietly = (asked) => asked.catch((error) => {
  if (error.status === undefined && error.name !== 'AbortError') throw error;
});
/* The list of people has no licences: they come from role templates and from unused licences. */
async function licences(signal) {
  const [templates, unused] = await Promise.all([quietly(get('role-templates', { limit: 200 }, signal)),
    quietly(get('hygiene', { sections: 'disabledWithAccess', limit: 200 }, signal))]);
  const given = await Promise.all((templates?.items ?? []).slice(0, 20).map(({ id }) =>
    quietly(get('role-template', { roleTemplate: id }, signal))));
  return [...given.map((one) => one?.roleTemplate), ...unused?.sections.disabledWithAccess.items ?? []]
    .flatMap((one) => one?.licenses ?? []);
}
/* load() asks for them once, licensed: for licences too; of(name): those that are known by now. */
export function knownWords(signal) {
  const found = {};
  let asked = false;
  async function load(licensed) {
    if (asked) return;
    asked = true;
    const [people, names] = await Promise.all([quietly(get('users', { limit: 200 }, signal)),
      licensed && licences(signal)]);
    for (const one of people?.items ?? []) {
      for (const name of NAMES) if (one[name]) (found[name] ||= new Set()).add(one[name]);
    }
    if (names) found.license = new Set(names);
    redraw();
  }
  return { load, of: (name) => [...found[name] ?? []].sort((a, b) => a.localeCompare(b)) };
}
