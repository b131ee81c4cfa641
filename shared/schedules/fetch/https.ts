import {findCharset} from '../../files/text/encoding.ts'
import type {Outbound, OutboundAnswer} from '../outbound/outbound.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds, FetchResult} from './fetch.ts'
import {isSheetExport, requestSheet} from './google-sheet.ts'
import {nameOf} from './name.ts'
import type {FileSource} from './source.ts'

type HttpsSource = Extract<FileSource, {kind: 'https'}>

export const fetchHttps = async (outbound: Outbound, source: HttpsSource, bounds: Bounds): Promise<FetchResult> => {
  const url = new URL(source.query === undefined ? source.url : `${source.url}?${source.query.replace(/^\?/, '')}`)
  const answer = await (isSheetExport(url)
    ? requestSheet(outbound, url, bounds)
    : outbound.request(url.href, {headers: headersOf(source), ...bounds}))
  try {
    assertFile(answer, url)
  } catch (error) {
    answer.discard()
    throw error
  }
  return {
    name: nameOf(decoded(url.pathname), answer.headers['content-disposition']),
    contentType: answer.headers['content-type'],
    charset: findCharset(answer.headers['content-type']),
    stream: answer.body,
  }
}

const headersOf = ({headers, basic, bearer}: HttpsSource): Record<string, string> => ({
  'user-agent': 'Lading',
  ...headers,
  ...(bearer !== undefined && {authorization: `Bearer ${bearer}`}),
  ...(basic && {authorization: `Basic ${Buffer.from(`${basic.user}:${basic.password}`).toString('base64')}`}),
})

const assertFile = ({status, headers}: OutboundAnswer, {hostname}: URL) => {
  if (status === 401 || status === 403 || status === 407)
    throw new SourceFailure('SIGN_IN_REFUSED', `${hostname} refused the credentials of this source (${status})`)
  if (status === 404 || status === 410) throw new SourceFailure('NOT_FOUND', `${hostname} has no file at this address (${status})`)
  if (status >= 500 || status === 408 || status === 429)
    throw new SourceFailure('UNREACHABLE', `${hostname} cannot send the file at the moment (${status})`)
  if (status !== 200) throw new SourceFailure('BAD_ANSWER', `${hostname} answered ${status} instead of the file`)
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? ''))
    throw new SourceFailure('BAD_ANSWER', `${hostname} sends the file with a content-encoding, although the request excludes that`)
  if (headers['content-length'] === undefined && !/\bchunked$/i.test(headers['transfer-encoding'] ?? ''))
    throw new SourceFailure(
      'BAD_ANSWER',
      `${hostname} sends neither content-length nor a chunked body, so an incomplete file could not be detected`,
    )
}

const decoded = (path: string) => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
