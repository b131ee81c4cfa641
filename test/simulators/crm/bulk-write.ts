import {type Answer, CallRefused, ok, refuse} from './answers.ts'
import {noteAutomations} from './automations.ts'
import type {BulkWriteJob} from './bulk-state.ts'
import {readWriteBody} from './bulk-write-body.ts'
import {type BulkWriteResult, isWritten, writeRow} from './bulk-write-rows.ts'
import type {Call} from './call.ts'
import {writeCsv} from './csv-text.ts'
import type {Write} from './drafts.ts'
import {actionOf, type Fault} from './faults.ts'
import {metaId, named, type Org, reportedTime} from './org.ts'
import {applyRewrites} from './rewrites.ts'
import type {SimulatorState} from './simulator-state.ts'
import {writeZip} from './zip-file.ts'
import {formatInstant} from './zones.ts'

const keptMs = 7 * 24 * 3600_000

/** Creates a job. It is executed later, on the simulator's clock. */
export const createWriteJob = (call: Call): Answer => {
  if (!call.headers['content-type']?.startsWith('application/json')) throw new CallRefused(refuse(415, 'MEDIA_TYPE_NOT_SUPPORTED'))
  const {world, org, user} = call
  const body = readWriteBody(call)
  const now = org.clock.now()
  const waitMs = org.switches.bulkSeconds * 1000 + body.rows.length * org.switches.bulkRowMs
  const job: BulkWriteJob = {id: metaId(org), user, body, createdAt: now, dueAt: now + waitMs, ...endingOf(call.fault), done: null}
  org.bulk.writes.set(job.id, job)
  if (body.callback !== null) setTimeout(() => runDueWrites(world, org), waitMs + 5).unref()
  call.committed = true
  return ok({status: 'success', code: 'SUCCESS', message: 'success', details: {id: job.id, created_by: named(user)}}, 201)
}

/** Answers with the job as an object, not in a list. */
export const readWriteJob = (call: Call): Answer => ok(describe(call.world, call.org, findJob(call)))

/** Answers with the rows of the file and their results. They are kept for seven days. */
export const downloadWriteResult = (call: Call): Answer => {
  const job = call.org.bulk.writes.get(call.segments[2]!)
  const isOwn = call.segments[1] === call.org.spec.zgid
  const change = actionOf(call.fault, 'bulkResult')?.change
  const isGone = !job?.done?.results || call.org.clock.now() - job.done.at > keptMs || change === 'gone'
  if (!isOwn || isGone) throw noSuchJob(call)
  const headers = {'content-disposition': `attachment; filename="${job!.id}.zip"`}
  return {status: 200, bytes: writeResult(job!, change), type: 'application/octet-stream', headers}
}

/** Executes the jobs that are due, unless `bulkHold` is on. */
export const runDueWrites = (world: SimulatorState, org: Org) => {
  if (org.switches.bulkHold) return
  const now = org.clock.now()
  for (const job of org.bulk.writes.values()) {
    if (job.done || job.ending === 'stuck' || job.dueAt > now) continue
    job.done = {at: now, results: job.ending === 'failed' ? null : executeRows(world, org, job)}
    callBack(world, org, job)
  }
}

const endingOf = (fault: Fault | null): Pick<BulkWriteJob, 'ending' | 'unprocessed'> => {
  const unprocessed = actionOf(fault, 'bulkUnprocessed')?.rows ?? 0
  if (actionOf(fault, 'bulkFailure')) return {ending: 'failed', unprocessed}
  if (actionOf(fault, 'bulkStuck')) return {ending: 'stuck', unprocessed}
  return {ending: actionOf(fault, 'bulkSkipped') ? 'skipped' : 'executed', unprocessed}
}

const executeRows = (world: SimulatorState, org: Org, {body, user, ending, unprocessed}: BulkWriteJob): BulkWriteResult[] => {
  const at = Math.floor(reportedTime(org) / 1000) * 1000
  const write: Write = {org, user, at, zone: user.timeZone, source: 'bulkapi'}
  const processed = ending === 'skipped' ? 0 : body.rows.length - unprocessed
  const rest =
    ending === 'skipped' ? ({status: 'SKIPPED', errors: 'CANNOT_PROCESS-id'} as const) : ({status: 'UNPROCESSED', errors: ''} as const)
  const results = body.rows.map((cells, index) => (index < processed ? writeRow(write, body, cells) : {...rest, recordId: ''}))
  const ids = results.filter(isWritten).map(({recordId}) => recordId)
  applyRewrites(write, body.module, ids)
  noteAutomations({world, org}, body.module, `bulk ${body.operation}`, ids, org.switches.bulkAutomations ? undefined : [])
  return results
}

