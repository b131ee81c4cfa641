import type {Pool, Tx} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {findOrg, lockOrg, setProduction} from '../../sql/orgs.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {isAtLeast} from './roles.ts'

/**
 * Links a sandbox org to the production org that pays for it. Null removes the link. The sandbox owner must be an admin of the production org.
 * If the owner is no member of the production org, throws NOT_FOUND.
 */
export const linkToProduction = (db: Pool, owner: Author & {person: string}, production: string | null): Promise<void> =>
  db.transaction(async tx => {
    await lockOrg(tx, owner.org)
    const sandbox = await findOrg(tx, owner.org)
    if (!sandbox?.sandbox) throw new Refusal('NOT_A_SANDBOX', 'Only an org of a CRM sandbox can be connected to a production org')
    const {productionOrgId: before} = sandbox
    if (production !== null) await assertMayPay(tx, {org: production, person: owner.person})
    if (production === before) return
    await setProduction(tx, {org: owner.org, production})
    await recordChanges(tx, owner, [{page: 'general', subject: 'org.production', before, after: production}])
  })

const assertMayPay = async (tx: Tx, {org, person}: {org: string; person: string}) => {
  const member = await findMember(tx, {org, person})
  const found = member && (await findOrg(tx, org))
  if (!found) throw new Refusal('NOT_FOUND', 'You are not a member of such an org')
  if (!isAtLeast(member.role, 'admin')) throw new Refusal('ROLE_REQUIRED', 'This also needs the admin role in the production org')
  if (found.sandbox) throw new Refusal('NOT_PRODUCTION', 'That org is itself a sandbox. Name a production org')
  if (found.closedAt !== null) throw new Refusal('ORG_CLOSED', 'The production org is closed', {}, 409)
}
