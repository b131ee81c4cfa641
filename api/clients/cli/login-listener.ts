import {createHash, timingSafeEqual} from 'node:crypto'
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'

type Listener = {port: number; token: Promise<string>; close(): void}

const mostBytes = 16 * 1024

/**
 * Listens on this machine for a form that contains the session and the expected state, and refuses every other request. The listener closes after
 * the first valid form, when `signal` aborts, or at the time-out.
 */
export const listenForSession = async (state: string, {signal, timeoutMs}: {signal: AbortSignal; timeoutMs: number}): Promise<Listener> => {
  const {promise: token, resolve, reject} = Promise.withResolvers<string>()
  const server = createServer((request, response) => {
    take(request, state, (server.address() as AddressInfo).port).then(
      taken => {
        // The browser must have the whole page before `close` cuts its connection.
        if (taken !== null) response.once('close', () => resolve(taken))
        answer(response, taken === null ? 403 : 200, taken === null ? REFUSED : DONE)
      },
      () => answer(response, 400, REFUSED),
    )
  })
  server.requestTimeout = 10_000
  server.headersTimeout = 5_000
  server.maxConnections = 20
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening))
  const timer = setTimeout(() => reject(new Error('TIMED_OUT')), timeoutMs)
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, {once: true})
  const close = () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    server.close()
    // Browsers open spare connections and keep them for minutes. Each would keep the command alive.
    server.closeAllConnections()
  }
  token.catch(() => {}).finally(close)
  return {port: (server.address() as AddressInfo).port, token, close}
}

/** Returns the token of a form with the right state, or null. Checks `Host` to prevent DNS rebinding. */
const take = async (request: IncomingMessage, state: string, port: number): Promise<string | null> => {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  if (request.method !== 'POST' || request.url !== '/' || !isForm || request.headers.host !== `127.0.0.1:${port}`) return null
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > mostBytes) return null
  }
  const form = new URLSearchParams(text)
  const token = form.get('token')
  return isSame(form.get('state') ?? '', state) && token && /^[\w.-]+$/.test(token) ? token : null
}

/** Compares two secrets in constant time. */
const isSame = (given: string, wanted: string) => timingSafeEqual(hashOf(given), hashOf(wanted))
const hashOf = (text: string) => createHash('sha256').update(text).digest()

const answer = (response: ServerResponse, status: number, text: string) => {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'referrer-policy': 'no-referrer',
    connection: 'close',
  })
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>lading</title><p>${text}</p></html>\n`,
  )
}

const DONE = 'The command line is signed in. You can close this window and return to the terminal.'
const REFUSED = 'The sign-in request is not valid. Start again with <code>lading login</code>.'
