import type {IncomingMessage} from 'node:http'
import {Readable} from 'node:stream'
import {Dicer} from '@fastify/busboy'
import {parse} from 'content-disposition'
import {Refusal} from '../shared/errors.ts'
import {nameOf} from '../shared/schedules/fetch/name.ts'

/** A file sent in a request. In a form, `name` and `contentType` come from the part. */
export type UploadedFile = {name: string | undefined; contentType: string | undefined; body: Readable}

const mostHeaders = 20

/**
 * Opens the body as a stream, or the part `file` if the body is a multipart form. The stream ends only after the whole form has arrived. The
 * stream fails with a refusal if the form is incomplete or has a second part.
 */
export const openUploadedFile = async (request: IncomingMessage): Promise<UploadedFile> => {
  const contentType = request.headers['content-type']
  if (!isMultipart(contentType)) return {name: undefined, contentType, body: request}
  const boundary = boundaryOf(contentType)
  const opened = Promise.withResolvers<UploadedFile>()
  const whole = Promise.withResolvers<void>()
  // Avoids an unhandled rejection. The refusal is thrown where the file is opened or read.
  whole.promise.catch(() => {})
  const dicer = new Dicer({boundary, maxHeaderPairs: mostHeaders})
  let part: Readable | undefined
  const fail = (refusal: Refusal) => {
    request.unpipe(dicer).resume()
    opened.reject(refusal)
    whole.reject(refusal)
    part?.destroy(refusal)
  }
  dicer.on('part', found => {
    // The parser also reports an incomplete form, so the error of the part is ignored.
    found.on('error', () => {})
    if (part) return fail(notOneFile())
    part = found
    found.on('header', header => {
      const refusal = refusalOf(header as Header)
      if (refusal) fail(refusal)
      else opened.resolve(describePart(header as Header, contentOf(found, whole.promise)))
    })
  })
  dicer.on('error', () => fail(new Refusal('UPLOAD_BROKEN', 'The form ended before its last part was complete. Send the file again')))
  dicer.on('finish', () => {
    whole.resolve()
    // Has no effect if a part was opened.
    opened.reject(notOneFile())
  })
  request.once(
    'close',
    () => request.complete || fail(new Refusal('UPLOAD_BROKEN', 'The request body ended before it was complete. Send the file again')),
  )
  request.pipe(dicer)
  return opened.promise
}

/** Refuses a multipart form on a route that accepts only the bytes of the file. */
export const assertNoForm = ({headers}: IncomingMessage): void => {
  if (isMultipart(headers['content-type'])) throw new Refusal('CONTENT_TYPE', 'A form cannot be sent here. Send the bytes themselves')
}

const isMultipart = (contentType: string | undefined): contentType is string => /^\s*multipart\//i.test(contentType ?? '')

const notOneFile = () =>
  new Refusal('CONTENT_TYPE', 'A form must have exactly one part, named file. Send such a form, or the file itself as the body')

const boundaryOf = (contentType: string): string => {
  const [, quoted, plain] = /^\s*multipart\/form-data\s*;.*?\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw notOneFile()
  return boundary
}

/** Headers of a part, as the parser returns them: lower-case names, and values as latin1 bytes. */
type Header = Record<string, string[] | undefined>

const dispositionOf = (header: Header) => {
  const raw = Buffer.from(header['content-disposition']?.[0] ?? '', 'latin1').toString('utf8')
  try {
    return parse(raw, {multipart: true}).parameters
  } catch {
    return {}
  }
}

const refusalOf = (header: Header): Refusal | null => {
  if (dispositionOf(header).name !== 'file') return notOneFile()
  const encoding = header['content-transfer-encoding']?.[0] ?? 'binary'
  if (/^\s*(7bit|8bit|binary)\s*$/i.test(encoding)) return null
  return new Refusal('CONTENT_TYPE', 'The part file has a content-transfer-encoding. Send its bytes as they are')
}

const describePart = (header: Header, body: Readable): UploadedFile => {
  const {filename} = dispositionOf(header)
  return {name: filename ? nameOf(filename) : undefined, contentType: header['content-type']?.[0], body}
}

const contentOf = (part: Readable, whole: Promise<void>): Readable => {
  const content = async function* () {
    yield* part
    await whole
  }
  // A refused file is not read to its end, so its errors are ignored.
  return Readable.from(content(), {objectMode: false}).on('error', () => {})
}
