import {randomUUID} from 'node:crypto'
import type {ReadOptions, WriteOptions} from '../crm.ts'
import {asObject, CrmError, type CrmProblem} from '../error.ts'
import type {Hosts} from '../hosts.ts'
import {listAt, unanswered, unanswered204} from '../outcome.ts'
import {sendOptions, timeOfAnswer} from '../record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from '../request.ts'
import {type BulkColumn, mapBulkColumn} from './bulk-columns.ts'

/**
 * Jobs of the CRM that write the rows of a file. The CRM lists no jobs: if the answer of `start` is lost, only the job's callback gives the id of the
 * job. Repeating a job is safe for updates, and for inserts with `findBy`, but costs the credits again.
 */
export type BulkWrite = {
  creditsPerJob: number
  rowsPerJob: number
  /** Uploads a file that `writeBulkFile` of `bulk-file.ts` made, and returns its id. After a lost answer, the upload can be repeated. */
  upload(zip: Buffer, options?: ReadOptions): Promise<string>
  /**
   * Returns the id of the started job. Throws CrmError; if the error is `unanswered`, the job may have started. Throws Refusal if nothing was sent.
   */
  start(job: BulkWriteRequest, options?: Pick<WriteOptions, 'signal' | 'mayLeave'>): Promise<string>
  /** Reads the state of a job. The caller polls every 5 to 60 seconds. */
  check(job: string, options?: ReadOptions): Promise<BulkWriteStatus>
  /**
   * Streams the result to `receive`. Store the result, and read it with `readBulkResults` of `bulk-results.ts`. Throws CrmError if the URL's host is
   * not in `Hosts.results`.
   */
  download(resultUrl: string, receive: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>, options?: ReadOptions): Promise<void>
}

/**
 * `columns`: the columns of the file, the key first. `findBy`: `id` for updates, otherwise a unique field. An insert skips rows whose record exists.
 */
export type BulkWriteRequest = {
  operation: 'insert' | 'update' | 'upsert'
  module: string
  fileId: string
  fileName: string
  findBy: string
  columns: BulkColumn[]
  layout?: string | null
  /**
   * If true, the CRM ignores an empty cell; if false, an empty cell clears its field. Set this only for inserts, because the effect on updates is not
   * verified.
   */
  ignoresEmpty?: boolean
  callbackUrl?: string | null
}

/**
 * `done` does not mean that every row was written. `fileName`: the name of the written file, which identifies the job. `readAt`: the CRM's time of
 * the answer, rounded up. Each is null if the CRM does not return it, as is `resultUrl`.
 */
export type BulkWriteStatus = {fileName: string | null; readAt: string | null} & (
  | {state: 'running'}
  | {state: 'done'; resultUrl: string | null}
  | {state: 'failed'; crm: CrmProblem}
)

type BulkHosts = Pick<Hosts, 'content' | 'results'> & {apiDomain: string}

const path = '/crm/bulk/v8/write'
/** The API credits of one job. Source: the vendor's page of API limits. */
export const bulkCreditsPerJob = 500
/** The maximum number of rows of one job. A newer page of the vendor says 10,000, an older page 25,000. */
export const bulkRowsPerJob = 10_000
const transferSeconds = 600

/** Returns null if the data centre has no known host for uploads. Source: the vendor's OpenAPI of uploads and of bulk writes. */
export const openBulkWrite = (sendCrmRequest: SendCrmRequest, hosts: BulkHosts): BulkWrite | null => {
  const {content} = hosts
  if (content === undefined) return null
  let zgid: string | null = null
  return {
    creditsPerJob: bulkCreditsPerJob,
    rowsPerJob: bulkRowsPerJob,
    async upload(zip, {signal} = {}) {
      zgid ??= await readZgid(sendCrmRequest, signal)
      const headers = {feature: 'bulk-write', 'X-CRM-ORG': zgid}
      const request = {operation: 'bulk_write' as const, method: 'POST' as const, path: '/crm/v8/upload', headers, signal}
      const outcome = await sendCrmRequest({...request, origin: content, body: multipart(zip), timeoutSeconds: transferSeconds})
      return idIn(answerOf(outcome), 'file_id')
    },
    async start(job, options = {}) {
      const json = JSON.stringify(bodyOf(job))
      const outcome = await sendCrmRequest({
        operation: 'bulk_write',
        method: 'POST',
        path,
        json,
        credits: bulkCreditsPerJob,
        ...sendOptions(options),
      })
      return idIn(answerOf(outcome), 'id')
    },
    async check(job, {signal} = {}) {
      const outcome = await sendCrmRequest({operation: 'bulk_write', method: 'GET', path: `${path}/${encodeURIComponent(job)}`, signal})
      const answer = answerOf(outcome)
      const details = asObject(listAt(answer.json, 'data')?.[0]) ?? asObject(answer.json)
      if (typeof details?.status !== 'string') throw new CrmError(unanswered204(answer))
      return readStatus(details, details.status, timeOfAnswer(answer))
    },
    async download(resultUrl, receive, {signal} = {}) {
      const request = {operation: 'bulk_write' as const, method: 'GET' as const, ...placeOf(resultUrl, hosts), signal}
      const answer = answerOf(await sendCrmRequest({...request, receive, timeoutSeconds: transferSeconds}))
      if (!answer.isReceived) throw new CrmError(unanswered204(answer))
    },
  }
}

