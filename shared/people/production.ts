import type {Pool, Tx} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {findOrg, lockOrg, setProduction} from '../../sql/orgs.ts'
import {Refusal} from '../errors.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {isAtLeast} from './roles.ts'

/**
 * Ties a sandbox to the org that pays for it, or unties it with null. Only to a production org the owner of the sandbox is an
 * admin of; any other is not told from none.
 */
export const tieToProduction = (db: Pool, owner: Author & {person: string}, production: string | null): Promise<void> =>
  db.transaction(async tx => {
    await lockOrg(tx, owner.org)
    const sandbox = await findOrg(tx, owner.org)
    if (!sandbox?.sandbox) throw new Refusal('NOT_A_SANDBOX', 'Only an org of a CRM sandbox is tied to a production org')
    const {productionOrgId: before} = sandbox
    if (production !== null) await assertMayPay(tx, {org: production, person: owner.person})
    if (production === before) return
    await setProduction(tx, {org: owner.org, production})
    await recordChanges(tx, owner, [{page: 'general', subject: 'org.production', before, after: production}])
  })

const assertMayPay = async (tx: Tx, {org, person}: {org: string; person: string}) => {
  const member = await findMember(tx, {org, person})
  const found = member && (await findOrg(tx, org))
  if (!found) throw new Refusal('NOT_FOUND', 'You are in no such org')
  if (!isAtLeast(member.role, 'admin')) throw new Refusal('ROLE_REQUIRED', 'This needs the admin role in the production org too')
  if (found.sandbox) throw new Refusal('NOT_PRODUCTION', 'That org is a sandbox itself: name a production org')
  if (found.closedAt !== null) throw new Refusal('ORG_CLOSED', 'The production org is closed', {}, 409)
}
