import {parse} from 'csv-parse/sync'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {sumUp} from '../crediting.ts'
import type {Deployment} from '../deployment.ts'
import {finalsOf} from '../oracle.ts'
import type {Case, Part} from './cases.ts'

/** What must be zero after a run, whatever happened during it. */
export const ERRORS = [
  /** Rows without an end, and records a row claims that are not there or are another's. */
  'lost',
  /** Records of one unique value beyond one; rows that made two, and records two rows made. */
  'duplicated',
  /** Records nobody claims and nothing discloses: neither an entry of the log nor a line of the results. */
  'undisclosed',
  /** The meter against the rows that stand in it, by the log and in Postgres. */
  'meterErrors',
  /** Sends and questions that outlive the run. */
  'openAttempts',
  /** Attempts and log numbers with gaps, and counts that are not the log's. */
  'logErrors',
  /** Lines of results.csv that say something else than log and CRM. */
  'resultErrors',
  /** Credits of the org that come to something else by account, entries and grants. */
  'ledgerErrors',
] as const
export type Errors = Record<(typeof ERRORS)[number], number>
export type Verdict = {errors: Errors; says: string[]}

export const NO_ERRORS = Object.fromEntries(ERRORS.map(kind => [kind, 0])) as Errors

export const addAll = (all: Errors[]): Errors =>
  Object.fromEntries(ERRORS.map(kind => [kind, all.reduce((sum, errors) => sum + errors[kind], 0)])) as Errors

/** A run that has ended, and what the service tells of it. */
export type Ended = {run: any; log: any[]; results: Record<string, string>}

type Line = {result: string; records: string[]; error: string}
type Find = (kind: keyof Errors, what: string) => void

/** Counts what is wrong, and says what. `crm`: the CRM's own records by module, as they are now; `known`: those that stood there before. */
export const judge = async (here: Deployment, {laid, ended, known}: {laid: Case; ended: Ended; known: Set<string>}): Promise<Verdict> => {
  const errors = {...NO_ERRORS}
  const says: string[] = []
  const find: Find = (kind, what) => {
    errors[kind]++
    if (errors[kind] <= 5) says.push(`${kind}: ${what}`)
  }
  judgeLog(ended, laid, find)
  await judgeBooks(here, ended, find)
  await judgeCredits(here, ended, find)
  for (const part of laid.parts) judgePart(here, {part, ended, known}, find)
  return {errors, says}
}

const judgeLog = ({run, log}: Ended, {parts}: Case, find: Find) => {
  for (const [at, {seq}] of log.entries()) if (seq !== at + 1) find('logErrors', `entry ${at + 1} has the number ${seq}`)
  for (const [key, entries] of Map.groupBy(log, ({rowKey, module, phase}) => `${rowKey} ${module} ${phase}`)) {
    const attempts = [...new Set(entries.map(({attempt}) => attempt as number))].filter(attempt => attempt > 0).sort((a, b) => a - b)
    if (attempts.some((attempt, at) => attempt !== at + 1)) find('logErrors', `attempts of ${key}: ${attempts}`)
  }
  const counted: Record<string, number> = {}
  for (const {flow} of parts)
    for (const {module, outcome} of finalsOf(log.filter(({flowId}) => flowId === flow)).values()) add(counted, `${module} ${outcome}`)
  for (const [module, counts] of Object.entries<Record<string, number>>(run.counts))
    for (const [outcome, count] of Object.entries(counts)) add(counted, `${module} ${outcome}`, -count)
  for (const [what, off] of Object.entries(counted)) if (off) find('logErrors', `the run counts ${-off} more of ${what} than its log`)
}

const Books = z.object({
  sends: z.number(),
  admissions: z.number(),
  cursors: z.number(),
  counted: z.number(),
  rowsLimit: z.number(),
  open: z.array(z.object({key: z.string(), kind: z.number()})),
})

