import {type Answer, CallRefused, ok, refuse} from './answers.ts'
import type {Call} from './call.ts'
import {metaId} from './org.ts'
import {readZip} from './zip-file.ts'
import {formatInstant} from './zones.ts'

const longestFile = 25 * 1024 ** 2

/**
 * Stores a ZIP file for bulk writes. Source: the vendor's OpenAPI of uploads, operation uploadFile; its SDK, class APIException of bulk
 * writes.
 */
export const uploadFile = (call: Call): Answer => {
  const {org, headers, user} = call
  if (headers.feature === undefined || headers['x-crm-org'] !== org.spec.zgid) return wrongHeaders()
  if (headers.feature !== 'bulk-write') throw refused('NOT_SUPPORTED_FEATURE', 'feature is not supported')
  const file = partsOf(call.bytes, headers['content-type'] ?? '').find(({name}) => name === 'file')
  if (!file) throw refused('MANDATORY_NOT_FOUND', 'required field not found')
  if (file.bytes.length > longestFile) throw new CallRefused(refuse(413, 'FILE_TOO_LARGE', {}, 'File size too large to process'))
  const entries = readZip(file.bytes)
  if (!entries) throw refused('INVALID_FILE_FORMAT', 'invalid file format. only zip format is supported')
  const file_id = metaId(org)
  org.bulk.files.set(file_id, new Map(entries.map(({name, bytes}) => [name, bytes])))
  call.committed = true
  const details = {file_id, created_time: formatInstant(org.clock.now(), user.timeZone)}
  return ok({status: 'success', code: 'FILE_UPLOAD_SUCCESS', message: 'file uploaded.', details})
}

/** Splits a multipart body into its parts; returns no parts if the type has no boundary. */
export const partsOf = (body: Buffer, type: string): {name: string; bytes: Buffer}[] => {
  const [, boundary] = /boundary="?([^";]+)"?/.exec(type) ?? []
  if (boundary === undefined) return []
  const mark = Buffer.from(`--${boundary}`)
  const parts: {name: string; bytes: Buffer}[] = []
  for (let at = body.indexOf(mark); at !== -1; ) {
    const end = body.indexOf(mark, at + mark.length)
    if (end === -1) break
    const part = body.subarray(at + mark.length + 2, end - 2)
    const gap = part.indexOf('\r\n\r\n')
    const [, name = ''] = /name="([^"]*)"/.exec(part.toString('utf8', 0, gap)) ?? []
    parts.push({name, bytes: part.subarray(gap + 4)})
    at = end
  }
  return parts
}

const refused = (code: string, message: string) => new CallRefused(refuse(400, code, {}, message))

const wrongHeaders = (): Answer => ({
  status: 400,
  body: {
    ERROR_MESSAGE: 'Bad Request',
    ERROR_CODE: 400,
    info: 'Forbidden',
    'x-info': 'Link not valid',
    'x-error': 'check if headers [feature, X-CRM-ORG] are present and valid',
  },
})
