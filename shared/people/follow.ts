import type {Pool, Tx} from '../../sql/database.ts'
import {findFollowed, findMember} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import type {Crm} from '../crm/crm.ts'
import type {Log} from '../log.ts'
import {giveRole} from './membership.ts'
import type {Role} from './roles.ts'

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
    if (user) await db.transaction(tx => takeOver(tx, {org, person, role: user.isAdministrator ? 'admin' : 'operator'}))
  } catch (error) {
    log.info({err: error, org}, 'the CRM did not say what a member is there')
  }
}

/** The CRM took its time: whoever left or became an owner meanwhile is left alone. */
const takeOver = async (tx: Tx, {org, person, role}: {org: string; person: string; role: Role}) => {
  const place = await lockOrg(tx, org)
  const member = await findMember(tx, {org, person})
  if (place?.followsCrmRoles && member && member.role !== 'owner') await giveRole(tx, {org, person, role})
}
