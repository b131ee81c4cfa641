import {newId} from '../../shared/ids.ts'
import {admitUnits} from '../../shared/runs/external/admit.ts'
import {endExternalRun, lockExternalRun, openExternalRun} from '../../shared/runs/external/run.ts'
import {settleBatch, settleLate, type WriteEnd} from '../../shared/runs/external/settle.ts'
import {limitStop} from '../../shared/runs/stop.ts'
import {sql, type Tx} from '../../sql/database.ts'
import {EXTERNAL_STEP_CODES} from '../../sql/external-ledger.ts'
import {closeExternalRun, type ExternalRun, numberName} from '../../sql/external-runs.ts'
import {writeStop} from '../../sql/run-heads.ts'
import {insertWrite} from '../../sql/writes.ts'
import {type Org, ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** A deployment and an org. The tests of a file share both, and their clocks, so they run serially. */
export type Here = {world: TestDeployment; org: Org}

/** Resets the CRM, the clocks and the claims. */
export const settleDown = async ({world: {db, crm, ahead}}: Here) => {
  crm.clear()
  crm.clock.unfreeze()
  crm.clock.set(Date.now())
  await ahead('0 seconds')
  await db.query(sql.unsafe`delete from crm_allowances`)
  // After its reset, the CRM reuses record ids, so old claims would match new records.
  await db.query(sql.unsafe`delete from record_claims`)
  await db.query(sql.unsafe`delete from chain_rows`)
}

export const authorise = async ({org}: Here, more: object = {connectorId: org.connector}): Promise<string> =>
  (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1_000, ...more}), 200)).runId

/** Authorises a run of an import of which Lading has no file. */
export const importRun = async (here: Here) => {
  const {call, org, connector} = here.org
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Test', connectorId: connector}), 201)
  const run = await authorise(here, {importId: made.id})
  return {run, path: `/orgs/${org}/imports/${made.id}/runs/${run}`}
}

const change = ({world: {db}, org}: Here, run: string, how: (tx: Tx, standing: ExternalRun) => Promise<unknown>) =>
  db.transaction(async tx => how(tx, await lockExternalRun(tx, org.org, run)))
export const stopRun = (here: Here, run: string) =>
  change(here, run, (tx, standing) => writeStop(tx, {run: standing.no, stop: limitStop({...standing, counted: 5})}))
export const endRun = (here: Here, run: string) =>
  change(here, run, (tx, standing) => endExternalRun(tx, standing, {outcome: null, pending: 'refuse'}))
export const closeRun = (here: Here, run: string) => change(here, run, (tx, {no}) => closeExternalRun(tx, {no, outcome: null}))

/** Creates an account in the CRM and returns its id. `as`: by default the connection's own user. */
export const make = ({world}: Here, {as = 'ana@example.org', number = newId('req')} = {}) =>
  String(world.crm.create('example', 'Accounts', [{Account_Name: 'Acme', Account_Number: number}], {as})[0]!.details.id)

export type TakeInput = {run: string; row?: string; record: string; module?: string; connector?: string; keys?: object}

export const take = ({org}: Here, asked: TakeInput, call = org.call) => {
  const {run, row = 'r1', record, module = 'Accounts', connector = org.connector, keys} = asked
  const body = {runId: run, rowKey: row, ...(keys && {keys})}
  return call('POST', `/orgs/${org.org}/connectors/${connector}/records/${module}/${record}/made`, body)
}

/** Tries to claim a record. Returns true, or the reason of the refusal. */
export const taken = async (here: Here, asked: TakeInput): Promise<true | string> => {
  const {taken, why} = await ok(take(here, asked), 200)
  return taken || why
}

type SendInput = {row?: string; number?: number; flowId?: string; target?: string; module?: string}

const claimKey = Buffer.alloc(16)

/** Sends a row as the record worker does, but without the CRM. Returns a function that settles the batch. */
export const send = async (
  {world: {db}, org}: Here,
  run: string,
  {row = 'r1', number, flowId, target, module: moduleName = 'Accounts'}: SendInput = {},
) => {
  const kind = target === undefined ? 'create' : 'update'
  const write = newId('wrt')
  const units = [
    {at: 0, parent: null, rows: [{key: row, number: number ?? null, target: target ?? null, hasUniqueKey: true, digests: claimKey}]},
  ]
  const sent = await db.transaction(async tx => {
    const {no} = await openExternalRun(tx, {org: org.org, person: '', admin: true}, {runId: run, connector: org.connector})
    await insertWrite(tx, {id: write, org: org.org, run: no, connector: org.connector, kind, request: null})
    const module = await numberName(tx, {run: no, kind: 'module', name: moduleName})
    const flow = flowId === undefined ? null : await numberName(tx, {run: no, kind: 'flow', name: flowId})
    const standing = await lockExternalRun(tx, org.org, run)
    const {batch, admitted} = await admitUnits(tx, standing, {write, module, flow, kind, units, answerSeconds: 60})
    const {key, attempt, fresh} = admitted[0]!.rows[0]!
    return {batch: batch!, module, flow, write, kind: EXTERNAL_STEP_CODES[kind], keys: [key], attempts: [attempt], fresh: [fresh]}
  })
  const rest = {ats: [0], numbers: [number ?? null], targets: [target ?? null], hasUniqueKeys: [true], digests: [claimKey]}
  return (end: WriteEnd, {late = false} = {}) =>
    db.transaction(async tx =>
      (late ? settleLate : settleBatch)(tx, await lockExternalRun(tx, org.org, run), {...sent, ...rest}, [end], []),
    )
}

const silence: WriteEnd = {outcome: 'unanswered', message: 'The CRM did not answer'}
const duplicate: WriteEnd = {outcome: 'refused', code: 'DUPLICATE_DATA', message: 'duplicate data'}

/** Makes a create unanswered, then refuses its repetition as a duplicate, which leads to a claim. */
export const lose = async (here: Here, run: string, sent: SendInput = {}) => {
  await (await send(here, run, sent))(silence)
  await (await send(here, run, sent))(duplicate)
}

export const see = async ({world}: Here, run: string) => {
  const one = (text: ReturnType<typeof sql.unsafe>) => world.db.any(text) as Promise<readonly any[]>
  const no = (await one(sql.unsafe`select run_no from runs where id = ${run}`))[0].run_no
  const [head] = await one(sql.unsafe`select counted, counts, lease_until, lading_now() as now from run_heads where run_no = ${no}`)
  return {
    head,
    log: await one(sql.unsafe`
      select seq, row_key as row, flow_no as flow, row_number as number, attempt, outcome, code, record_id as record from log_entries
      where run_no = ${no} order by seq`),
    rows: await one(
      sql.unsafe`select row_key as row, record_id as record, how, match_key as key from chain_rows where chain_no = ${no} order by 1`,
    ),
    open: await one(sql.unsafe`select row_key as row from unsettled where chain_no = ${no} order by 1`),
    takes: await one(sql.unsafe`select row_key as row, record_id as record from takes where chain_no = ${no} order by 1`),
    admitted: await one(sql.unsafe`select row_key as row, last_attempt as attempt from admissions where run_no = ${no} order by 1`),
  }
}

export const calls = ({world}: Here) => world.crm.journal().map(({method, path}) => `${method} ${path}`)
