import {insertConnector, reconnect, setWarnings} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {keepGrant} from '../../sql/grants.ts'
import {findMember} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {isBanned} from '../../sql/people.ts'
import type {Config} from '../config.ts'
import {recordChanges} from '../configuration/change.ts'
import {addedChange, connectedChange} from '../crm/connectors/change.ts'
import {apiAccessRemedy} from '../crm/error.ts'
import {sealAccess, sealRefresh} from '../crm/sealed.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {type CrmConsent, connectionScopes, type Identity} from './identity-provider.ts'
import {isAtLeast} from './roles.ts'
import type {Visit} from './visit.ts'

type ConsentedVisit = {visit: Pick<Visit, 'org' | 'person' | 'token' | 'connectionName'>; consent: CrmConsent; identity: Identity}

/**
 * Stores the connection that a consent grants, and returns its id. A second consent of the same CRM user updates the existing connection. The CRM org
 * may differ from the CRM org to which the Lading org belongs. The person's rights are checked again, because they may change during the minutes of a
 * consent. A lock on the org prevents two connections for parallel first consents.
 */
export const keepConnection = async (
  tx: Tx,
  config: Pick<Config, 'SECRETS_KEYS'>,
  {visit, consent, identity}: ConsentedVisit,
): Promise<string> => {
  const asker = {org: visit.org!, person: visit.person!}
  await assertMayConnect(tx, asker)
  const {crmOrg, crmUser} = identity
  if (identity.lacksApiAccess)
    throw new Refusal('SIGN_IN_REFUSED', `The profile of your CRM user has no API access. ${apiAccessRemedy}. Then connect again`)
  if (!crmOrg || !crmUser)
    throw new Refusal('SIGN_IN_REFUSED', 'This account has no CRM to connect. Start again with an account that has one')
  if (!consent.refreshToken)
    throw new Refusal('SIGN_IN_REFUSED', 'The CRM granted no permanent access. Remove this app in your CRM account and start again')
  const scopes = consent.scopes.length ? consent.scopes : connectionScopes
  const {dc} = identity
  const details = {
    org: asker.org,
    dc,
    crmOrgId: crmOrg.id,
    apiDomain: consent.apiDomain,
    crmUserId: crmUser.id,
    crmUserName: crmUser.name,
    scopes,
  }
  const name = visit.connectionName ?? crmOrg.name
  const known = await reconnect(tx, details)
  const {id} = known ?? (await insertConnector(tx, {...details, id: newId('con'), name, person: asker.person}))
  if (identity.warnings) await setWarnings(tx, {id, warnings: identity.warnings})
  const target = known?.name ?? name
  const change = known ? connectedChange(target) : addedChange(target)
  const {token} = visit
  await recordChanges(tx, {...asker, via: token === null ? 'session' : 'token', token}, [{...change, connectorId: id}])
  await keepGrant(tx, {
    connector: id,
    refreshSealed: sealRefresh(config.SECRETS_KEYS, id, consent.refreshToken),
    accessSealed: sealAccess(config.SECRETS_KEYS, id, consent.accessToken),
    accessSeconds: consent.seconds,
  })
  return id
}

const assertMayConnect = async (tx: Tx, {org, person}: {org: string; person: string}) => {
  const place = await lockOrg(tx, org)
  const member = await findMember(tx, {org, person})
  if (await isBanned(tx, person)) throw new Refusal('BANNED', 'This account has been blocked. Contact support')
  if (!member || !isAtLeast(member.role, 'admin'))
    throw new Refusal('ROLE_REQUIRED', 'Connecting needs the admin role, which you no longer have')
  if (!place || place.closed) throw new Refusal('ORG_CLOSED', 'This org was closed meanwhile')
}
