import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {sumUp} from '../support/ai-credits.ts'
import type {Deployment} from '../support/deployment.ts'
import {finalsOf} from '../support/oracle.ts'
import type {Case} from './cases.ts'
import {judgePart} from './judge-records.ts'

/** Kinds of errors. Each count must be zero after a run, whatever happened during the run. */
export const ERRORS = [
  /** Rows without an outcome, and claimed records that do not exist. */
  'lost',
  /**
   * Values of a unique field in more than one record, rows that created several records, and records that two rows created or two imports claim.
   */
  'duplicated',
  /**
   * Records that no row claims and that neither the log nor the results disclose. Also second records of one match key without a reported
   * cause.
   */
  'undisclosed',
  /** Rows that claim or name the record of another row. */
  'wrongIds',
  /** Records linked to another parent than the file names. */
  'wrongParents',
  /** Records that hold another value than the last row that wrote them, without a reported cause. */
  'oldValues',
  /** Differences between the rows counted by the run, its log and Postgres, counts beyond the limit, and admissions left over. */
  'meterErrors',
  /** Rows in flight, cursors and unresolved creates that outlive the run. */
  'openAttempts',
  /** Gaps in attempts or log numbers, and counts that differ from the log. */
  'logErrors',
  /** Lines of results.csv that contradict the log or the CRM. */
  'resultErrors',
  /** Lines of failed.csv that are not failed rows of results.csv, or whose records exist. */
  'failedErrors',
  /** Difference between the rows the org has used in its period and the rows its runs count. */
  'usageErrors',
  /** Differences of the org's AI credits between account, entries, grants and reservations, and sums below zero. */
  'ledgerErrors',
] as const
export type Errors = Record<(typeof ERRORS)[number], number>
/** Reported facts that are not errors. `needless`: results that warn of a second record although the field is unique. */
export type JudgeReport = {rows: number; unanswered: number; failed: number; twice: number; needless: number}
export type Verdict = {errors: Errors; says: string[]; told?: JudgeReport}

export const NO_ERRORS = Object.fromEntries(ERRORS.map(kind => [kind, 0])) as Errors

export const addAll = (all: Errors[]): Errors =>
  Object.fromEntries(ERRORS.map(kind => [kind, all.reduce((sum, errors) => sum + errors[kind], 0)])) as Errors

/** An ended run and the service's report about it. `usedRows` is the number of rows that its org has used in the period. */
export type EndedRunState = {
  run: any
  log: any[]
  results: Record<string, string>
  failed?: Record<string, string>
  usedRows?: number
}

/**
 * The runs to judge. `chains`: for each import of these files, the runs of its retry chain in order. The last run is judged. Of earlier runs,
 * only the logs are read.
 */
export type JudgedRun = {laid: Case; chains: EndedRunState[][]; known: Set<string>; crmOrg?: string; repeated?: Set<string>}

type Find = (kind: keyof Errors, what: string) => void

/** Counts and describes the errors; `says` holds the first five of each kind. `known`: ids of records that existed before the import. */
export const judge = async (
  here: Deployment,
  {laid, chains, known, crmOrg = 'example', repeated = new Set()}: JudgedRun,
): Promise<Verdict> => {
  const errors = {...NO_ERRORS}
  const told: JudgeReport = {rows: 0, unanswered: 0, failed: 0, twice: 0, needless: 0}
  const says: string[] = []
  const find: Find = (kind, what) => {
    errors[kind]++
    if (errors[kind] <= 5) says.push(`${kind}: ${what}`)
  }
  for (const chain of chains) {
    const ended = chain.at(-1)!
    judgeLog(ended, laid, find)
    await judgeBooks(here, chain, find)
    await judgeUse(here, ended, find)
    await judgeCredits(here, ended, find)
  }
  for (const part of laid.parts) judgePart({crm: here.crm, crmOrg, part, chains, known, repeated}, find, told)
  return {errors, says, told}
}

const judgeLog = ({run, log}: EndedRunState, {parts}: Case, find: Find) => {
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

const judgeBooks = async ({db}: Deployment, chain: EndedRunState[], find: Find) => {
  const {run, log} = chain.at(-1)!
  const books = await db.one(sql.type(Books)`
    select (select coalesce(sum(cardinality(row_keys)), 0) from sends where run_no = r.run_no)::int as sends,
      (select count(*) from admissions where run_no = r.run_no) + (select count(*) from admitted_blocks where run_no = r.run_no) as admissions,
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
  const all = chain.flatMap(({log}) => log)
  const silent = new Set(all.filter(({outcome, recordId}) => outcome === 'unanswered' && recordId === null).map(({rowKey}) => rowKey))
  for (const {key} of books.open) {
    const {outcome, message} = finals.get(key) ?? {}
    // If a send got no answer and the next send was refused, the first may have created or changed a record. The next run of the chain reports this.
    const isRefusedAfter = outcome === 'refused' && (run.stop || silent.has(key) || /may exist|may have been written/.test(message ?? ''))
    if (outcome !== 'unanswered' && !isRefusedAfter) find('openAttempts', `${key} has an open question and is ${outcome}`)
  }
}

/** Compares the rows that an org has used with those that its runs count. All runs of the org must have ended. */
const judgeUse = async ({db}: Deployment, {run, usedRows}: EndedRunState, find: Find) => {
  if (usedRows === undefined) return
  const counted = await db.oneFirst(sql.type(z.object({counted: z.number()}))`
    select coalesce(sum(h.counted), 0)::int as counted from runs r join run_heads h using (run_no)
    where not r.dry_run and org_id = (select org_id from runs where id = ${run.id})`)
  if (usedRows !== counted) find('usageErrors', `the org has used ${usedRows} rows, and its runs count ${counted}`)
}

/** Compares the AI credits of an org between account, entries, grants and reservations. Skips an org without a credit account. */
const judgeCredits = async ({db}: Deployment, {run}: EndedRunState, find: Find) => {
  const org = await db.oneFirst(sql.type(z.object({org: z.string()}))`select org_id as org from runs where id = ${run.id}`)
  if (!(await db.exists(sql.type(z.object({}))`select from credit_accounts where org_id = ${org}`))) return
  const {account, entries, grants, holds, open} = await sumUp(db, org)
  if (`${account}` !== `${entries}`) find('ledgerErrors', `the account has ${account}, and its entries come to ${entries}`)
  if (`${account}` !== `${grants}`) find('ledgerErrors', `the account has ${account}, and its grants come to ${grants}`)
  if (holds !== open) find('ledgerErrors', `${holds} credits are held, and reservations hold ${open}`)
  if (account.some(sum => sum < 0)) find('ledgerErrors', `the account is below nothing: ${account}`)
}

/**
 * Returns the number of rows in a log that count: written, or sent without an answer. A row whose record was only claimed counted in an earlier
 * run.
 */
const countKept = (log: any[]) => {
  const writes = log.filter(({phase}) => phase === 'write')
  const isKept = ({outcome, code, attempt, recordId}: any) =>
    outcome === 'unanswered' ? attempt > 0 : ['created', 'updated'].includes(outcome) && code !== 'MADE_EARLIER' && recordId !== null
  return [...Map.groupBy(writes, ({rowKey, module}) => `${module} ${rowKey}`).values()].filter(entries => entries.some(isKept)).length
}

const add = (counts: Record<string, number>, name: string, by = 1) => {
  counts[name] = (counts[name] ?? 0) + by
}
