// Presses whatever can be pressed on a page of the console, as 44-everything.t asks: in the page
// itself, because a robot outside would take minutes. Arguments: the pages, whether it writes, whom it
// names where a person is asked for.
const [pages, write, who] = arguments, done = arguments[arguments.length - 1];

const told = {pressed: 0, faults: [], seen: [], links: []};
const shown = (node) => node.isConnected && node.checkVisibility();
const words = (node) => (node.getAttribute('aria-label') || node.innerText || node.name || node.value || '')
    .trim().replace(/\s+/g, ' ').slice(0, 60);
const wait = (ms) => new Promise((go) => setTimeout(go, ms));
const turn = () => new Promise((go) => { setTimeout(go, 0); });
/* Until nothing is asked for and what came of it is drawn. */
async function quiet() {
    for (let calm = 0; calm < 3;) {
        await wait(15);
        calm = between.waiting ? 0 : calm + 1;
    }
}
async function until(what, holds) {
    for (let i = 0; i < 3000; i++) {
        const value = holds();
        if (value) return value;
        await wait(20);
    }
    throw new Error(`waited in vain until ${what} at ${location.hash}`);
}
async function visit(place) {
    const to = `#/nordic/${place}`;
    if (location.hash !== to) {
        delete document.documentElement.dataset.ready;
        location.hash = to;
    }
    // The question before a form is left comes when the address has changed, not at once.
    while (await until(`${place} stands`, () => question() || document.documentElement.dataset.ready)
        && question()) await leave();
    await quiet();
    for (const one of document.querySelectorAll('#page .failed')) {
        told.faults.push(`${place}: ${one.innerText}`);
    }
}
const question = () => document.querySelector('dialog[open]');
/* "Leave the page?" has one answer here. */
async function leave() {
    await turn();
    const go = question()?.querySelector('.dialog-foot button:last-child');
    go?.click();
    await quiet();
}

/* Fields as a person would fill them. */
let names = 0;
const VALUES = {
    firstname: () => `Robo${++names}`, surname: () => 'Knapp', label: () => `Robot ${++names}`,
    date: () => '2027-06-01', time: () => '09:00', reason: () => 'Because.', overlapDays: () => '3',
    justification: () => 'Needs it.', department: () => `Sales ${++names}`, newUsername: () => `robot-${++names}`,
    view: () => `View ${++names}`, csv: () => `firstname;surname\nRobo;File${++names}`,
};
function type(input, value) {
    input.value = value;
    for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {bubbles: true}));
}
async function fill(form) {
    for (const input of form.querySelectorAll('input, textarea')) {
        if (!shown(input)) continue;
        if (input.getAttribute('role') === 'combobox') {
            if (!['user', 'manager'].includes(input.name) || input.value) continue;
            input.focus();
            type(input, who);
            const one = await until('a person is offered', () => form.querySelector('[role=option][id]'));
            one.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true, cancelable: true}));
            await turn();
        } else if (input.name === 'stored' && !input.checked) input.click();
        else if (VALUES[input.name]) type(input, VALUES[input.name]());
        else if (form.querySelector('.code') && input.type === 'text') type(input, form.querySelector('.code').innerText);
        await turn();
    }
}

/* What is open is gone through: everything in it is pressed, then its last button. */
async function answer(place, how) {
    const seen = new Set();
    for (let i = 0; question() && i < 6; i++) {
        const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
        const foot = dialog.querySelector('.dialog-foot:not(:empty), .form-foot');
        for (const one of dialog.querySelectorAll('summary, button, input[type=radio], input[type=checkbox], select')) {
            const name = words(one);
            if (foot?.contains(one) || !shown(one) || seen.has(name)) continue;
            seen.add(name);
            one.click();
            if (one.matches('select')) {
                for (const option of one.options) { type(one, option.value); await turn(); }
            }
            told.pressed++;
            await quiet();
        }
        const buttons = [...foot.querySelectorAll('button')];
        if (how === 'back' && buttons.length > 1) {
            buttons[0].click();
        } else {
            await fill(dialog);
            [...foot.querySelectorAll('button')].at(-1).click();
        }
        await quiet();
        if (question() === dialog && dialog.querySelector('[role=alert] .box, .summary:not([hidden])')) {
            told.faults.push(`${place}: ${dialog.innerText.slice(0, 300)}`);
            buttons[0].click();
            await quiet();
        }
    }
}

const controls = () => [...document.querySelectorAll('#page button, #page summary, #page a[href], #page select,'
    + ' #page input[type=checkbox], #page input[type=radio], #page .segment')]
    .filter((one) => shown(one) && !one.closest('[popover]'));
