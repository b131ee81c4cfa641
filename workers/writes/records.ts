import {describeUnfit, findUnfit, readIdempotencyFields} from '../../shared/configuration/idempotency-field.ts'
import type {Connection, RecordAnswer, WriteAnswer} from '../../shared/crm/crm.ts'
import type {DiscoveredField} from '../../shared/crm/discovered.ts'
import {describeProblem, findDuplicateOf, isCrowded} from '../../shared/crm/error.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import {mostOfSmall} from '../../shared/crm/record-calls.ts'
import {Refusal} from '../../shared/errors.ts'
import {writeRecords} from '../../shared/jobs.ts'
import type {AdmissionUnit, AdmittedUnit} from '../../shared/runs/external/admit.ts'
import {type RecordItem, RecordsRequest} from '../../shared/runs/external/records.ts'
import type {WriteEnd} from '../../shared/runs/external/settle.ts'
import {digestUniqueKeys} from '../../shared/runs/external/unique-keys.ts'
import {openIdempotencyValues} from '../../shared/runs/idempotency-values.ts'
import {madeEarlier} from '../../shared/runs/made-earlier.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {findWrite, type ItemResult, keepUnsent, type Write} from '../../sql/writes.ts'
import {sayRefusal} from '../engine/settle/refusal-words.ts'
import {type Work, worker} from '../worker.ts'
import {addDuplicateField} from './duplicate-fields.ts'
import {finishWrite} from './finish.ts'
import type {KeptImages} from './kept-images.ts'
import {notAsked, notNow, refusedUnsent, type SendInput, type SentUnits, sendUnits} from './send.ts'
import {skipUnchangedItems} from './skip-unchanged.ts'
import {openShare} from './slot-shares.ts'
import {openUndoValues} from './undo-values.ts'

/** The number of writes that a process executes concurrently. Each makes one call at a time, which may hang until its timeout. */
const atOnce = 8

/** Writes the records of one request. The results are stored under the write's id. The job's answer only quotaMessage that the write was tried. */
export default worker(writeRecords, {concurrency: atOnce}, async ({org, write: id}, work) => {
  const write = await findWrite(work.db, {org, id})
  // The write was tried before, was given up, or ended with its org.
  if (!write?.request) return {write: id}
  try {
    await writeAll(work, write, RecordsRequest.parse(write.request))
  } catch (error) {
    if (!(error instanceof Refusal) && !work.signal.aborted) work.log.error({err: error}, 'records not written')
    await dropRequest(work, write, error)
  }
  await finishWrite(work, write)
  return {write: id}
})

const writeAll = async (work: Work, write: Write, request: RecordsRequest) => {
  const {module, moduleNo, flowNo, items} = request
  if (!(await isOpenOrg(work.db, write.org))) throw new Refusal('ORG_CLOSED', 'This org is closed', {written: false})
  const [connection, fields] = await Promise.all([work.crm.open(write.connectorId, {slots: 'own'}), listFields(work, write, module)])
  const unique = fields.filter(field => field.unique)
  const idempotency = await openIdempotency(work, write, module)
  const slots = openShare(work, connection.connector)
  let images: KeptImages | null = null
  try {
    const call = callOf(work, connection, write, request, idempotency)
    const isCompared = request.unchanged === 'skip' && kindOf(write) === 'update'
    const sent = isCompared ? await skipUnchangedItems(work, {write, request, fields, connection, slots}) : items
    const undo = await openUndoValues(work, {write, request, fields, connection, slots})
    images = undo.images
    await undo.keep(sent)
    const isLarge = sent.length > mostOfSmall
    const itemOf = new Map(items.map(item => [item.at, item]))
    const units = sent.map(item => unitOf(item, {unique, idempotency}))
    await sendUnits(work, {
      write,
      module: moduleNo,
      flow: flowNo,
      kind: kindOf(write),
      units,
      slots,
      isLarge,
      transmit: async (admitted, options) => {
        undo.images?.markSent(admitted)
        const shape = {kind: kindOf(write), field: idempotency?.field ?? null}
        const sent = await transmit(slots, shape, admitted, () => call(admitted, options))
        return {...sent, ends: sent.ends.map((end, n) => undo.mark(end, itemOf.get(admitted[n]!.at)!))}
      },
      beforeSettle: undo.images?.voidRefused,
    })
  } finally {
    await slots.close()
    await images?.voidRest()
  }
}

type Kind = 'create' | 'update'
const kindOf = ({kind}: Write) => kind as Kind

const listFields = async ({db}: Work, {connectorId}: Write, module: string) =>
  (await findDiscoveredModule(db, {connector: connectorId, module}))?.fields ?? []

/** Builds the unit of an item. `unique`: the fields by which the CRM would call a second create a duplicate of the first. */
const unitOf = (
  {at, rowKey, rowNumber, recordId, payload}: RecordItem,
  {unique, idempotency}: {unique: DiscoveredField[]; idempotency: Idempotency | null},
): AdmissionUnit => {
  const digests = digestUniqueKeys(payload, unique, idempotency && [idempotency.field, idempotency.deriveValue(rowKey)])
  const hasUniqueKey = digests.length > 0
  return {at, parent: null, rows: [{key: rowKey, number: rowNumber ?? null, target: recordId ?? null, hasUniqueKey, digests}]}
}

