import {findConnector} from '../../../sql/connectors.ts'
import type {Db} from '../../../sql/database.ts'
import {Refusal} from '../../errors.ts'

/**
 * Throws Refusal if writes of the connection are paused. Runs need no such check, because the intent transaction (T1) blocks their batches after the
 * pause is committed. A missing connection is not refused here, but by other checks.
 */
export const assertWritable = async (db: Db, {org, connector}: {org: string; connector: string}): Promise<void> => {
  const found = await findConnector(db, {org, id: connector})
  if (found?.writesPaused) throw writesPaused()
}

export const writesPaused = () =>
  new Refusal(
    'WRITES_PAUSED',
    'Writes on this connection are paused, so nothing was written. An administrator can resume them in the connection settings',
    {
      written: false,
    },
  )