const nameOf = (one) => `${one.tagName} ${one.closest('[data-id]') ? 'row ' : ''}${words(one)}`;
/* A link of a row leads to what the same link of another row leads to. */
const kindOf = (one) => (one.closest('[data-id], .needs, .plain, .bare, .facts')
    ? one.tagName + one.closest('[data-id] > *, li, dd')?.className + (one.getAttribute('href') || words(one)).replace(/[^/#?=&]{12,}/g, '') : nameOf(one));
/* What ends a thing comes last, so that all else was there to press. */
const LAST = /Cancel|Delete|Disable|Offboard|End the access|Withdraw|Take back|Unassign|Review|Deny|Queue/;
/* Without a selection there are no verbs, and of all that match no robot offboards everybody. */
const rank = (one) => LAST.test(nameOf(one)) + 2 * /Clear selection/.test(words(one)) + 3 * /that match/.test(words(one));
const order = (all) => [...all].sort((a, b) => rank(a) - rank(b));
/* Every list has the same menu and sorts in the same way: each column and item is pressed once. */
const shared = new Set();

async function press(place, control, how) {
    told.pressed++;
    const before = location.hash;
    control.click();
    await quiet();
    await answer(place, how);
    const left = location.hash !== before;
    for (const one of document.querySelectorAll('#page .failed, #page .summary:not([hidden])')) {
        told.faults.push(`${place} › ${nameOf(control)}: ${one.innerText.slice(0, 200)}`);
    }
    if (left) await visit(place);
}

async function page(place) {
    await visit(place);
    const seen = new Set();
    for (let i = 0; i < 120; i++) {
        const one = order(controls()).find((each) => !seen.has(kindOf(each))
            && !(each.matches('.sort') && shared.has(words(each))));
        if (!one) break;
        seen.add(kindOf(one));
        if (one.matches('.sort')) shared.add(words(one));
        told.seen.push(`${place} › ${nameOf(one)}`);
        if (one.matches('a[href^="#/"]')) { told.links.push(one.getAttribute('href')); continue; }
        if (one.matches('a')) continue; // a file, or a page that is not ours
        if (one.hasAttribute('popovertarget')) {
            const chosen = one.closest('.tools, .card-head') ? shared : new Set(); // what an item does may bring another ("Enable")
            for (let k = 0; k < 24; k++) {
                const again = shown(one) ? one : controls().find((each) => kindOf(each) === kindOf(one));
                if (!again) break;
                again.click();
                await quiet();
                const ways = order(document.querySelectorAll(':popover-open button.item'))
                    .flatMap((item) => (write ? ['back', 'go'] : ['back']).map((way) => [item, way, words(item) + way]));
                const next = ways.find(([, , each]) => !chosen.has(each));
                if (!next) { document.querySelector(':popover-open')?.hidePopover(); break; }
                chosen.add(next[2]);
                told.seen.push(`${place} › ${next[2]}`);
                await press(place, next[0], next[1]);
            }
            continue;
        }
        const submits = one.matches('form .primary');
        if (submits) {
            if (!write) continue;
            await fill(one.closest('form'));
            await quiet();
            await press(place, one, 'back'); // "Review", then back
            const again = controls().find((each) => kindOf(each) === kindOf(one));
            if (again) await press(place, again, 'go');
            continue;
        }
        const writes = /Read now|^Check$|Undo/.test(words(one));
        if (writes && !write) continue;
        await press(place, one, 'back');
        const again = write && controls().find((each) => kindOf(each) === kindOf(one));
        if (again && again.matches('button:not([aria-pressed])') && between.dialogs.has(nameOf(one))) await press(place, again, 'go');
    }
}

(async () => {
    between.dialogs = new Set();
    const asked = HTMLDialogElement.prototype.showModal;
    let last;
    document.addEventListener('click', (event) => { last = event.target.closest('button, a'); }, true);
    HTMLDialogElement.prototype.showModal = function () {
        if (last) between.dialogs.add(nameOf(last));
        return asked.call(this);
    };
    for (const place of pages) {
        try { await page(place); } catch (error) {
            told.faults.push(`${place}: ${error.message}`);
        }
    }
    // Each kind of link leads somewhere.
    const kinds = new Map();
    for (const link of told.links) {
        const kind = link.replace(/[0-9a-f-]{12,}|01[0-9a-z]{20,}|\d{4}-[^&]*/g, '*').replace(/=[^&]*/g, '=');
        if (!kinds.has(kind)) kinds.set(kind, link);
    }
    for (const link of kinds.values()) {
        const place = link.replace(/^#\/nordic\/?/, '') || 'overview';
        try { await visit(place); } catch (error) { told.faults.push(error.message); }
    }
    told.links = [...kinds.values()];
    HTMLDialogElement.prototype.showModal = asked;
    done(told);
})();
