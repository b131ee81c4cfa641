import {setTimeout as sleep} from 'node:timers/promises'
import type {PricedCall} from '../../shared/crm/request.ts'
import {isFateUnknown} from '../../sql/database.ts'
import {addRunCosts, type OperationCost} from '../../sql/run-costs.ts'
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
  let storing = Promise.resolve()
  const add = ({operation, calls, credits}: OperationCost) => {
    const cost = counted.get(operation)
    counted.set(operation, {operation, calls: (cost?.calls ?? 0) + calls, credits: (cost?.credits ?? 0) + credits})
  }
  const store = async () => {
    const costs = [...counted.values()]
    counted = new Map()
    if (costs.length === 0) return
    await addRunCosts(db, {run: run.no, costs}).catch(err => {
      log.warn({err}, 'could not store the cost of the run')
      // Costs that may have been stored are not stored again, so that no call counts twice.
      if (!isFateUnknown(err)) costs.forEach(add)
    })
  }
  const storeNext = () => (storing = storing.then(store))
  const timer = setInterval(() => void storeNext(), everyMs)
  return {
    note: ({operation, credits}) => add({operation, calls: 1, credits}),
    async close() {
      clearInterval(timer)
      await storeNext()
      for (let tries = 1; counted.size > 0 && tries < closeTries; tries++) {
        await sleep(closePauseMs)
        await storeNext()
      }
    },
  }
}
