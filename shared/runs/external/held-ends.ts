import {listHolders} from '../../../sql/chain-rows.ts'
import type {Tx} from '../../../sql/database.ts'
import type {ExternalSend} from '../../../sql/external-ledger.ts'
import {listMadeElsewhereIn} from '../../../sql/record-claims.ts'
import type {ItemResult} from '../../../sql/writes.ts'
import {noAnswer} from '../../crm/error.ts'
import type {WriteEnd} from './settle.ts'

/**
 * The end of a create whose answer named a record that another row created or claimed. `named`: the id of that record. Source: Lading's
 * specification, CRM error object, `unanswered`.
 */
export type HeldEnd = Extract<WriteEnd, {outcome: 'unanswered'}> & {named: string}

const recordHeldEnd = (recordId: string, holder: string): HeldEnd => ({
  outcome: 'unanswered',
  code: 'RECORD_HELD',
  message: `The CRM named record ${recordId}, which ${holder} made. Look for this row's record in the CRM`,
  named: recordId,
})

type HeldQuery = {run: number; chain: number; module: number; keys: string[]; ends: WriteEnd[]}

/**
 * Finds creates whose answer named a record that another row created or claimed, in this chain or in another one at the CRM org. Returns the ends by
 * index of the row.
 */
export const findRecordHolders = async (tx: Tx, {run, chain, module, keys, ends}: HeldQuery) => {
  const made = ends.flatMap((end, at) => (end.outcome === 'created' ? [{at, recordId: end.recordId}] : []))
  if (made.length === 0) return new Map<number, HeldEnd>()
  const holders = await listHolders(tx, {chain, module, records: made.map(({recordId}) => recordId)})
  const keyOf = new Map(holders.map(({recordId, key}) => [recordId, key]))
  const rows = made.map(({recordId}) => ({module, recordId}))
  const elsewhere = new Set((await listMadeElsewhereIn(tx, {run, chain, rows})).map(({recordId}) => recordId))
  const held = new Map<number, HeldEnd>()
  for (const {at, recordId} of made) {
    const key = keys[at]!
    if ((keyOf.get(recordId) ?? key) !== key) held.set(at, recordHeldEnd(recordId, 'another row of this run'))
    else if (elsewhere.has(recordId)) held.set(at, recordHeldEnd(recordId, 'a row of another run'))
    else keyOf.set(recordId, key)
  }
  return held
}

/** Replaces the result of each item whose answer named another row's record. The CRM reported success, but the record belongs to the other row. */
export const withHeldEnds = (results: ItemResult[], {ats}: Pick<ExternalSend, 'ats'>, held: Map<number, HeldEnd>): ItemResult[] => {
  const ofItem = new Map([...held].map(([row, end]) => [ats[row]!, end]))
  return results.map(itemResult => {
    const end = ofItem.get(itemResult.at)
    if (!end) return itemResult
    const crm = {...noAnswer, code: 'SUCCESS', details: {id: end.named}}
    return {at: itemResult.at, result: {ok: false, code: end.code, error: end.message, crm}, again: false}
  })
}
