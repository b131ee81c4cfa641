import {findConnector} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {Refusal} from '../errors.ts'

/**
 * Refuses what would write through a paused connection before anything of it is begun. Batches of runs under way are held by the gate of
 * T1 itself, so that nothing leaves once the pause is committed. For the org's own connection; one that is gone is refused elsewhere.
 */
export const assertWritable = async (db: Db, {org, connector}: {org: string; connector: string}): Promise<void> => {
  const found = await findConnector(db, {org, id: connector})
  if (found?.writesPaused) throw writesPaused()
}

export const writesPaused = () =>
  new Refusal('WRITES_PAUSED', 'Writes on this connection are paused: nothing was written. An administrator lifts that in its settings', {
    written: false,
  })
