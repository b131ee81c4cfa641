import assert from 'node:assert/strict'
import type {ExecutionContext} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accounts, type Org, ok, openOrg, prepareImport, readLog} from './importing.ts'
import {finalsOf} from './oracle.ts'
import {startTestDeployment, type TestDeployment} from './test-deployment.ts'

/** Creates an org with an external engine. The test makes the calls of the engine. */
export const openExternalEngine = async (t: ExecutionContext<any>, options: Parameters<typeof startTestDeployment>[1] = {}) => {
  const house = await startTestDeployment(t, {workers: ['discovery', 'writes'], ...options})
  return callsOf(house, await openOrg(house))
}
export type ExternalEngine = ReturnType<typeof callsOf>

/** Returns the calls of the external engine. All records are in `Accounts`. */
export const callsOf = (house: TestDeployment, org: Org) => {
  const path = `/orgs/${org.org}/connectors/${org.connector}/records/Accounts`
  const authorise = async (declaredRows = 1_000, more: object = {connectorId: org.connector}): Promise<string> =>
    (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows, ...more}), 200)).runId
  const create = (runId: string, items: object[], more: object = {}, headers = {}) =>
    org.call('POST', path, {runId, items, ...more}, headers)
  const update = (runId: string, items: object[], more: object = {}) => org.call('PUT', path, {runId, items, ...more})
  const tell = (runId: string, what: 'lease' | 'entries' | 'progress', body: object = {}) =>
    org.call('POST', `/entitlements/runs/${runId}/${what}`, body)
  const read = async (runId: string) => (await ok(org.call('GET', `/orgs/${org.org}/runs/${runId}`), 200)).run
  const log = (runId: string) => readLog(org.call, `/orgs/${org.org}/runs/${runId}`)
  const makeImport = () => prepareImport(org, {csv: 'name,number,city\na,b,c\n', flow: accounts})
  const held = () => house.crm.records('example', 'Accounts')
  const posts = () => house.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length
  return {house, org, path, authorise, create, update, tell, read, log, makeImport, held, posts}
}

/** Returns a row with a unique number, or without a number if it is null. */
export const row = (key: string, number: string | null = key, more: object = {}) => ({
  rowKey: key,
  payload: {Account_Name: `Company ${key}`, ...(number !== null && {Account_Number: number})},
  ...more,
})

export const rowsOf = (count: number, prefix: string) => Array.from({length: count}, (_, n) => row(`${prefix}${n + 1}`))

/** Returns a row that the CRM refuses, because a create needs a name. */
export const nameless = (key: string, more: object = {}) => ({rowKey: key, payload: {Account_Number: key}, ...more})

/** Asserts the invariants of an external run without batches in flight: the rows that it counts, its log and its outcomes agree. */
export const assertLedger = async ({house, log, read}: ExternalEngine, runId: string) => {
  const entries = await log(runId)
  assert.deepEqual(
    entries.map(({seq}) => seq),
    entries.map((_, at) => at + 1),
    'the log has no gap',
  )
  assertAttempts(entries)
  const finals = finalsByKey(entries)
  const outcomes: Record<string, number> = {}
  for (const {outcome} of finals.values()) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  const run = await read(runId)
  const counted = Object.fromEntries(Object.entries(run.counts.Accounts ?? {}).filter(([, count]) => count !== 0))
  assert.deepEqual(counted, outcomes, 'the run counts what the log says')
  const kept = await house.db.one(sql.type(z.object({sends: z.number(), admissions: z.number(), counted: z.number()}))`
    select (select count(*) from sends where run_no = r.run_no) as sends,
      (select count(*) from admissions where run_no = r.run_no) as admissions, counted
    from runs r join run_heads using (run_no) where id = ${runId}`)
  assert.equal(kept.sends, 0, 'nothing is in flight')
  if (run.state !== 'ended') assert.equal(kept.admissions, kept.counted, 'what is metered is admitted')
  return {entries, finals, outcomes, run}
}

const assertAttempts = (entries: any[]) => {
  for (const [key, mine] of Map.groupBy(entries, ({rowKey, phase}) => `${rowKey}, phase ${phase}`)) {
    const attempts = [...new Set(mine.map(({attempt}) => attempt))].filter(Boolean).sort((a, b) => a - b)
    assert.deepEqual(
      attempts,
      attempts.map((_, at) => at + 1),
      `attempts of ${key} have no gap`,
    )
  }
}

const finalsByKey = (entries: any[]): Map<string, any> => {
  const numbers = new Map([...new Set(entries.map(({rowKey}) => rowKey))].map((key, at) => [key, at]))
  const finals = finalsOf(entries.map(entry => ({...entry, rowNumber: numbers.get(entry.rowKey)})))
  return new Map([...finals.values()].map(entry => [entry.rowKey, entry]))
}
