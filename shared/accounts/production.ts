import type {Pool, Tx} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {findOrg, lockOrg, setProduction} from '../../sql/orgs.ts'
import {listReachable} from '../../sql/sessions.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import type {Crm} from '../crm/crm.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'
import {followCrmUser} from './follow.ts'
import {isAtLeast} from './roles.ts'

type SandboxOwner = Author & {person: string; session: string}
type LinkInput = {production: string | null; signal: AbortSignal}

/**
 * Links a sandbox org to the production org that pays for it. Null removes the link. The sandbox owner must be an admin of the production org.
 * If the owner's session cannot switch to the production org, or the owner's CRM user there is inactive, throws NOT_FOUND.
 */
export const linkToProduction = async (
  deps: {db: Pool; crm: Crm; log: Log},
  owner: SandboxOwner,
  {production, signal}: LinkInput,
): Promise<void> => {
  if (production !== null && !(await followCrmUser(deps, {org: production, person: owner.person, signal})).isActive) throw notReachable()
  await deps.db.transaction(async tx => {
    await lockOrg(tx, owner.org)
    const sandbox = await findOrg(tx, owner.org)
    if (!sandbox?.sandbox) throw new Refusal('NOT_A_SANDBOX', 'Only an org of a CRM sandbox can be connected to a production org')
    const {productionOrgId: before} = sandbox
    if (production !== null) await assertMayPay(tx, owner, production)
    if (production === before) return
    await setProduction(tx, {org: owner.org, production})
    await recordChanges(tx, owner, [{page: 'general', subject: 'org.production', before, after: production}])
  })
}

const assertMayPay = async (tx: Tx, {person, session}: SandboxOwner, org: string) => {
  const member = await findMember(tx, {org, person})
  const found = member && (await findOrg(tx, org))
  if (!found) throw notReachable()
  if (!isAtLeast(member.role, 'admin')) throw new Refusal('ROLE_REQUIRED', 'This also needs the admin role in the production org')
  if (found.sandbox) throw new Refusal('NOT_PRODUCTION', 'That org is itself a sandbox. Name a production org')
  if (found.closedAt !== null) throw new Refusal('ORG_CLOSED', 'The production org is closed', {}, 409)
  if (!(await listReachable(tx, {person, session})).some(({id}) => id === org)) throw notReachable()
}

const notReachable = () => new Refusal('NOT_FOUND', 'Your session reaches no such org. Accept an invitation of the production org first')
