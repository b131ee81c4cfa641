import {isLockTimeout, keepSealed, listSealedElse, lockGrant} from '../../sql/grants.ts'
import {type ResealDeps, resealEach} from '../security/reseal.ts'
import {isOutdated} from '../security/secrets.ts'
import {openAccess, openRefresh, sealAccess, sealRefresh} from './sealed.ts'

/** The maximum wait for a grant's lock. A renewal has the lock for a shorter time. */
const waitSeconds = 12

/**
 * Reseals every grant that an older key sealed, each in a short transaction. The transaction waits for a renewal, so that no new token is lost.
 */
export const resealGrants = resealEach({
  what: 'connector',
  list: listSealedElse,
  idOf: connector => connector,
  reseal: (tools, connector) => resealOne(tools, connector).catch(error => Promise.reject(logged(error))),
})

const logged = (error: unknown) =>
  isLockTimeout(error) ? new Error('The grant is being renewed. Run the command again', {cause: error}) : error

/** Returns false if another process resealed the grant first, or if the grant is gone. */
const resealOne = ({db, ring}: ResealDeps, connector: string): Promise<boolean> =>
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
