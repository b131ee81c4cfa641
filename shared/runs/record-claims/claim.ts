import {setTimeout as sleep} from 'node:timers/promises'
import {deleteReservation} from '../../../sql/claim-reservations.ts'
import type {Pool} from '../../../sql/database.ts'
import type {Crm} from '../../crm/crm.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import {Refusal} from '../../errors.ts'
import type {RunCaller} from '../external/run.ts'
import {admitClaim, reservedSeconds} from './admit.ts'
import {commitClaim} from './commit.ts'
import type {Keys} from './keys.ts'
import {waitForOpenCreates} from './open-creates.ts'
import {judgeRecord, type RecordVerdict} from './verdict.ts'

/** `keys`: values of the record's match fields, as read back. */
export type ClaimInput = {
  asker: RunCaller
  runId: string
  connector: string
  module: DiscoveredModule
  recordId: string
  rowKey: string
  keys: Keys
}

/**
 * `held`: another row, in any run at the CRM org, has or reserves the record or may have made it. Also `held`: this row is in flight or was sent
 * again. `reused`: this row already has another record. `ended`: the run no longer writes.
 */
export type ClaimAnswer = RecordVerdict | {taken: false; why: 'held' | 'reused' | 'ended'}

type ClaimOptions = {signal: AbortSignal}

/**
 * Claims a record for a row. According to the engine, the row's create got no answer, and the CRM refused a second create as a duplicate of this
 * record. The record stays reserved during the CRM read, so that no other row claims it. Writes nothing to the CRM. Throws a CrmError if a read
 * fails.
 */
export const claimRecord = async ({db, crm}: {db: Pool; crm: Crm}, input: ClaimInput, options: ClaimOptions): Promise<ClaimAnswer> => {
  const admitted = await db.transaction(tx => admitClaim(tx, input))
  if (!('reservation' in admitted)) return unlessRefused(admitted)
  try {
    const verdict = await askCrm(crm, input, {chainStartMs: admitted.chainStartMs}, options)
    if (!verdict.taken) return verdict
    const query = {...admitted.crmOrg, run: admitted.reservation.run, module: input.module.apiName}
    const isSettled = await waitForOpenCreates(db, query, waitOptions(options))
    return isSettled ? unlessRefused(await db.transaction(tx => commitClaim(tx, input, admitted))) : {taken: false, why: 'held'}
  } finally {
    await deleteReservation(db, admitted.reservation)
  }
}

const unlessRefused = (answer: ClaimAnswer | Refusal): ClaimAnswer => {
  if (answer instanceof Refusal) throw answer
  return answer
}

/** A create takes less time than `reservedSeconds`. */
const waitOptions = ({signal}: ClaimOptions) => ({
  seconds: reservedSeconds,
  maxPauseMs: 1_000,
  wait: (ms: number) => sleep(ms, undefined, {signal}),
})

const askCrm = async (
  crm: Crm,
  {connector, module, recordId}: ClaimInput,
  {chainStartMs}: {chainStartMs: number},
  options: ClaimOptions,
) => {
  const connection = await crm.open(connector)
  const {record, clockOffsetMs} = connection.isRecordId(recordId)
    ? await connection.readRecordWithClock(module.apiName, recordId, options)
    : {record: null, clockOffsetMs: null}
  if (!record) return {taken: false, why: 'gone'} as const
  const crmUser = await connection.currentUser(options).catch(unlessNone)
  return crmUser ? judgeRecord({record, crmUser: crmUser.id, chainStartMs, clockOffsetMs}) : ({taken: false, why: 'unread'} as const)
}

/** For `catch`: returns null if the CRM has no users, because it then names no creator of a record. Rethrows other errors. */
const unlessNone = (error: unknown) => {
  if (error instanceof Refusal && error.code === 'NOT_OFFERED') return null
  throw error
}
