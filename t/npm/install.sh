#!/bin/sh
# Fetches what two tests take from npm into a directory: the official MCP clients and checks for t/mcp/02-clients.t, with Node 22
# beside them where the system's is older, and axe-core for t/console/40-pages.t:
#     t/npm/install.sh DIR && IDADMIN_NPM=DIR make check
set -eu
dir=${1:?usage: install.sh DIR}
command -v npm >/dev/null || { echo "install.sh: npm is needed (Debian: apt-get install npm)" >&2; exit 1; }
mkdir -p "$dir"
cd "$dir"
# npm's package "node" fetches the program in a script of its own, which newer versions of npm want allowed by name.
[ -f package.json ] || echo '{"name":"idadmin-tests","private":true,"allowScripts":{"node":true}}' >package.json
add() { npm install --no-fund --no-audit --loglevel=error "$@"; }
major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')
if [ "${major:-0}" -lt 22 ]; then
    add node@22
    PATH=$PWD/node_modules/node/bin:$PATH
    export PATH
fi
add @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/sdk@1 @modelcontextprotocol/client@2 @modelcontextprotocol/inspector@2 \
    ajv@8 axe-core@4.14
node --version
