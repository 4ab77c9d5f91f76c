// Owns a form inside a dialog: fields, the summary of what is wrong, two buttons.
import { newKey } from '../api.js';
import { t } from '../format.js';
import { open } from './dialog.js';
import { form } from './form.js';
import { button } from './page.js';

/* As form(), in a dialog: run(values, key) answers what the dialog answers, undefined keeps it open.
 * key is made when the dialog opens: a second press after a lost answer means the same write. */
export function formDialog({ title, lead, wide, run, ...rest }) {
  const key = newKey();
  let close;
  const made = form({
    ...rest, label: '', buttons: button(t('back'), { run: () => close() }),
    run: async (values) => {
      const answer = await run(values, key);
      if (answer !== undefined) close(answer);
    },
  });
  return open({
    title, wide, back: null, body: () => [lead, made.view()], first: rest.fields[0].id,
    ready: (end) => { close = end; },
  });
}
