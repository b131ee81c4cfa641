import {HOW, listHolders} from '../../../sql/chain-rows.ts'
import type {Pool} from '../../../sql/database.ts'
import type {ChainRow} from '../../../sql/ledger.ts'
import {listMadeElsewhere} from '../../../sql/record-claims.ts'
import {countAt, outcomeNo} from '../../../sql/run-log.ts'
import type {KeptRow, MarkedRow, SettlerOptions, UnpackedSettlement} from './settler.ts'

const UNANSWERED = outcomeNo('unanswered')

/**
 * Marks a create as unanswered with `RECORD_HELD` if its answer names a record that another row of the chain created or claimed. Two rows
 * cannot have created the same record, so the answer does not prove which record the create made. Throws if no answer names such a record.
 */
export const doubtSharedRecords = async (db: Pool, settlement: UnpackedSettlement) => {
  const {chain} = settlement
  const kept: KeptRow[] = settlement.kept
  const made = kept.filter(({how}) => how === HOW.made || how === HOW.taken)
  const holders = new Map<string, string>()
  for (const module of new Set(made.map(({module}) => module))) {
    const records = made.filter(row => row.module === module).map(({recordId}) => recordId)
    for (const {recordId, key} of await listHolders(db, {chain, module, records})) holders.set(nameOf({module, recordId}), key)
  }
  const losers = made.filter(row => {
    const holder = holders.get(nameOf(row))
    if (holder === undefined) holders.set(nameOf(row), row.key)
    return holder !== undefined && holder !== row.key
  })
  if (losers.length === 0) throw new Error('A record is held twice and its holder cannot be found')
  markDoubtful(settlement, losers, 'another row of this import')
}

/**
 * Marks a create as unanswered if its answer names a record that a row of another chain at the same CRM org made. Only runs that overlap
 * this chain in time are compared. The answer may belong to another request.
 */
export const doubtRecordsOfOtherRuns = async (
  {hot, run, chain}: Pick<SettlerOptions, 'hot' | 'run' | 'chain'>,
  settlement: UnpackedSettlement,
) => {
  const made = settlement.kept.filter(({how}) => how === HOW.made)
  if (made.length === 0) return
  const elsewhere = new Set((await listMadeElsewhere(hot, {run, chain, rows: made})).map(nameOf))
  if (elsewhere.size > 0)
    markDoubtful(
      settlement,
      made.filter(row => elsewhere.has(nameOf(row))),
      'a row of another import',
    )
}

const nameOf = ({module, recordId}: Pick<ChainRow, 'module' | 'recordId'>) => `${module} ${recordId}`

/**
 * Marks as unanswered the rows whose answers named a record of another row, and the rows nested in their creates. `holder`: the other row, in
 * words.
 */
const markDoubtful = (settlement: UnpackedSettlement, losers: readonly KeptRow[], holder: string) => {
  const {log, counts} = settlement
  const kept: KeptRow[] = settlement.kept
  const keys = new Set(losers.map(({key}) => key))
  const nested = kept.filter(({madeWith}) => madeWith !== undefined && keys.has(madeWith))
  for (const loser of [...losers, ...nested]) {
    kept.splice(kept.indexOf(loser), 1)
    const loggedOutcome = loser.madeWith === undefined ? 'created' : 'updated'
    const entry = log.findLast(
      ({key, module, outcome}) => key === loser.key && module === loser.module && outcome === outcomeNo(loggedOutcome),
    )!
    const message = `The CRM named record ${loser.recordId}, which ${holder} made. Look for this row's record in the CRM`
    Object.assign(entry, {outcome: UNANSWERED, code: 'RECORD_HELD', message, recordId: null})
    settlement.marked = (settlement.marked as MarkedRow[]).filter(({key, moduleNo}) => key !== loser.key || moduleNo !== loser.module)
    settlement.written = settlement.written.filter(({key, module}) => key !== loser.key || module !== loser.module)
    settlement.closed = settlement.closed.filter(({key, module}) => key !== loser.key || module !== loser.module)
    settlement.opened = settlement.opened.filter(({key, module}) => key !== loser.key || module !== loser.module)
    if (loser.doubt) settlement.opened.push(loser.doubt())
    for (const [outcome, change] of [
      [loggedOutcome, -1],
      ['unanswered', 1],
    ] as const) {
      const index = countAt(loser.module, outcome)
      while (counts.length <= index) counts.push(0)
      counts[index]! += change
    }
  }
}
