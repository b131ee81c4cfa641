import {Readable} from 'node:stream'
import type {ReadableStream} from 'node:stream/web'

export type HttpAnswer = {status: number; headers: Headers; body: any; text: string}
export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<HttpAnswer>

/** Sends a plain object as JSON, and text, bytes, forms and streams unchanged. Does not follow redirects. */
export const openCalls =
  (base: string) =>
  (bearer: string | null): Call =>
  async (method, path, body, headers = {}) => {
    const isJson = isPlain(body)
    const response = await fetch(base + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(bearer !== null && {authorization: `Bearer ${bearer}`}),
        ...(isJson && {'content-type': 'application/json'}),
        ...headers,
      },
      ...(body !== undefined && {body: isJson ? JSON.stringify(body) : toBody(body), duplex: 'half'}),
    } as RequestInit)
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    return {status: response.status, headers: response.headers, text, body: /[/+]json\b/.test(type) && text ? JSON.parse(text) : text}
  }

const isPlain = (body: unknown) =>
  body !== undefined && typeof body !== 'string' && ![Uint8Array, Readable, Blob, FormData].some(kind => body instanceof kind)

const toBody = (body: unknown) => (body instanceof Readable ? (Readable.toWeb(body) as ReadableStream) : body)
