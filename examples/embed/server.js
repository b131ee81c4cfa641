/**
 * The server of a page that embeds an import, in one file without packages. Start it with the settings below, then open its address.
 *
 *   LADING_URL=https://lading.example.com LADING_TOKEN=lading_… ORG=org_… TEMPLATE=tpl_… PORT=3000 node examples/embed/server.js
 */
import {readFile} from 'node:fs/promises'
import {createServer} from 'node:http'
import {pathToFileURL} from 'node:url'

/** Starts the server. `origin` is the address at which people open the page. */
export const startHost = ({lading, token, org, template, port = 0, origin}) => {
  const page = readFile(new URL('page.html', import.meta.url), 'utf8')

  /** Creates an embed token. A real server does this only for a person who is signed in. */
  const createToken = async () => {
    const answer = await fetch(`${lading}/orgs/${org}/embed-tokens`, {
      method: 'POST',
      headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json'},
      body: JSON.stringify({template, origin: origin ?? `http://127.0.0.1:${server.address().port}`, rowsLimit: 1_000, minutes: 30}),
      signal: AbortSignal.timeout(10_000),
    })
    return {status: answer.status, body: await answer.json()}
  }

  const answer = async (request, response) => {
    if (request.method === 'GET' && request.url === '/') {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      return response.end((await page).replaceAll('LADING_URL', lading).replaceAll('TEMPLATE_ID', template))
    }
    if (request.method !== 'POST' || request.url !== '/embed-token') return response.writeHead(404).end()
    const {status, body} = await createToken()
    response.writeHead(status === 201 ? 200 : 502, {'content-type': 'application/json', 'cache-control': 'no-store'})
    response.end(JSON.stringify(status === 201 ? {token: body.secret} : {error: body.error}))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(error => {
      process.stderr.write(`${error}\n`)
      response.writeHead(502).end()
    })
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const {LADING_URL: lading, LADING_TOKEN: token, ORG: org, TEMPLATE: template, PORT = '3000', ORIGIN: origin} = process.env
  const server = await startHost({lading, token, org, template, port: Number(PORT), origin})
  process.stdout.write(`The page is at http://127.0.0.1:${server.address().port}. Its origin must be in the setting embedOrigins\n`)
}
