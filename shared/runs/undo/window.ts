import type {Tx} from '../../../sql/database.ts'
import {findPlan} from '../../../sql/plans.ts'
import {findSettings} from '../../../sql/registry.ts'

/** Returns for how many days a run that starts now can be undone. Null if the plan has no undo or the org turned it off. */
export const findUndoDays = async (tx: Tx, org: string): Promise<number | null> => {
  const {limits} = await findPlan(tx, org)
  const isOff = (await findSettings(tx, org))?.undo === 'off'
  return isOff || limits.undoDays < 1 ? null : limits.undoDays
}
