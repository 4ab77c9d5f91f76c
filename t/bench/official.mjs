// An MCP server built with the official TypeScript SDK: streamable HTTP, stateless, JSON answers,
// as many processes as there are processors. It answers with fixed results (a JSON file: {tools,
// results: {tool: result}}), so that nothing but the protocol costs.
//     node official.mjs DIRECTORY-OF-NODE_MODULES PORT RESULTS
import cluster from 'node:cluster';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [home, port, file] = process.argv.slice(2);
const sdk = (name) => import(pathToFileURL(
    path.join(home, 'node_modules/@modelcontextprotocol/sdk/dist/esm', name)));

if (cluster.isPrimary) {
    os.cpus().forEach(() => cluster.fork());
    process.on('SIGTERM', () => process.exit(0));
} else {
    const { Server } = await sdk('server/index.js');
    const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp.js');
    const { CallToolRequestSchema, ListToolsRequestSchema } = await sdk('types.js');
    const fixed = JSON.parse(fs.readFileSync(file, 'utf8'));

    const answer = async (request, response) => {
        const server = new Server({ name: 'official', version: '1' },
            { capabilities: { tools: {} } });
        server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: fixed.tools }));
        server.setRequestHandler(CallToolRequestSchema,
            ({ params }) => fixed.results[params.name]);
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
