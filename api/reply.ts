import {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import type {Context} from 'koa'

/** A response with its own status, headers or body: a file, a redirect, a page, or JSON with an ETag or a Location. */
export class Reply {
  readonly status: number | undefined
  readonly headers: Record<string, string>
  readonly body: Readable | Buffer | string | null

  constructor({status, headers = {}, body = null, json}: ReplyParts) {
    this.status = status
    this.headers = json === undefined ? headers : {...JSON_HEADERS, ...headers}
    this.body = json === undefined ? body : JSON.stringify(json)
  }
}

/** Replies with JSON that is already serialised. */
export const replyJson = (body: string | Uint8Array<ArrayBuffer>): Reply =>
  reply({headers: JSON_HEADERS, body: typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)})

type ReplyParts = {status?: number; headers?: Record<string, string>; body?: Readable | Buffer | string | null; json?: unknown}

const JSON_HEADERS = {'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store'}

export const reply = (parts: ReplyParts) => new Reply(parts)

/** Sends a Reply, or sends a plain object as JSON. `routeStatus` is the status if the answer has none. */
export const send = async (ctx: Context, answer: object, routeStatus: number): Promise<void> => {
  const {status = routeStatus, headers, body} = answer instanceof Reply ? answer : reply({json: answer})
  if (body instanceof Readable) await untilReadable(body)
  ctx.status = status
  ctx.set(headers)
  if (body instanceof Readable) return sendStream(ctx, body)
  ctx.body = body
  // Koa sets status 204 for an empty body, and a content type for text. The next lines undo both.
  ctx.status = status
  if (body === null || headers['content-type'] === undefined) ctx.remove('content-type')
}

/** Waits for the first byte of a stream. If the stream fails earlier, the client still gets the error envelope. */
const untilReadable = async (body: Readable) => {
  if (body.errored) throw body.errored
  if (body.readableLength > 0 || body.readableEnded || body.destroyed) return
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  body.once('readable', resolve).once('end', resolve).once('close', resolve).once('error', reject)
  await promise
}

/** Sends a stream. If the stream fails midway, the connection is closed, so that half a file does not look complete. Koa reports the error. */
const sendStream = async (ctx: Context, body: Readable) => {
  ctx.respond = false
  if (ctx.method === 'HEAD') {
    body.destroy()
    ctx.res.end()
    return
  }
  await pipeline(body, ctx.res).catch(() => {})
}
