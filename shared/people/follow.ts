import type {Pool} from '../../sql/database.ts'
import {findFollowed, setFollowedRole} from '../../sql/members.ts'
import type {Crm} from '../crm/crm.ts'
import type {Log} from '../log.ts'

type Tools = {db: Pool; crm: Crm; log: Log}
type Followed = {org: string; person: string; signal: AbortSignal}

const askForMs = 5000

/**
 * Takes over the role a member has in the CRM today, where the org follows its roles and is connected to it. A CRM that
 * does not say leaves the role as it is: nobody is kept out because the CRM is slow.
 */
export const followCrmRole = async ({db, crm, log}: Tools, {org, person, signal}: Followed): Promise<void> => {
  const followed = await findFollowed(db, {org, person})
  if (!followed) return
  try {
    const connection = await crm.open(followed.connector)
    const user = await connection.findUser(followed.zuid, {signal: AbortSignal.any([signal, AbortSignal.timeout(askForMs)])})
    if (user) await setFollowedRole(db, {org, person, role: user.isAdministrator ? 'admin' : 'operator'})
  } catch (error) {
    log.info({err: error, org}, 'the CRM did not say what a member is there')
  }
}
