import type {Pool} from '../../sql/database.ts'
import {isLockTimeout, keepSealed, listSealedElse, lockGrant} from '../../sql/grants.ts'
import type {Log} from '../log.ts'
import {isOutdated, type KeyRing, sealedUnder} from '../secrets.ts'
import {openAccess, openRefresh, sealAccess, sealRefresh} from './sealed.ts'

const perLook = 200
/** Longer than a renewal holds the grant. */
const waitSeconds = 12

type Tools = {db: Pool; ring: KeyRing; log: Log}

/**
 * Seals every grant and secret again under the first key of the ring, each in a short transaction of its own that waits for a renewal
 * under way and so loses none. What cannot be opened, or is held too long, remains as it is. Safe to run twice, and beside the service.
 */
export const resealGrants = async ({db, ring, log}: Tools): Promise<{resealed: number; remaining: number}> => {
  const start = sealedUnder(ring)
  let resealed = 0
  for (let after = ''; ; ) {
    const connectors = await listSealedElse(db, {start, after, limit: perLook})
    for (const connector of connectors) {
      try {
        if (await resealOne({db, ring}, connector)) resealed++
      } catch (error) {
        log.warn({connector, why: isLockTimeout(error) ? 'It is being renewed: run this again' : String(error)}, 'not sealed again')
      }
    }
    if (connectors.length < perLook) break
    after = connectors.at(-1)!
  }
  return {resealed, remaining: (await listSealedElse(db, {start, after: '', limit: 1_000_000})).length}
}

/** False where somebody was faster, or forgot it. */
const resealOne = ({db, ring}: Omit<Tools, 'log'>, connector: string): Promise<boolean> =>
  db.transaction(async tx => {
    const grant = await lockGrant(tx, {connector, waitSeconds})
    if (!grant) return false
    const {refreshSealed: refresh, accessSealed: access} = grant
    if (!isOutdated(ring, refresh) && !(access && isOutdated(ring, access))) return false
    await keepSealed(tx, {
      connector,
      refreshSealed: isOutdated(ring, refresh) ? sealRefresh(ring, connector, openRefresh(ring, connector, refresh)) : refresh,
      accessSealed: access && isOutdated(ring, access) ? sealAccess(ring, connector, openAccess(ring, connector, access)) : access,
    })
    return true
  }, 0)
