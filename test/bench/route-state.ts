import {createHash} from 'node:crypto'
import {Readable} from 'node:stream'
import {parse} from 'csv-parse'
import {digestLine, type RecordDigest} from '../simulators/crm/state.ts'
import type {FlowOf, PreparedImport} from './bench-import.ts'
import type {Deployment} from './deployment.ts'
import {fetchFresh} from './fetch-fresh.ts'

type MappedField = {field: string; source: string}
/** The column of results.csv with the record of a row. */
const recordColumn = 'Accounts record'
const numbers = new Set(['Annual_Revenue', 'Employees'])

/** Throws unless the module holds one record with the values of each row of the files, and no other record. */
export const assertRecords = async ({crmUrl}: Deployment, {module, fields}: FlowOf, files: Buffer[]): Promise<void> => {
  const mapped = fields as MappedField[]
  const names = mapped.map(({field}) => field)
  const answer = await fetchFresh(`${crmUrl}/__sim/digest?org=example&module=${module}&fields=${names.join()}`)
  const found = (await answer.json()) as RecordDigest
  let [count, sum] = [0, 0n]
  for (const file of files)
    for await (const row of readCsv(Readable.from([file]))) {
      count++
      sum += digestLine(mapped.map(({field, source}) => (numbers.has(field) ? String(Number(row[source])) : row[source]!)))
    }
  const expected = {count, sum: BigInt.asUintN(64, sum).toString(16)}
  if (found.count !== expected.count || found.sum !== expected.sum)
    throw new Error(`The records of ${module} are ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
}

/** How the rows of a run ended, by results.csv. `ends`: number of rows by result. `digest`: digest of the row numbers and their records. */
export type RunEnds = {ends: Record<string, number>; digest: string}

/** Reads how each row of a run ended. Throws if a row has no record. */
export const readEnds = async ({place, path}: PreparedImport, run: string): Promise<RunEnds> => {
  const ends: Record<string, number> = {}
  const digest = createHash('sha1')
  let no = 0
  for await (const row of readRows(place, `${path}/results.csv?run=${run}&from=1`)) {
    no++
    const record = row[recordColumn]
    if (!record) throw new Error(`Row ${no} has no record: ${JSON.stringify(row)}`)
    ends[row.Result!] = (ends[row.Result!] ?? 0) + 1
    digest.update(`${no} ${record}\n`)
  }
  return {ends, digest: digest.digest('hex')}
}

/** Reads a file of results in its parts, because a million rows are more than one answer may hold. */
async function* readRows({apiUrl, token}: PreparedImport['place'], first: string) {
  for (let at: string | undefined = first; at; ) {
    const answer = await fetchFresh(new URL(at, apiUrl), {headers: {authorization: `Bearer ${token}`}})
    if (!answer.ok) throw new Error(`The results were not given: ${answer.status} ${await answer.text()}`)
    yield* readCsv(Readable.fromWeb(answer.body as import('node:stream/web').ReadableStream))
    at = /<([^>]+)>; rel="?next/.exec(answer.headers.get('link') ?? '')?.[1]
  }
}

const readCsv = (stream: Readable): AsyncIterable<Record<string, string>> => stream.pipe(parse({columns: true, bom: true}))
