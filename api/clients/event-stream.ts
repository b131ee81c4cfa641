import type {Client, Json, RequestOptions} from './http.ts'

type StreamEvent = {event: string; data: Json; id: string | null}

/**
 * Reads the server-sent events of one response until the server ends it, with data parsed as JSON. Status 204 yields no events. The
 * browser's `EventSource` is not used, because it cannot send a bearer token or a header. Callers retry, and reconnect with `last-event-id`. Calls
 * `onOpen` when an event stream begins, because the first event may come much later.
 */
export async function* readEvents(
  client: Client,
  method: string,
  path: string,
  {onOpen, ...options}: RequestOptions & {onOpen?(): void} = {},
): AsyncGenerator<StreamEvent> {
  const response = await client.open(method, path, {timeoutMs: Infinity, isSentOnce: true, ...options})
  if (response.headers.get('content-type')?.includes('event-stream')) onOpen?.()
  if (response.status === 204 || !response.body) return
  let text = ''
  for await (const chunk of readText(response.body)) {
    text += chunk.replaceAll('\r\n', '\n')
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const read = readEvent(text.slice(0, end))
      text = text.slice(end + 2)
      if (read) yield read
    }
  }
}

async function* readText(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield decoder.decode(next.value, {stream: true})
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Parses one event. Returns null for a keep-alive comment. */
const readEvent = (block: string): StreamEvent | null => {
  const fields = block
    .split('\n')
    .filter(line => line && !line.startsWith(':'))
    .map(line => [line.slice(0, Math.max(0, line.indexOf(':'))) || line, line.slice(line.indexOf(':') + 1).replace(/^ /, '')] as const)
  const of = (name: string) => fields.filter(([field]) => field === name).map(([, value]) => value)
  const data = of('data').join('\n')
  return data ? {event: of('event').at(-1) ?? 'message', data: JSON.parse(data), id: of('id').at(-1) ?? null} : null
}