/** Uploads require the `zgid` of the CRM org, which differs from the id of the org. */
const readZgid = async (sendCrmRequest: SendCrmRequest, signal: AbortSignal | undefined): Promise<string> => {
  const outcome = await sendCrmRequest({operation: 'licence', method: 'GET', path: '/crm/v8/org', signal})
  const zgid = asObject(listOf(outcome, 'org')[0])?.zgid
  if (typeof zgid !== 'string') throw new CrmError(unanswered204(answerOf(outcome)))
  return zgid
}

const multipart = (zip: Buffer) => {
  const boundary = `lading-${randomUUID()}`
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="rows.zip"\r\ncontent-type: application/zip\r\n\r\n`
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    text: Buffer.concat([Buffer.from(head), zip, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  }
}

/** `ignore_empty` is sent at two levels, because the vendor's pages and OpenAPI put it at different levels. */
const bodyOf = ({operation, module, fileId, fileName, findBy, columns, layout, callbackUrl, ignoresEmpty = false}: BulkWriteRequest) => ({
  operation,
  character_encoding: 'UTF-8',
  ...(ignoresEmpty && {ignore_empty: true}),
  ...(callbackUrl != null && {callback: {url: callbackUrl, method: 'post'}}),
  resource: [
    {
      type: 'data',
      module: {api_name: module},
      file_id: fileId,
      file_names: [fileName],
      find_by: findBy,
      ...(ignoresEmpty && {ignore_empty: true}),
      field_mappings: [...columns.map(mapBulkColumn), ...(layout == null ? [] : [{api_name: 'Layout', default_value: {value: layout}}])],
    },
  ],
})

const idIn = (answer: ReturnType<typeof answerOf>, key: 'file_id' | 'id'): string => {
  const id = asObject(asObject(answer.json)?.details)?.[key]
  if (typeof id !== 'string') throw new CrmError(unanswered204(answer))
  return id
}

const readStatus = (details: Record<string, unknown>, status: string, readAt: string | null): BulkWriteStatus => {
  const url = asObject(details.result)?.download_url
  const resource = asObject(listAt(details, 'resource')?.[0])
  const name = asObject(resource?.file)?.name
  const fileName = typeof name === 'string' ? name : null
  if (status === 'FAILED' || (status === 'SKIPPED' && typeof url !== 'string')) {
    const code = resource?.code
    const problem = unanswered({status: 200, response: details, retryable: false})
    return {state: 'failed', fileName, readAt, crm: {...problem, unanswered: false, code: typeof code === 'string' ? code : status}}
  }
  if (status !== 'COMPLETED' && status !== 'SKIPPED') return {state: 'running', fileName, readAt}
  return {state: 'done', fileName, readAt, resultUrl: typeof url === 'string' ? url : null}
}

/**
 * Splits the URL of a result into origin and path. A URL without a host is a path of the API host. Throws CrmError if the host of another URL is not
 * listed.
 */
const placeOf = (resultUrl: string, {apiDomain, results = []}: BulkHosts): {origin: string; path: string} => {
  if (/^\/(?![/\\])/.test(resultUrl)) return {origin: apiDomain, path: resultUrl}
  const host = results.find(listed => resultUrl.startsWith(`${listed}/`))
  if (host !== undefined && URL.canParse(resultUrl)) return {origin: host, path: resultUrl.slice(host.length)}
  throw new CrmError(
    {...unanswered({status: 200, retryable: false}), code: 'RESULT_HOST_UNKNOWN'},
    {message: 'The CRM names a host for the result of the bulk job that is not listed. Add it to CRM_HOSTS'},
  )
}
