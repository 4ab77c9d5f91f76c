// The official TypeScript clients against a server: connect, list, call, page, errors. Prints one JSON document of what they
// saw; what it must be is the test's business. node sdk.mjs URL SECRET VERSION MODE, with packages found from $IDADMIN_NPM.
//   VERSION 1 (@modelcontextprotocol/sdk) or 2 (@modelcontextprotocol/client)      MODE of 2: legacy, auto, modern
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [url, secret, version, mode] = process.argv.slice(2);
const require = createRequire(`${process.env.IDADMIN_NPM}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const options = { requestInit: { headers: { Authorization: `Bearer ${secret}` } } };

async function connect(negotiation) {
  const client_module = version === '1' ? await load('@modelcontextprotocol/sdk/client/index.js') : await load('@modelcontextprotocol/client');
  const transports = version === '1' ? await load('@modelcontextprotocol/sdk/client/streamableHttp.js') : client_module;
  const client = new client_module.Client({ name: 'idadmin-test', version: '1' }, negotiation ? { versionNegotiation: negotiation } : {});
  await client.connect(new transports.StreamableHTTPClientTransport(new URL(url), options));
  return client;
}

async function attempt(what) {
  try {
    return await what();
  } catch (error) {
    return { thrown: String(error.message ?? error), code: error.code };
  }
}

const negotiations = { legacy: { mode: 'legacy' }, auto: { mode: 'auto' }, modern: { mode: { pin: '2026-07-28' } } };
const seen = {};
const client = await connect(negotiations[mode]);
seen.server = client.getServerVersion();
seen.instructions = client.getInstructions();
seen.protocol = client.getNegotiatedProtocolVersion?.();
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
const call = (name, args) => attempt(() => client.callTool({ name, arguments: args }));
seen.first = await call('search_users', { limit: 2 });
seen.items = [];
for (let cursor, round = 0; round < 100; round++) {
  const page = await call('search_users', { limit: 2, ...(cursor ? { cursor } : {}) });
  if (!page.structuredContent) { seen.broken = page; break; }
  seen.items.push(...page.structuredContent.items.map((item) => item.id));
  cursor = page.structuredContent.nextCursor;
  if (!cursor) break;
}
seen.each = {};
for (const name of seen.tools) seen.each[name] = await call(name, JSON.parse(process.env.IDADMIN_ARGUMENTS ?? '{}')[name] ?? {});
seen.nobody = await call('get_user', { user: 'nobody@nordic.example' });
seen.unknown = await call('delete_user', {});
seen.badArgument = await call('search_users', { limit: 500 });
await client.close();
console.log(JSON.stringify(seen));
