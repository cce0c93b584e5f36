// An MCP server that asks for OAuth, and npm's oidc-provider, which grants it to whoever asks.
//
// The first argument is the folder of the npm packages. Prints the URL of the MCP server. `/control/..` of the
// authorization server changes it: `ttl?seconds=N`, `revoke`, `forget`, and `issued` lists what it granted.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const modules = process.argv[2];
const { default: Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));

const listening = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

const authorization = http.createServer();
const resources = http.createServer();
const issuer = `http://127.0.0.1:${await listening(authorization)}`;
const base = `http://127.0.0.1:${await listening(resources)}`;
const resource = `${base}/mcp`;

let seconds = 3600;
const issued = { tokens: [], refreshes: 0, registrations: 0, logins: 0 };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'a-machine',
      client_secret: 'secret-of-a-machine-4711',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  cookies: { keys: ['a key of the cookies'] },
  claims: { openid: ['sub'] },
  scopes: ['openid', 'offline_access'],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      // Tokens for other resources, such as a proxy, can be read by whoever has the keys.
      getResourceServerInfo: (_, wanted) => ({
        scope: 'read write', audience: wanted, accessTokenTTL: seconds,
        ...(wanted === resource ? { accessTokenFormat: 'opaque' } : { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      }),
    },
  },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ttl: { AccessToken: () => seconds, ClientCredentials: () => seconds },
});
provider.on('grant.success', (context) => {
  const { access_token, refresh_token } = context.body;
  issued.tokens.push(...[access_token, refresh_token].filter(Boolean));
  if (context.oidc.params.grant_type === 'refresh_token') issued.refreshes += 1;
});
provider.on('grant.error', (_, error) => console.error('grant', error.message, error.error_detail ?? ''));
provider.on('authorization.error', (_, error) => console.error('authorization', error.message));
provider.on('registration_create.success', () => (issued.registrations += 1));

// A user who is always there, and always says yes.
const consent = async (request, response) => {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    issued.logins += 1;
    return provider.interactionFinished(request, response, { login: { accountId: 'somebody' } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(params.resource ?? resource, params.scope ?? 'read');
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
};

const removed = new Set();
const control = (url, response) => {
  const action = url.pathname.slice('/control/'.length);
  if (action === 'ttl') seconds = Number(url.searchParams.get('seconds'));
  // What was granted so far is no longer accepted; `forget` takes the right to renew as well.
  if (action === 'revoke') issued.tokens.forEach((token) => removed.add(token));
  json(response, 200, issued);
};
authorization.on('request', async (request, response) => {
  const url = new URL(request.url, issuer);
  if (url.pathname.startsWith('/interaction/')) return consent(request, response);
  if (url.pathname === '/control/forget') {
    for (const token of issued.tokens) {
      removed.add(token);
      await (await provider.RefreshToken.find(token))?.destroy();
    }
    return json(response, 200, issued);
  }
  if (url.pathname.startsWith('/control/')) return control(url, response);
  return provider.callback()(request, response);
});

const metadata = '/.well-known/oauth-protected-resource/mcp';
const tools = [
  { name: 'whoami', description: 'Says who is there.', inputSchema: { type: 'object' } },
  { name: 'change', description: 'Changes something.', inputSchema: { type: 'object' } },
  { name: 'fail', description: 'Fails.', inputSchema: { type: 'object' } },
];
resources.on('request', async (request, response) => {
  if (new URL(request.url, base).pathname === metadata) {
    return json(response, 200, {
      resource, authorization_servers: [issuer], scopes_supported: ['read', 'write'],
    });
  }
  const refuse = (status, why) =>
    json(response, status, {}, { 'www-authenticate': `Bearer resource_metadata="${base}${metadata}"${why}` });
  const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const token =
    (await provider.AccessToken.find(bearer)) ?? (await provider.ClientCredentials.find(bearer));
  if (!token || token.isExpired || removed.has(bearer) || ![token.aud].flat().includes(resource)) {
    return refuse(401, ', scope="read"');
  }
  if (request.method !== 'POST') return json(response, 405, {});
  let body = '';
  for await (const part of request) body += part;
  const { id, method, params } = JSON.parse(body);
  const needed = params?.name === 'change' ? 'write' : 'read';
  if (!(token.scope ?? '').split(' ').includes(needed)) {
    return refuse(403, `, error="insufficient_scope", scope="${needed}"`);
  }
  const results = {
    initialize: () => ({
      protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [{ type: 'text', text: `${params.name} by ${token.accountId ?? token.clientId}` }] }),
  };
  const result = results[method];
  if (id === undefined) return json(response, 202, {});
  // A careless server repeats what it was sent.
  if (params?.name === 'fail') {
    return json(response, 200, { jsonrpc: '2.0', id, error: { code: 7, message: `failed with ${request.headers.authorization}` } });
  }
  if (!result) return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
  return json(response, 200, { jsonrpc: '2.0', id, result: result() });
});
console.log(resource);
console.log(issuer);
