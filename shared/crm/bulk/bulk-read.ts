import type {ReadOptions} from '../crm.ts'
import {asObject, CrmError, type CrmProblem, codeOf} from '../error.ts'
import {unanswered, unanswered204} from '../outcome.ts'
import {answerOf, listOf, type SendCrmRequest} from '../request.ts'

/**
 * Jobs of the CRM that export the records of a module. If the answer of `start` is lost, start another job. The first job may run, but is never read.
 */
export type BulkRead = {
  creditsPerJob: number
  recordsPerJob: number
  /** Returns the id of the started job. Throws CrmError if the CRM refuses or does not answer. */
  start(wanted: BulkReadPage, options?: ReadOptions): Promise<string>
  /** Reads the state of a job. The caller polls every 5 to 60 seconds. */
  check(job: string, options?: ReadOptions): Promise<BulkReadStatus>
  /**
   * Streams the job's file, a ZIP with one CSV, to `receive`. Read the stored file with `readExportedRecords` of `exported-records.ts`. The CRM keeps
   * the file for a day, and allows ten downloads a minute.
   */
  download(job: string, receive: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>, options?: ReadOptions): Promise<void>
}

/** The page to export: by module and page number (default 1), or by the `nextPageToken` of the previous page. */
export type BulkReadPage = {module: string; fields: string[]; page?: number} | {pageToken: string}
/** `nextPageToken`: null if no records follow or the CRM returns no token. `crm`: why the job failed. */
export type BulkReadStatus =
  | {state: 'running'}
  | {state: 'done'; count: number; nextPageToken: string | null}
  | {state: 'failed'; crm: CrmProblem}

const path = '/crm/bulk/v8/read'
const downloadSeconds = 600
/** The API credits of one job, and the maximum number of its records. Source: three public programs that use bulk reads. */
export const [creditsPerJob, recordsPerJob] = [50, 200_000]

/** Source: the vendor's OpenAPI of bulk reads (2026), operations createBulkReadJob, getBulkReadJobDetails and downloadBulkReadResult. */
export const openBulkRead = (sendCrmRequest: SendCrmRequest): BulkRead => ({
  creditsPerJob,
  recordsPerJob,
  async start(wanted, {signal} = {}) {
    const json = JSON.stringify({query: queryOf(wanted), ...('module' in wanted && {file_type: 'csv'})})
    const outcome = await sendCrmRequest({operation: 'bulk_read', method: 'POST', path, json, credits: creditsPerJob, signal})
    const [entry] = listOf(outcome, 'data')
    const id = asObject(asObject(entry)?.details)?.id
    if (typeof id !== 'string') throw new CrmError(unanswered204(answerOf(outcome)))
    return id
  },
  async check(job, {signal} = {}) {
    const outcome = await sendCrmRequest({operation: 'bulk_read', method: 'GET', path: pathOf(job), signal})
    const details = asObject(listOf(outcome, 'data')[0])
    if (typeof details?.state !== 'string') throw new CrmError(unanswered204(answerOf(outcome)))
    return readStatus(details)
  },
  async download(job, receive, {signal} = {}) {
    const request = {operation: 'bulk_read' as const, method: 'GET' as const, path: `${pathOf(job)}/result`, signal}
    const answer = answerOf(await sendCrmRequest({...request, receive, timeoutSeconds: downloadSeconds}))
    if (!answer.isReceived) throw new CrmError(unanswered204(answer))
  },
})

/** Returns the documented path of a job. The download URL in the job's status is not used. */
const pathOf = (job: string) => `${path}/${encodeURIComponent(job)}`

const queryOf = (wanted: BulkReadPage) =>
  'pageToken' in wanted
    ? {page_token: wanted.pageToken}
    : {module: {api_name: wanted.module}, fields: wanted.fields, page: wanted.page ?? 1}

const readStatus = (details: Record<string, unknown>): BulkReadStatus => {
  const result = asObject(details.result)
  if (details.state === 'FAILURE') {
    const response = asObject(result?.error_message)
    return {state: 'failed', crm: {...unanswered({status: 200, response, retryable: false}), unanswered: false, code: codeOf(response)}}
  }
  if (details.state !== 'COMPLETED' || typeof result?.count !== 'number') return {state: 'running'}
  const token = result.more_records === true ? result.next_page_token : null
  return {state: 'done', count: result.count, nextPageToken: typeof token === 'string' ? token : null}
}