const judgeBooks = async ({db}: Deployment, {run, log}: Ended, find: Find) => {
  const books = await db.one(sql.type(Books)`
    select (select coalesce(sum(cardinality(row_keys)), 0) from sends where run_no = r.run_no)::int as sends,
      (select count(*) from admissions where run_no = r.run_no) as admissions,
      (select count(*) from run_cursors where run_no = r.run_no) as cursors, h.counted, h.rows_limit as "rowsLimit",
      (select coalesce(jsonb_agg(jsonb_build_object('key', row_key, 'kind', kind)), '[]') from unsettled where run_no = r.run_no) as open
    from runs r join run_heads h using (run_no) where id = ${run.id}`)
  const kept = countKept(log)
  if (run.rowsWritten !== kept) find('meterErrors', `the run counts ${run.rowsWritten} rows, and its log keeps ${kept}`)
  if (books.counted !== run.rowsWritten) find('meterErrors', `the head counts ${books.counted}, and the run ${run.rowsWritten}`)
  if (books.counted > books.rowsLimit) find('meterErrors', `${books.counted} rows counted of ${books.rowsLimit} that may be`)
  if (books.admissions) find('meterErrors', `${books.admissions} admissions are left`)
  for (let n = 0; n < books.sends; n++) find('openAttempts', 'a row in flight in a run that has ended')
  if (books.cursors) find('openAttempts', `${books.cursors} cursors are left`)
  const finals = new Map<string, any>()
  for (const flow of new Set(log.map(({flowId}) => flowId)))
    for (const final of finalsOf(log.filter(({flowId}) => flowId === flow)).values()) finals.set(final.rowKey, final)
  const silent = new Set(log.filter(({outcome, recordId}) => outcome === 'unanswered' && recordId === null).map(({rowKey}) => rowKey))
  for (const {key} of books.open) {
    const {outcome, message} = finals.get(key) ?? {}
    // Of a row that was refused after a silence the next run is told that its record may exist.
    const isRefusedAfter = outcome === 'refused' && (run.stop || silent.has(key) || /may exist/.test(message ?? ''))
    if (outcome !== 'unanswered' && !isRefusedAfter) find('openAttempts', `${key} has an open question and is ${outcome}`)
  }
}

/** An org without an account has no credits. */
const judgeCredits = async ({db}: Deployment, {run}: Ended, find: Find) => {
  const org = await db.oneFirst(sql.type(z.object({org: z.string()}))`select org_id as org from runs where id = ${run.id}`)
  if (!(await db.exists(sql.type(z.object({}))`select from credit_accounts where org_id = ${org}`))) return
  const {account, entries, grants, holds, open} = await sumUp(db, org)
  if (`${account}` !== `${entries}`) find('ledgerErrors', `the account has ${account}, and its entries come to ${entries}`)
  if (`${account}` !== `${grants}`) find('ledgerErrors', `the account has ${account}, and its grants come to ${grants}`)
  if (holds !== open) find('ledgerErrors', `${holds} credits are held, and reservations hold ${open}`)
  if (account.some(sum => sum < 0)) find('ledgerErrors', `the account is below nothing: ${account}`)
}

/** Rows that stand in the meter: written, or sent and not answered. A row that was only taken is an earlier run's. */
const countKept = (log: any[]) => {
  const writes = log.filter(({phase}) => phase === 'write')
  const isKept = ({outcome, code, attempt, recordId}: any) =>
    outcome === 'unanswered' ? attempt > 0 : ['created', 'updated'].includes(outcome) && code !== 'MADE_EARLIER' && recordId !== null
  return [...Map.groupBy(writes, ({rowKey, module}) => `${module} ${rowKey}`).values()].filter(entries => entries.some(isKept)).length
}

type Judged = {part: Part; ended: Ended; known: Set<string>}

/** The rows of one flow: their ends, their lines in the results, and the records of the CRM. */
const judgePart = ({crm}: Deployment, {part, ended: {run, log, results}, known}: Judged, find: Find) => {
  const {flow, module, field, tags} = part
  const own = log.filter(({flowId}) => flowId === flow)
  const finals = finalsOf(own)
  const lines = readResults(results[part.source]!)
  const mine = new Set(tags)
  const records = crm.records('example', module).filter(record => mine.has(record[field]))
  const tagOf = new Map(records.map(record => [record.id, record[field] as string]))
  if (lines.length !== tags.length) find('resultErrors', `${part.source}: ${lines.length} lines of ${tags.length} rows`)
  const claims = new Set<string>()
  for (const [at, tag] of tags.entries()) {
    const final = finals.get(at + 1)
    if (!final && !run.stop) find('lost', `row ${at + 1} of ${flow} has no end`)
    judgeLine(final, lines[at], `row ${at + 1} of ${flow}`, find)
    if (!final || !isWritten(final)) continue
    claims.add(final.recordId)
    if (tagOf.get(final.recordId) !== tag)
      find('lost', `row ${at + 1} of ${flow} is ${final.outcome} as ${final.recordId}, which is not there`)
  }
  judgeMade(part, own, find)
  if (part.parents) judgeLinks(crm, {part, own, finals}, find)
  const disclosed = countDisclosed(own, lines)
  for (const [tag, held] of Map.groupBy(records, record => record[field] as string)) {
    const extra = held.filter(({id}) => !claims.has(id) && !known.has(id)).length
    const told = tags.reduce((sum, one, at) => sum + (one === tag ? (disclosed.get(at + 1) ?? 0) : 0), 0)
    if (part.unique && held.length > 1) find('duplicated', `${held.length} records of ${tag}`)
    for (let n = told; n < extra; n++) find('undisclosed', `a record of ${tag} that no row of ${flow} tells of`)
  }
}

