import {setTimeout as sleep} from 'node:timers/promises'
import type {PricedCall} from '../../shared/crm/request.ts'
import {isFateUnknown} from '../../sql/database.ts'
import {addRunCosts, findFate, type OperationCost} from '../../sql/run-costs.ts'
import type {LedgerContext} from './context.ts'

/** Counts the CRM calls of a run. `close` stores the rest of the counts. */
export type RunCost = {note(call: PricedCall): void; close(): Promise<void>}

/** The interval in ms at which counts are stored. A killed process loses the counts since the last interval. */
const everyMs = 2_000
/** How often `close` tries to store the rest of the counts. */
const closeTries = 3
const closePauseMs = 500

export const openRunCost = ({db, run, log}: Pick<LedgerContext, 'db' | 'run' | 'log'>): RunCost => {
  let counted = new Map<string, OperationCost>()
  /** Costs of a transaction whose commit got no answer. */
  let unanswered: {transaction: string; costs: OperationCost[]} | null = null
  let storing = Promise.resolve()
  const add = ({operation, calls, credits}: OperationCost) => {
    const cost = counted.get(operation)
    counted.set(operation, {operation, calls: (cost?.calls ?? 0) + calls, credits: (cost?.credits ?? 0) + credits})
  }
  /**
   * Counts the costs again if Postgres rolled their transaction back. Throws while the transaction is in progress. Treats an unknown fate as
   * committed.
   */
  const resolveUnanswered = async () => {
    if (!unanswered) return
    const {transaction, costs} = unanswered
    const fate = await findFate(db, transaction)
    if (fate === 'in progress') throw new Error('The transaction that stores the cost has not ended')
    unanswered = null
    if (fate === 'aborted') costs.forEach(add)
  }
  const addCounted = async () => {
    const costs = [...counted.values()]
    counted = new Map()
    if (costs.length === 0) return
    const sent: {transaction?: string} = {}
    try {
      await db.transaction(async tx => {
        sent.transaction = await addRunCosts(tx, {run: run.no, costs})
      })
    } catch (error) {
      // If the statement got no answer, no commit was sent.
      if (sent.transaction !== undefined && isFateUnknown(error)) unanswered = {transaction: sent.transaction, costs}
      else costs.forEach(add)
      throw error
    }
  }
  const store = () =>
    resolveUnanswered()
      .then(addCounted)
      .catch(err => log.warn({err}, 'could not store the cost of the run'))
  const storeNext = () => (storing = storing.then(store))
  const timer = setInterval(() => void storeNext(), everyMs)
  return {
    note: ({operation, credits}) => add({operation, calls: 1, credits}),
    async close() {
      clearInterval(timer)
      await storeNext()
      for (let tries = 1; (counted.size > 0 || unanswered) && tries < closeTries; tries++) {
        await sleep(closePauseMs)
        await storeNext()
      }
    },
  }
}
