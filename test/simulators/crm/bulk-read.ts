import {randomBytes} from 'node:crypto'
import {type Answer, CallRefused, ok, refuse} from './answers.ts'
import {type BulkReadQuery, columnsOf, createFilter, readQuery} from './bulk-read-query.ts'
import type {BulkReadJob} from './bulk-state.ts'
import {type Call, jsonOf} from './call.ts'
import type {Path} from './coql-columns.ts'
import {writeCsv} from './csv-text.ts'
import {actionOf} from './faults.ts'
import {metaId, named, type Org} from './org.ts'
import {canSee} from './profiles.ts'
import {live, type Rec} from './store.ts'
import {writeZip} from './zip-file.ts'
import {formatInstant} from './zones.ts'

const dayMs = 24 * 3600_000
const minuteMs = 60_000
/** The most downloads of an org in a minute. Source: the vendor's page of bulk read results. */
const downloadsPerMinute = 10

/** Creates a job. It is executed later, on the simulator's clock. */
export const createReadJob = (call: Call): Answer => {
  if (!call.headers['content-type']?.startsWith('application/json')) throw new CallRefused(refuse(415, 'MEDIA_TYPE_NOT_SUPPORTED'))
  const query = readQuery(call, jsonOf(call))
  const {org, user} = call
  const now = org.clock.now()
  const {bulkSeconds, bulkRowMs, bulkReadPage} = org.switches
  const rows = Math.min(bulkReadPage, org.modules.get(query.module)!.store.byId.size)
  const ending = actionOf(call.fault, 'bulkFailure') ? 'failure' : actionOf(call.fault, 'bulkStuck') ? 'stuck' : 'file'
  const job: BulkReadJob = {
    id: metaId(org),
    user,
    createdAt: now,
    dueAt: now + bulkSeconds * 1000 + rows * bulkRowMs,
    query,
    ending,
    file: null,
  }
  org.bulk.reads.set(job.id, job)
  call.committed = true
  const details = {id: job.id, operation: 'read', state: 'ADDED', ...creationOf(call, job)}
  return ok({data: [{status: 'success', code: 'ADDED_SUCCESSFULLY', message: 'Added successfully.', details}], info: {}}, 201)
}

export const readReadJob = (call: Call): Answer => ok({data: [describe(call, findJob(call))]})

/** Answers with the file of a completed job. The file is kept for one day. */
export const downloadReadResult = (call: Call): Answer => {
  const {file, id} = findJob(call)
  const now = call.org.clock.now()
  if (!file || now - file.at > dayMs) throw noSuchJob(call)
  const recent = call.org.bulk.downloads.filter(at => at > now - minuteMs)
  call.org.bulk.downloads = [...recent, now].slice(-downloadsPerMinute)
  if (recent.length >= downloadsPerMinute) return refuse(429, 'TOO_MANY_REQUESTS', {}, 'Too many requests fired')
  const headers = {'content-disposition': `attachment; filename="${id}.zip"`}
  return {status: 200, bytes: file.zip, type: 'application/zip', headers}
}

/** Executes the jobs that are due, unless `bulkHold` is on. A file holds the records as they are at that moment. */
export const runDueReads = (org: Org) => {
  if (org.switches.bulkHold) return
  const now = org.clock.now()
  for (const job of org.bulk.reads.values()) if (!job.file && job.ending === 'file' && job.dueAt <= now) exportRecords(org, job)
}

const exportRecords = (org: Org, job: BulkReadJob) => {
  const {query, user} = job
  const module = org.modules.get(query.module)!
  const isWanted = createFilter(org, module, query.criteria)
  const columns = columnsOf(org, module, query.fields)
  const {bulkReadPage: size, bulkReadConverted, bulkReadBooleans: booleans} = org.switches
  const found: Rec[] = []
  let passed = query.after === null ? (1 - query.page) * size : 0
  for (const rec of live(module.store)) {
    if (query.after !== null && rec.id <= query.after) continue
    if ((rec.converted && !bulkReadConverted) || !canSee({org, user}, module.name, rec) || !isWanted(rec)) continue
    if (passed++ < 0) continue
    found.push(rec)
    if (found.length > size) break
  }
  const shown = found.slice(0, size)
  const last = found.length > size ? shown.at(-1)!.id : null
  const rows = shown.map(rec => columns.map(column => cellOf(column, rec, {zone: user.timeZone, booleans})))
  const csv = writeCsv([columns.map(({name}) => name), ...rows])
  const zip = writeZip([{name: `${job.id}.csv`, bytes: Buffer.from(csv)}])
  job.file = {at: org.clock.now(), count: shown.length, nextToken: last === null ? null : keepPage(org, job, last), zip}
}

type CellFormat = {zone: string; booleans: readonly [yes: string, no: string]}

/** Returns the text of a cell: ids for links and owners, joined lists, ISO 8601 for times, and '' for empty values. */
const cellOf = (column: Path, rec: Rec, {zone, booleans: [yes, no]}: CellFormat): string => {
  const value = column.raw(rec)
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.join(';')
  if (typeof value === 'boolean') return value ? yes : no
  return column.family === 'instant' ? formatInstant(Number(value), zone) : String(value)
}

const keepPage = (org: Org, {query, user}: BulkReadJob, after: string): string => {
  const token = randomBytes(24).toString('hex')
  const next: BulkReadQuery = {...query, page: query.page + 1, after}
  org.bulk.pages.set(token, {user: user.id, until: org.clock.now() + dayMs, query: next})
  return token
}

const findJob = (call: Call): BulkReadJob => {
  const job = call.org.bulk.reads.get(call.segments[2]!)
  if (!job) throw noSuchJob(call)
  return job
}

const noSuchJob = (call: Call) =>
  new CallRefused(refuse(404, 'RESOURCE_NOT_FOUND', {resource: call.segments[2]}, "The requested resource doesn't exist."))

const creationOf = ({user, org}: Call, job: BulkReadJob) => ({
  created_by: named(job.user),
  created_time: formatInstant(job.createdAt + org.switches.clockOffsetSeconds * 1000, user.timeZone),
})

/** Describes a job. The address of its result is relative to the API host. */
const describe = (call: Call, job: BulkReadJob) => {
  const {id, query, file} = job
  const {module, fields, page} = query
  const result = file && {
    page,
    per_page: call.org.switches.bulkReadPage,
    count: file.count,
    download_url: `/crm/bulk/v8/read/${id}/result`,
    more_records: file.nextToken !== null,
    next_page_token: file.nextToken,
  }
  const state = stateOf(call.org, job)
  const failure = {error_message: {code: 'INTERNAL_SERVER_ERROR', message: 'The job could not be processed', details: {}, status: 'error'}}
  return {
    id,
    operation: 'read',
    state,
    ...creationOf(call, job),
    file_type: 'csv',
    query: {module: {api_name: module}, page, ...(fields && {fields})},
    ...(result && {result}),
    ...(state === 'FAILURE' && {result: failure}),
  }
}

/** Returns the state of a job. The CRM writes IN PROGRESS with a space. */
const stateOf = (org: Org, {file, ending, createdAt, dueAt}: BulkReadJob) => {
  if (file) return 'COMPLETED'
  const now = org.clock.now()
  if (ending === 'failure' && dueAt <= now && !org.switches.bulkHold) return 'FAILURE'
  if (now - createdAt < (dueAt - createdAt) / 4) return 'ADDED'
  return now - createdAt < (dueAt - createdAt) / 2 ? 'QUEUED' : 'IN PROGRESS'
}
