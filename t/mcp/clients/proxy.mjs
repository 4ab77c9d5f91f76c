// A loopback proxy in front of the MCP address that adds one Authorization header: for clients that cannot be told one.
// node proxy.mjs URL SECRET -> prints its port; ends with its standard input.
import http from 'node:http';

const [target, secret] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(target);
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${secret}` };
  // What a browser says of this proxy holds for the server behind it; anything else goes through as it came.
  if (headers.origin && [`localhost:${server.address().port}`, `127.0.0.1:${server.address().port}`].includes(URL.parse(headers.origin)?.host)) headers.origin = `http://${hostname}:${port}`;
  const onward = http.request({ hostname, port, path: pathname, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', (error) => response.destroy(error));
  request.pipe(onward);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit(0));
