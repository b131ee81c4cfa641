import {isLockTimeout, keepSealed, listSealedElse, lockGrant} from '../../sql/grants.ts'
import {type ResealTools, resealEach} from '../resealing.ts'
import {isOutdated} from '../secrets.ts'
import {openAccess, openRefresh, sealAccess, sealRefresh} from './sealed.ts'

/** Longer than a renewal holds the grant. */
const waitSeconds = 12

/** Every grant, each in a short transaction of its own that waits for a renewal under way and so loses none. */
export const resealGrants = resealEach({
  what: 'connector',
  list: listSealedElse,
  idOf: connector => connector,
  reseal: (tools, connector) => resealOne(tools, connector).catch(error => Promise.reject(told(error))),
})

const told = (error: unknown) => (isLockTimeout(error) ? new Error('It is being renewed: run this again', {cause: error}) : error)

/** False where somebody was faster, or forgot it. */
const resealOne = ({db, ring}: ResealTools, connector: string): Promise<boolean> =>
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
