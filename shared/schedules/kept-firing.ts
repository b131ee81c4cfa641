import type {Tx} from '../../sql/database.ts'
import {findUnderWay} from '../../sql/firings.ts'
import {lockKeptFiring} from '../../sql/held-files.ts'
import {Refusal} from '../errors.ts'

/**
 * Returns the firing that a run of this import continues: the firing ended without a run and left the import to a person. Null: there is none.
 * Locks its schedule. Refuses a file that another firing has run, because its rows would be written twice. Refuses while another firing of the
 * schedule is in progress, because a schedule has one at a time.
 */
export const openKeptFiring = async (tx: Tx, place: {org: string; importId: string}): Promise<string | null> => {
  const kept = await lockKeptFiring(tx, place)
  if (kept?.isRepeated)
    throw new Refusal('FILE_NOT_HELD', 'The schedule has run this file already. To run it again, fire the schedule with again: true')
  const underWay = kept && (await findUnderWay(tx, kept.scheduleId))
  if (!underWay) return kept?.id ?? null
  const says = 'The schedule of this file is already running. Wait for it, or cancel its run'
  throw new Refusal('IMPORT_RUNNING', says, {firing: underWay.id, runId: underWay.runId})
}
