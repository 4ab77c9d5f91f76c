// Owns copying: a text with a button that copies it.
import { announce, el, icon } from '../dom.js';
import { t } from '../format.js';

/* Over plain HTTP elsewhere than on loopback there is no clipboard: then the text is selected and
 * the person presses the keys. source: the node that shows the text. */
export function copyButton(text, source, what) {
  const label = el('span', null, t('copy'));
  const button = el('button', {
    type: 'button', class: 'button small plain copy', 'aria-label': `${t('copy')}: ${what || text}`,
    onclick: async () => {
      let said = t('copy.done');
      try { await navigator.clipboard.writeText(text); } catch {
        getSelection().selectAllChildren(source);
        said = t('copy.keys');
      }
      label.textContent = said;
      announce(said);
      setTimeout(() => { label.textContent = t('copy'); }, 4000);
    },
  }, icon('copy'), label);
  return button;
}

/* The text in monospace, whole, with its button. block: a line, or lines, of its own. */
export function copyable(text, { what, block } = {}) {
  const source = el(block ? 'pre' : 'code', { tabindex: block ? '0' : null }, text);
  return el('span', { class: `copyable${block ? ' block' : ''}` }, source,
    copyButton(text, source, what));
}
