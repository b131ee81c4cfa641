import type {Client, Json, Sent} from './http.ts'

type StreamEvent = {event: string; data: Json; id: string | null}

/**
 * Server-sent events of one answer, each with its data read as JSON, until the server ends it. 204 is an end without any. `EventSource` can
 * send no bearer, and begins again by itself; here the caller does, with `last-event-id`.
 */
export async function* readEvents(client: Client, method: string, path: string, sent: Sent = {}): AsyncGenerator<StreamEvent> {
  const response = await client.open(method, path, {timeoutMs: Infinity, ...sent})
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

/** A comment, sent to keep the connection open, is no event. */
const readEvent = (block: string): StreamEvent | null => {
  const fields = block
    .split('\n')
    .filter(line => line && !line.startsWith(':'))
    .map(line => [line.slice(0, Math.max(0, line.indexOf(':'))) || line, line.slice(line.indexOf(':') + 1).replace(/^ /, '')] as const)
  const of = (name: string) => fields.filter(([field]) => field === name).map(([, value]) => value)
  const data = of('data').join('\n')
  return data ? {event: of('event').at(-1) ?? 'message', data: JSON.parse(data), id: of('id').at(-1) ?? null} : null
}
