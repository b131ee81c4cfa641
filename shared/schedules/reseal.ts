import type {Pool} from '../../sql/database.ts'
import {keepResealed, listSealedElse} from '../../sql/schedules.ts'
import type {Log} from '../log.ts'
import {type KeyRing, open, seal, sealedUnder} from '../secrets.ts'

const perLook = 200

/** Seals the credentials of every schedule's source again under the first key. What cannot be opened remains, and is counted. Safe to run twice. */
export const resealSchedules = async ({
  db,
  ring,
  log,
}: {
  db: Pool
  ring: KeyRing
  log: Log
}): Promise<{resealed: number; remaining: number}> => {
  const start = sealedUnder(ring)
  let resealed = 0
  for (let after = ''; ; ) {
    const found = await listSealedElse(db, {start, after, limit: perLook})
    for (const {id, credentials} of found) {
      try {
        if (await keepResealed(db, {id, before: credentials, after: seal(ring, open(ring, credentials, id), id)})) resealed++
      } catch (err) {
        log.warn({err, schedule: id}, 'not sealed again')
      }
    }
    if (found.length < perLook) break
    after = found.at(-1)!.id
  }
  return {resealed, remaining: (await listSealedElse(db, {start, after: '', limit: 1_000_000})).length}
}