/** A row makes one record, and a record is made by one row. */
const judgeMade = ({flow}: Part, own: any[], find: Find) => {
  const makers = new Map<string, number>()
  const made = own.filter(({phase, outcome}) => phase === 'write' && outcome === 'created')
  for (const [row, entries] of Map.groupBy(made, ({rowNumber}) => rowNumber as number)) {
    if (entries.length > 1) find('duplicated', `row ${row} of ${flow} is created ${entries.length} times`)
    for (const {recordId} of entries) {
      const other = makers.get(recordId)
      if (other !== undefined && other !== row) find('duplicated', `rows ${other} and ${row} of ${flow} both made ${recordId}`)
      makers.set(recordId, row)
    }
  }
}

/** A record that a row made belongs to the account the file names, or the log says what came of that. */
const judgeLinks = (
  crm: Deployment['crm'],
  {part: {flow, module, parents}, own, finals}: {part: Part; own: any[]; finals: Map<number, any>},
  find: Find,
) => {
  const {field, tags} = parents!
  const accounts = new Map(crm.records('example', 'Accounts').map(({id, Account_Number}) => [Account_Number, id]))
  const records = new Map(crm.records('example', module).map(record => [record.id, record]))
  const patches = finalsOf(own.filter(({phase}) => phase === 'patch').map(entry => ({...entry, phase: 'write'})))
  const told = new Set(own.filter(({phase}) => phase === 'lookup').map(({rowNumber}) => rowNumber))
  for (const [row, {outcome}] of patches) if (outcome !== 'updated') told.add(row)
  for (const [row, final] of finals) {
    if (!isWritten(final) || told.has(row)) continue
    const linked = records.get(final.recordId)?.[field]?.id ?? null
    const owner = accounts.get(tags[row - 1]) ?? null
    if (linked !== owner) find('lost', `row ${row} of ${flow} belongs to ${owner}, and its record to ${linked}`)
  }
}

/**
 * How many records more than it claims a row has told of: as many as its creates that nobody answered, where its results say that
 * nobody answered or that it may exist twice, or its log says that it was made again.
 */
const countDisclosed = (own: any[], lines: Line[]) => {
  const told = new Map<number, number>()
  for (const [row, entries] of Map.groupBy(own, ({rowNumber}) => rowNumber as number)) {
    const line = lines[row - 1]
    const isTold = line?.result === 'No answer' || /may exist/.test(line?.error ?? '')
    if (!isTold && !entries.some(({outcome}) => outcome === 'made_after_no_answer')) continue
    const silent = entries.filter(({phase, outcome, recordId}) => phase === 'write' && outcome === 'unanswered' && recordId === null)
    told.set(row, new Set(silent.map(({attempt}) => attempt)).size)
  }
  return told
}

const isWritten = ({outcome, recordId}: any) => ['created', 'updated', 'inherited'].includes(outcome) && recordId !== null

const RESULT: Record<string, string> = {
  ...{created: 'Written', updated: 'Written', refused: 'Failed', failed: 'Failed', unanswered: 'No answer', skipped: 'Skipped'},
  ...{inherited: 'Written before'},
}

const judgeLine = (final: any, line: Line | undefined, row: string, find: Find) => {
  const expected = final ? RESULT[final.outcome] : ''
  if (line?.result !== expected) find('resultErrors', `${row} is ${final?.outcome}, and its line says ${line?.result}`)
  const ids = final?.recordId ? [final.recordId] : []
  if (line && line.records.join() !== ids.join()) find('resultErrors', `${row} is ${ids}, and its line names ${line.records}`)
}

const readResults = (text: string): Line[] => {
  const [header, ...lines] = parse(text, {relax_column_count: true}) as string[][]
  const at = header!.indexOf('Result')
  return lines.map(line => ({
    result: line[at]!,
    records: line[at + 1] ? line[at + 1]!.split('; ') : [],
    error: line.at(-1)!,
  }))
}

const add = (counts: Record<string, number>, name: string, by = 1) => {
  counts[name] = (counts[name] ?? 0) + by
}
