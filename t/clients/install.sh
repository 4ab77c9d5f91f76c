#!/bin/sh
# Fetches Node 22 and the official MCP clients and checks from npm into a directory, for t/71-mcp-clients.t:
#     t/clients/install.sh DIR && IDADMIN_NPM=DIR make check TESTS=t/71-mcp-clients.t
set -e
dir=${1:?usage: install.sh DIR}
mkdir -p "$dir"
cd "$dir"
[ -f package.json ] || echo '{"name":"idadmin-mcp-clients","private":true}' >package.json
npm install --no-fund --no-audit --allow-scripts=node node@22 2>&1 | tail -1
[ -x node_modules/node/bin/node ] || npm rebuild node
PATH=$PWD/node_modules/node/bin:$PATH
export PATH
npm install --no-fund --no-audit @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/sdk@1 @modelcontextprotocol/client@2 \
    @modelcontextprotocol/inspector@2 ajv@8 2>&1 | tail -1
node --version
