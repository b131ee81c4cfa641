import type {IncomingMessage, ServerResponse} from 'node:http'
import {text} from 'node:stream/consumers'
import {writeZip} from '../simulators/crm/zip-file.ts'
import {cellsAt, plain} from './rows.ts'

export const exportsPath = '/crm/bulk/v8/read'
export const exportPrefix = 'S-'
const recordsPerJob = 200_000
const firstId = 4_400_000_000_000n

type Job = {fields: string[]; page: number}

/**
 * Returns a handler of bulk reads for a module with `records` records. Their values equal the rows of `fileOf`. Each page is generated when it
 * is downloaded.
 */
export const serveGeneratedExports = (records: number) => {
  const jobs: Job[] = []
  const sourceOf = new Map((plain.fields as {field: string; source: string}[]).map(({field, source}) => [field, source]))
  const pageOf = ({fields, page}: Job): Buffer => {
    const from = (page - 1) * recordsPerJob
    const pieces = [Buffer.from(`id,${fields.join()}\n`)]
    for (let at = from; at < Math.min(records, from + recordsPerJob); at += 10_000) {
      const lines = Array.from({length: Math.min(10_000, records - at)}, (_, n) => {
        const cells = cellsAt(exportPrefix, at + n)
        return `${firstId + BigInt(at + n)},${fields.map(field => cells[sourceOf.get(field)!]).join()}\n`
      })
      pieces.push(Buffer.from(lines.join('')))
    }
    return writeZip([{name: 'export.csv', bytes: Buffer.concat(pieces)}])
  }
  const statusOf = ({page}: Job, id: string) => {
    const more = page * recordsPerJob < records
    const count = Math.max(0, Math.min(recordsPerJob, records - (page - 1) * recordsPerJob))
    const result = {page, per_page: recordsPerJob, count, more_records: more, next_page_token: more ? `${page + 1}` : null}
    return {data: [{id, operation: 'read', state: 'COMPLETED', result}]}
  }
  return async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const [id, isResult] = incoming.url!.slice(exportsPath.length + 1).split('/')
    if (incoming.method === 'POST') {
      const {query} = JSON.parse(await text(incoming))
      jobs.push(query.page_token ? {...jobs[0]!, page: Number(query.page_token)} : {fields: query.fields, page: query.page})
      const details = {id: `${jobs.length}`, operation: 'read', state: 'ADDED'}
      return answer(outgoing, 201, {
        data: [{status: 'success', code: 'ADDED_SUCCESSFULLY', message: 'Added successfully.', details}],
        info: {},
      })
    }
    const job = jobs[Number(id) - 1]!
    if (!isResult) return answer(outgoing, 200, statusOf(job, id!))
    outgoing.writeHead(200, {'content-type': 'application/zip'})
    outgoing.end(pageOf(job))
  }
}

const answer = (outgoing: ServerResponse, status: number, body: object) => {
  outgoing.writeHead(status, {'content-type': 'application/json;charset=UTF-8'})
  outgoing.end(JSON.stringify(body))
}
