// An MCP server built with the official TypeScript SDK: streamable HTTP, stateless, JSON answers,
// as many processes as there are processors. It answers get_user and a search_users without filters
// as ours does, from the same SQLite files, with one prepared statement for each question. It knows
// no credentials, rights, limits or audit records.
//     node official.mjs DIRECTORY-OF-NODE_MODULES PORT MAIN.db COMPANY TOOLS.json
import cluster from 'node:cluster';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

const [home, port, main, company, tools] = process.argv.slice(2);
const sdk = (name) => import(pathToFileURL(
    path.join(home, 'node_modules/@modelcontextprotocol/sdk/dist/esm', name)));

// --- rows into members; undefined members are left out ---

const time = (ms) => (ms > 0 ? new Date(ms).toISOString().replace('.000Z', 'Z') : null);
const status = (u) => (!u.enabled ? 'disabled' : u.guest ? 'guest' : 'active');
const given = (text) => text ?? undefined;
const manager = (u) => (u.manager_id === null ? null
    : { id: u.manager_id, userPrincipalName: u.manager_upn, displayName: u.manager_name });
const standing = (u) => ({
    status: status(u),
    statusReason: u.expired ? 'expired' : undefined,
    userType: u.guest ? 'guest' : 'member',
});

const listed = (u) => ({
    id: u.id,
    userPrincipalName: given(u.upn),
    displayName: given(u.display_name),
    department: given(u.department),
    jobTitle: given(u.job_title),
    company: given(u.company),
    office: given(u.office),
    employeeId: given(u.employee_id),
    ...standing(u),
    manager: manager(u),
    lastSignInAt: time(u.last_sign_in_at),
    lastSuccessfulSignInAt: time(u.last_success_at),
});

const detailed = (u, concerns) => ({
    userPrincipalName: given(u.upn),
    displayName: given(u.display_name),
    givenName: given(u.given_name),
    surname: given(u.surname),
    department: given(u.department),
    jobTitle: given(u.job_title),
    id: u.id,
    mail: given(u.mail),
    company: given(u.company),
    office: given(u.office),
    city: given(u.city),
    streetAddress: given(u.street_address),
    postalCode: given(u.postal_code),
    country: given(u.country),
    preferredLanguage: given(u.preferred_language),
    employeeId: given(u.employee_id),
    ...standing(u),
    accountEnabled: u.enabled === 1,
    createdAt: time(u.created_at),
    lastSignInAt: time(u.last_sign_in_at),
    manager: manager(u),
    signInActivity: {
        lastSignInAt: time(u.last_sign_in_at),
        lastNonInteractiveSignInAt: time(u.last_noninteractive_at),
        lastSuccessfulSignInAt: time(u.last_success_at),
    },
    licenses: JSON.parse(u.licenses),
    directories: [u.directory],
    directReportCount: u.reports,
    roleTemplates: concerns.filter(({ what }) => what === 'template')
        .map((c) => ({ id: c.id, name: c.name, assignedAt: time(c.at) })),
    pendingTasks: concerns.filter(({ what }) => what === 'task')
        .map((c) => ({ id: c.id, type: c.name, state: c.state, scheduledAt: time(c.at) })),
});

// --- statements ---

const WITH_MANAGER = `SELECT u.*, m.upn AS manager_upn, m.display_name AS manager_name
    FROM cache.directory_user u LEFT JOIN cache.directory_user m ON m.tenant_id = u.tenant_id
    AND m.directory = u.directory AND m.id = u.manager_id`;

function operations(db) {
    db.exec(`ATTACH '${main.replace(/\.db$/, '-cache.db')}' AS cache`);
    const person = db.prepare(`SELECT x.*, (SELECT count(*) FROM cache.directory_user r
        WHERE r.manager_id = x.id AND r.tenant_id = x.tenant_id) AS reports
        FROM (${WITH_MANAGER} WHERE u.upn_key = ?2 AND u.tenant_id = ?1) x`);
    const concerns = db.prepare(`SELECT 'template' AS what, t.id, t.name, NULL AS state,
        a.assigned_at AS at FROM role_assignment a JOIN role_template t
        ON t.tenant_id = a.tenant_id AND t.id = a.template_id
        WHERE a.tenant_id = ?1 AND a.who IN (?2, ?3)
        UNION ALL SELECT 'task', id, type, state, due_at FROM task
        WHERE tenant_id = ?1 AND who IN (?2, ?3) AND state IN ('queued', 'running', 'attention')`);
    const page = db.prepare(`${WITH_MANAGER} WHERE u.tenant_id = ?1 AND u.shadow = 0
        AND (u.name_key, u.id) > (?2, ?3) ORDER BY u.name_key, u.id LIMIT ?4`);
    const total = db.prepare(
        'SELECT sum(people) AS people FROM cache.people_count WHERE tenant_id = ?');
    const fresh = db.prepare(`SELECT min(completed_at) AS at, min(CASE WHEN sign_ins_at > 0
        THEN sign_ins_at ELSE completed_at END) AS sign_ins_at FROM cache.sync_state
        WHERE tenant_id = ?`);
    return {
        get_user({ user }) {
            const key = user.toLowerCase();
            const found = person.get(company, key);
            const { at, sign_ins_at } = fresh.get(company);
            return { user: detailed(found, concerns.all(company, found.id, key)),
                asOf: time(at), signInsAsOf: time(sign_ins_at) };
        },
        search_users({ limit = 50, cursor }) {
            const after = cursor ? JSON.parse(Buffer.from(cursor, 'base64url')) : ['', ''];
            const rows = page.all(company, ...after, limit + 1);
            const more = rows.length > limit;
            const last = rows.slice(0, limit).at(-1);
            const { people } = total.get(company);
            const { at, sign_ins_at } = fresh.get(company);
            return { items: rows.slice(0, limit).map(listed), totalCount: Math.min(people, 10000),
                totalCountIsMinimum: people > 10000,
                nextCursor: more ? Buffer.from(JSON.stringify([last.name_key, last.id]))
                    .toString('base64url') : null,
                asOf: time(at), signInsAsOf: time(sign_ins_at) };
        },
    };
}

// --- the protocol ---

if (cluster.isPrimary) {
    os.cpus().forEach(() => cluster.fork());
    process.on('SIGTERM', () => process.exit(0));
} else {
    const { Server } = await sdk('server/index.js');
    const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp.js');
    const { CallToolRequestSchema, ListToolsRequestSchema } = await sdk('types.js');
    const list = JSON.parse(fs.readFileSync(tools, 'utf8'));
    const run = operations(new DatabaseSync(main, { readOnly: true }));

    const answer = async (request, response) => {
        const server = new Server({ name: 'official', version: '1' },
            { capabilities: { tools: {} } });
        server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: list }));
        server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
            const result = run[params.name](params.arguments);
            return { content: [{ type: 'text', text: JSON.stringify(result) }],
                structuredContent: result };
        });
        const transport = new StreamableHTTPServerTransport(
            { sessionIdGenerator: undefined, enableJsonResponse: true });
        response.on('close', () => { transport.close(); server.close(); });
        await server.connect(transport);
        await transport.handleRequest(request, response);
    };
    http.createServer((request, response) => answer(request, response).catch((error) => {
        console.error(error);
        response.writeHead(500).end();
    })).listen(Number(port), '127.0.0.1');
}