type Idempotency = {field: string; deriveValue(rowKey: string): string}

/**
 * Opens the idempotency values of a create's module. Returns null for updates, and for a module without an idempotency field. Refuses the
 * write if the newest discovery shows that the field has become unfit, for example because it accepts duplicates.
 */
const openIdempotency = async ({db, config}: Work, {org, runId: run, connectorId: connector, kind}: Write, module: string) => {
  const field = kind === 'create' ? (await readIdempotencyFields(db, {org, connector})).get(module) : undefined
  if (field === undefined) return null
  const why = findUnfit(await findDiscoveredModule(db, {connector, module}), field)
  if (why) throw new Refusal('FIELD_NOT_UNIQUE', describeUnfit(module, field, why), {written: false})
  const derive = await openIdempotencyValues({db, ring: config.SECRETS_KEYS}, {org, run})
  return {field, deriveValue: (rowKey: string) => derive(module, rowKey)}
}

/**
 * Returns the function that sends a write to the CRM. If the process is asked to stop, the function sends no further request, but waits for the
 * answer to a sent one.
 */
const callOf = (
  work: Work,
  connection: Connection,
  write: Write,
  {module, automations, items}: RecordsRequest,
  idempotency: Idempotency | null,
) => {
  const itemOf = new Map(items.map(item => [item.at, item]))
  return async (units: AdmittedUnit[], {signal, mayLeave, secondsLeft}: Parameters<SendInput['transmit']>[1]): Promise<WriteAnswer> => {
    const options = {automations, mayLeave: () => !signal.aborted && mayLeave()}
    const mine = units.map(({at}) => itemOf.get(at)!)
    if (kindOf(write) === 'update') {
      const records = mine.map(({payload, recordId}) => ({...payload, id: recordId!}))
      return connection.updateRecords(module, records, options)
    }
    const valuesOf = (rowKey: string) => idempotency && {[idempotency.field]: idempotency.deriveValue(rowKey)}
    const records = mine.map(({payload, rowKey}) => ({...payload, ...valuesOf(rowKey)}))
    const answer = await connection.createRecords(module, records, options)
    if (!idempotency) return answer
    return {
      ...answer,
      results: await addDuplicateField(
        work,
        connection,
        {module, field: idempotency.field, records, seconds: secondsLeft()},
        answer.results,
      ),
    }
  }
}

/** `field`: the idempotency field of the module's creates, or null. */
type WriteShape = {kind: Kind; field: string | null}

const transmit = async (
  slots: SlotShare,
  shape: WriteShape,
  units: AdmittedUnit[],
  call: () => Promise<WriteAnswer>,
): Promise<SentUnits> => {
  const {results: answers, whole = null} = await call().catch(error => notAsked(units, error))
  if (whole && isCrowded(whole.crm)) await slots.cut()
  const quotaMessage = whole?.renews ? whole.message : null
  const judged = units.map(({at}, n) => judge({...shape, quotaMessage}, at, answers[n]!))
  return {ends: judged.map(({end}) => end), results: judged.map(({result}) => result), problem: whole}
}

/**
 * Turns the CRM's answer for one row into the row's outcome and the caller's result. A duplicate of the row's idempotency value is the record
 * that an earlier request for the row created. `quotaMessage`: the message if the quota is exhausted and renews at a known time; else null.
 */
const judge = (
  {kind, field, quotaMessage}: WriteShape & {quotaMessage: string | null},
  at: number,
  answer: RecordAnswer,
): {end: WriteEnd; result: ItemResult} => {
  if (answer.ok) {
    const {recordId, modifiedAt: writtenAt = null} = answer
    const outcome = kind === 'create' ? 'created' : 'updated'
    return {end: {outcome, recordId, writtenAt}, result: {at, result: {ok: true, recordId, outcome}, again: false}}
  }
  if (!answer.sent) return {end: {outcome: 'unsent'}, result: refusedUnsent(at, answer.refusal)}
  const {crm, duplicateOf} = answer
  const own = crm.unanswered || field === null ? null : findDuplicateOf(crm, field)
  if (own !== null)
    return {
      end: {outcome: 'created', recordId: own, ...madeEarlier},
      result: {at, result: {ok: true, recordId: own, outcome: 'created'}, again: false},
    }
  const result = {ok: false, error: quotaMessage ?? describeProblem(crm), crm, ...(duplicateOf !== null && {duplicateOf})}
  if (crm.unanswered)
    return {
      end: {outcome: 'unanswered', message: describeProblem(crm), ...(crm.code && {code: crm.code})},
      result: {at, result, again: false},
    }
  const code = crm.code ?? `HTTP_${crm.status}`
  return {end: {outcome: 'refused', code, message: quotaMessage ?? sayRefusal(crm)}, result: {at, result, again: crm.rateLimited === true}}
}

/** Stores the error as the result of unsent items, which the client may send again immediately. The sweep settles the items in flight later. */
const dropRequest = ({db}: Work, {id: write}: Write, error: unknown) => {
  const {result} = refusedUnsent(0, error instanceof Refusal ? error : notNow())
  return db.transaction(tx => keepUnsent(tx, {write, result}))
}
