import {setTimeout as sleep} from 'node:timers/promises'
import type {Pool} from '../../sql/database.ts'
import {deleteTake} from '../../sql/takes.ts'
import type {Crm} from '../crm/crm.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import type {Asker} from '../runs/outside.ts'
import {judgeTake, type TakeVerdict} from '../runs/take.ts'
import {admitTake, reservedSeconds} from './admit.ts'
import {keepTake} from './keep.ts'
import type {Keys} from './keys.ts'
import {waitForOpenCreates} from './open-creates.ts'

/** `keys`: what the record is indexed under, as it was read back. */
export type Taking = {
  asker: Asker
  runId: string
  connector: string
  module: DiscoveredModule
  recordId: string
  rowKey: string
  keys: Keys
}

/**
 * `held`: another row of any run at the CRM org has it, or this row was sent again. `reused`: the row has another record. `ended`: the run
 * writes no more.
 */
export type TakeAnswer = TakeVerdict | {taken: false; why: 'held' | 'reused' | 'ended'}

type Options = {signal: AbortSignal}

/**
 * Whether a record is the row's to take, after a create the CRM never answered and another that it refused as a duplicate of this
 * record; if so it is written down as the row's. Reserved first, so that no two rows are given one record while the CRM is asked.
 * Nothing is written to the CRM. Throws Refusal, and CrmError where a read fails: then the record is free again.
 */
export const takeRecord = async ({db, crm}: {db: Pool; crm: Crm}, taking: Taking, options: Options): Promise<TakeAnswer> => {
  const admitted = await db.transaction(tx => admitTake(tx, taking))
  if ('taken' in admitted) return admitted
  try {
    const verdict = await askCrm(crm, taking, {chainStartMs: admitted.chainStartMs}, options)
    if (!verdict.taken) return verdict
    const query = {...admitted.crmOrg, run: admitted.reservation.run, module: taking.module.apiName}
    const isSettled = await waitForOpenCreates(db, query, waitOptions(options))
    return isSettled ? await db.transaction(tx => keepTake(tx, taking, admitted)) : {taken: false, why: 'held'}
  } finally {
    await deleteTake(db, admitted.reservation)
  }
}

/** Longer than a create may take. */
const waitOptions = ({signal}: Options) => ({
  ...{seconds: reservedSeconds, maxPauseMs: 1_000},
  wait: (ms: number) => sleep(ms, undefined, {signal}),
})

/** The record, and whom the CRM takes the connection for now: it may have been connected anew since it was kept. */
const askCrm = async (crm: Crm, {connector, module, recordId}: Taking, {chainStartMs}: {chainStartMs: number}, options: Options) => {
  const connection = await crm.open(connector)
  const {record, clockOffsetMs} = connection.isRecordId(recordId)
    ? await connection.readRecordWithClock(module.apiName, recordId, options)
    : {record: null, clockOffsetMs: null}
  if (!record) return {taken: false, why: 'gone'} as const
  const crmUser = await connection.currentUser(options).catch(unlessNone)
  return crmUser ? judgeTake({record, crmUser: crmUser.id, chainStartMs, clockOffsetMs}) : ({taken: false, why: 'unread'} as const)
}

/** A destination without users cannot say whose a record is. */
const unlessNone = (error: unknown) => {
  if (error instanceof Refusal && error.code === 'NOT_OFFERED') return null
  throw error
}
