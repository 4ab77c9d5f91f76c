// Owns copying: a text with a button that copies it.
import { announce, el, icon, useRef, useState } from '../dom.js';
import { t } from '../format.js';

/* The text in monospace, whole, with its button. block: a line, or lines, of its own. */
export const copyable = (text, { what, block } = {}) => el(Copyable, { text, what, block });

/* Over plain HTTP elsewhere than on loopback there is no clipboard: then the text is selected and
 * the person presses the keys. */
function Copyable({ text, what, block }) {
  const source = useRef(), [said, say] = useState(null);
  const copy = async () => {
    let outcome = 'copy.done';
    try { await navigator.clipboard.writeText(text); } catch {
      if (!source.current) return; // the page was left meanwhile
      getSelection().selectAllChildren(source.current);
      outcome = 'copy.keys';
    }
    say(outcome);
    announce(t(outcome));
    setTimeout(say, 4000, null);
  };
  return el('span', { class: `copyable${block ? ' block' : ''}` },
    el(block ? 'pre' : 'code', { tabindex: block ? '0' : null, ref: source }, text),
    el('button', { type: 'button', class: 'button small plain copy', onclick: copy,
      'aria-label': `${t('copy')}: ${what || text}` }, icon('copy'), el('span', null, t(said || 'copy'))));
}
