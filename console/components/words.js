// Owns the words that people of a company have already, which are offered while one is typed.
import { get } from '../api.js';
import { redraw } from '../dom.js';

const NAMES = ['department', 'jobTitle', 'office', 'city', 'country', 'company'];

/* load() asks for them once; of(name): those that are known by now, in order. */
export function knownWords(signal) {
  const found = {};
  let asked = false;
  async function load() {
    if (asked) return;
    asked = true;
    try {
      for (const one of (await get('users', { limit: 200 }, signal)).items) {
        for (const name of NAMES) if (one[name]) (found[name] ||= new Set()).add(one[name]);
      }
      redraw();
    } catch (error) { if (error.status === undefined && error.name !== 'AbortError') throw error; }
  }
  return { load, of: (name) => [...found[name] ?? []].sort((a, b) => a.localeCompare(b)) };
}
