import type {Tx} from '../../sql/database.ts'
import {findUnderWay} from '../../sql/firings.ts'
import {isRepeated, lockKeptFiring} from '../../sql/held-files.ts'
import {Refusal} from '../errors.ts'

/**
 * Returns the firing that a run of this import continues, and locks its schedule. Such a firing ended without a run, or its run stopped before its
 * first row. Null: the import has no such firing. Refuses a file that another firing has run since, because its rows would be written twice. Refuses
 * while a firing of the schedule is in progress: a schedule runs one firing at a time, and the import's own firing would run the file again.
 */
export const openKeptFiring = async (tx: Tx, place: {org: string; importId: string}): Promise<string | null> => {
  const kept = await lockKeptFiring(tx, place)
  if (kept === null) return null
  if (await isRepeated(tx, kept.id))
    throw new Refusal('FILE_NOT_HELD', 'The schedule has run this file already. To run it again, fire the schedule with again: true')
  const underWay = await findUnderWay(tx, kept.scheduleId)
  // The firing itself is still in progress if its run has just stopped.
  if (!kept.isOpen && (!underWay || underWay.id === kept.id)) return kept.id
  const says = 'The schedule of this file is already running. Wait for it, or cancel its run'
  throw new Refusal('IMPORT_RUNNING', says, {firing: underWay?.id ?? kept.id, runId: underWay?.runId ?? null})
}
