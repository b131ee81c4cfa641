import type {IncomingMessage} from 'node:http'
import {Refusal} from '../shared/errors.ts'

const usualBytes = 1024 ** 2
const slowestMs = 30_000
/** The longest pause between two chunks of a stream, in ms. The whole stream may take hours. */
const silentMs = 60_000
const deepest = 64

/** Returns `{}` if there is no body. The caller checks the result against the route's schema. */
export const readJson = async (request: IncomingMessage, mostBytes = usualBytes): Promise<unknown> => {
  if (hasNoBody(request)) return {}
  assertJson(request)
  const bytes = await readAll(request, mostBytes)
  if (bytes.length === 0) return {}
  const json = parse(bytes)
  assertPlain(json)
  return json
}

export const readBytes = (request: IncomingMessage, mostBytes = usualBytes): Promise<Buffer> => readAll(request, mostBytes)

/** Opens the body as a stream. A sender that stalls for 60 seconds is disconnected. */
export const openStream = (request: IncomingMessage): IncomingMessage => {
  request.setTimeout(silentMs, () => request.destroy(new Refusal('UPLOAD_BROKEN', 'The upload stalled for a minute. Send it again')))
  request.once('end', () => request.socket.setTimeout(0))
  return request
}

const hasNoBody = ({headers}: IncomingMessage) => headers['transfer-encoding'] === undefined && !Number(headers['content-length'])

const assertJson = ({headers}: IncomingMessage) => {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const charset = parameters.map(one => one.trim()).find(one => one.startsWith('charset='))
  const isJson = /^application\/([\w.+-]+\+)?json$/.test(type.trim())
  if (!isJson || (charset && !/^charset="?utf-?8"?$/.test(charset)))
    throw new Refusal('CONTENT_TYPE', 'Send JSON in UTF-8 as application/json')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Refusal('CONTENT_TYPE', 'The body is compressed. Send it uncompressed')
}

const readAll = async (request: IncomingMessage, mostBytes: number) => {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw tooLarge(mostBytes)
  const chunks: Buffer[] = []
  let size = 0
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => reject(new Refusal('REQUEST_TIMEOUT', 'The body took longer than 30 seconds to arrive. Send it again')),
    slowestMs,
  )
  const take = (chunk: Buffer) => {
    size += chunk.length
    if (size > mostBytes) reject(tooLarge(mostBytes))
    else chunks.push(chunk)
  }
  request.on('data', take).once('end', resolve).once('error', reject)
  const breakOff = () =>
    request.complete || reject(new Refusal('UPLOAD_BROKEN', 'The request body ended before it was complete. Send it again'))
  request.once('close', breakOff)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    request.off('data', take).off('close', breakOff)
  }
  return Buffer.concat(chunks)
}

const tooLarge = (mostBytes: number) => new Refusal('BODY_TOO_LARGE', `The body is too large. Send at most ${mostBytes} bytes`)

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes))
  } catch {
    throw new Refusal('BAD_JSON', 'The body is not valid JSON in UTF-8. Correct it and send it again')
  }
}

/** Rejects nesting deeper than 64 levels, `__proto__` keys, and text that Postgres cannot store (NUL, lone surrogates). */
export const assertPlain = (json: unknown): void => {
  let level: unknown[] = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw new Refusal('BAD_JSON', `The body is nested deeper than ${deepest} levels. Flatten it`)
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'string') assertText(value)
      else if (Array.isArray(value)) for (const item of value) next.push(item)
      else if (typeof value === 'object' && value !== null)
        for (const key of Object.keys(value)) next.push(key, value[key as keyof typeof value])
      if (value !== null && typeof value === 'object' && Object.hasOwn(value, '__proto__'))
        throw new Refusal('BAD_JSON', 'The body has a key named __proto__. Remove it')
    }
    level = next
  }
}

const assertText = (text: string) => {
  if (text.includes('\0') || !text.isWellFormed())
    throw new Refusal('BAD_JSON', 'The body contains a NUL character or an unpaired surrogate. Remove it')
}
