import {ApiError, Unreachable} from '../../http.ts'
import {endOnRefusal, sessionHeaders} from '../state/session.ts'
import {t} from '../text/files.ts'
import type {Send} from './send.ts'

/** A request is aborted after this time without progress. The server takes a minute or two for a large workbook. */
const silenceMs = 5 * 60_000

/** Sends a request by XMLHttpRequest, because `fetch` does not report upload progress. A 401 response ends the session. */
export const sendByXhr: Send = endOnRefusal<Parameters<Send>, object>(
  (method, path, body, {signal, onSent}) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const request = new XMLHttpRequest()
      const stop = () => request.abort()
      let timer = setTimeout(stop, silenceMs)
      const isAlive = () => {
        clearTimeout(timer)
        timer = setTimeout(stop, silenceMs)
      }
      request.open(method, path)
      for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value)
      request.setRequestHeader('content-type', 'application/octet-stream')
      request.upload.onprogress = ({loaded}) => {
        isAlive()
        onSent(Math.min(loaded, body.size))
      }
      request.onload = () => answer(request, resolve, reject)
      request.onerror = () => reject(new Unreachable(t.theConnectionWasLost))
      request.onabort = () => reject(signal.aborted ? signal.reason : new Unreachable(t.theServerDidNotRespondInTime))
      request.onloadend = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
      }
      signal.addEventListener('abort', stop)
      request.send(body)
    }),
)

const answer = (request: XMLHttpRequest, resolve: (body: object) => void, reject: (error: Error) => void) => {
  const body = read(request.responseText)
  if (request.status >= 200 && request.status < 300) return resolve(body)
  const retryAfter = request.getResponseHeader('retry-after')
  const headers = new Headers({
    'x-request-id': request.getResponseHeader('x-request-id') ?? '',
    ...(retryAfter !== null && {'retry-after': retryAfter}),
  })
  reject(new ApiError(request.status, body, headers))
}

const read = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
