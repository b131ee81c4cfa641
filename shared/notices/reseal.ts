import type {Pool} from '../../sql/database.ts'
import {keepResealed, listSealedElse} from '../../sql/endpoints.ts'
import type {Log} from '../log.ts'
import {isOutdated, type KeyRing, sealedUnder} from '../secrets.ts'
import {openSecret, sealSecret} from './signature.ts'

const perLook = 200

/** Seals every webhook secret again under the first key. What cannot be opened remains as it is, and is counted. Safe to run twice. */
export const resealWebhooks = async ({
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
    for (const before of found) {
      const again = (sealed: string) =>
        isOutdated(ring, sealed) ? sealSecret(ring, before.id, openSecret(ring, before.id, sealed)) : sealed
      try {
        const now = {secret: again(before.secret), old: before.old && again(before.old)}
        if (await keepResealed(db, {id: before.id, before, after: now})) resealed++
      } catch (err) {
        log.warn({err, endpoint: before.id}, 'not sealed again')
      }
    }
    if (found.length < perLook) break
    after = found.at(-1)!.id
  }
  return {resealed, remaining: (await listSealedElse(db, {start, after: '', limit: 1_000_000})).length}
}