/** Posts the state of an ended job to its callback, only if the callback is on this machine. */
const callBack = (world: SimulatorState, org: Org, job: BulkWriteJob) => {
  const url = job.body.callback === null ? null : URL.parse(job.body.callback)
  if (!url || !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) return
  const body = JSON.stringify(describe(world, org, job))
  fetch(url, {method: 'POST', headers: {'content-type': 'application/json'}, body}).catch(() => {})
}

const findJob = (call: Call): BulkWriteJob => {
  const job = call.org.bulk.writes.get(call.segments[2]!)
  if (!job) throw noSuchJob(call)
  return job
}

const noSuchJob = (call: Call) =>
  new CallRefused(refuse(404, 'RESOURCE_NOT_FOUND', {resource: call.segments[2]}, "The requested resource doesn't exist."))

const describe = (world: SimulatorState, org: Org, job: BulkWriteJob) => {
  const {id, user, body, createdAt, done} = job
  const status = stateOf(org, job)
  const count = (wanted: BulkWriteResult['status']) => done?.results?.filter(result => result.status === wanted).length ?? 0
  const file = {
    status,
    name: body.fileName,
    added_count: count('ADDED'),
    skipped_count: count('SKIPPED'),
    updated_count: count('UPDATED'),
    total_count: body.rows.length - count('UNPROCESSED'),
  }
  const resource = {status, type: 'data', module: {api_name: body.module.name, id: body.module.id}, ...(done && {file})}
  return {
    status,
    character_encoding: 'UTF-8',
    resource: [{...resource, ...(done?.results && {code: 'SUCCESS'})}],
    id,
    created_by: named(user),
    operation: body.operation,
    created_time: formatInstant(createdAt, user.timeZone),
    ...(body.callback !== null && {callback: {url: body.callback, method: 'post'}}),
    ...(done?.results && {result: {download_url: addressOf(world, org, id)}}),
  }
}

/** Returns the address of the result. The vendor's pages show a path; its SDK accepts an address on another host. */
const addressOf = (world: SimulatorState, org: Org, id: string) => {
  const {zgid} = org.spec
  if (org.switches.bulkResultUrl === 'relative') return `/v8/crm/org${zgid}/bulk-write/${id}/${id}.zip`
  return `${world.hostOf(org.dc)}/download/v2/crm/${zgid}/bulk-write/${id}/${id}.zip`
}

/** Returns the state of a job. COMPLETED does not mean that its rows were written. */
const stateOf = (org: Org, {done, createdAt, dueAt}: BulkWriteJob) => {
  if (done) return done.results ? 'COMPLETED' : 'FAILED'
  return org.clock.now() - createdAt < (dueAt - createdAt) / 4 ? 'ADDED' : org.switches.bulkInProgress
}

/**
 * Writes the result file: the first three mapped columns, then the result of each row, in the file's order. A fault may reverse, drop or repeat
 * rows.
 */
const writeResult = ({id, body, done}: BulkWriteJob, change: 'reversed' | 'short' | 'doubled' | 'gone' | undefined): Buffer => {
  const columns = body.mappings.flatMap(({column}) => (column === null ? [] : [column])).slice(0, 3)
  const rows = body.rows.map((cells, index) => {
    const {status, recordId, errors} = done!.results![index]!
    return [...columns.map(column => cells[column] ?? ''), status, recordId, errors]
  })
  if (change === 'reversed') rows.reverse()
  if (change === 'short') rows.splice(Math.floor(rows.length / 2), 1)
  if (change === 'doubled') rows.push(rows[0]!)
  const header = [...columns.map(column => body.header[column] ?? ''), 'STATUS', 'RECORD_ID', 'ERRORS']
  return writeZip([{name: `${body.module.name}-${id}-${body.fileName}`, bytes: Buffer.from(writeCsv([header, ...rows]))}])
}
