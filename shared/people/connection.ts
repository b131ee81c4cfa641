import {insertConnector, reconnect} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {keepGrant} from '../../sql/grants.ts'
import {findMember} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {added, connected} from '../connectors/change.ts'
import {sealAccess, sealRefresh} from '../crm/sealed.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {recordChanges} from '../registry/change.ts'
import {type Consent, connectionScopes, type Identity} from './identity-provider.ts'
import {isAtLeast} from './roles.ts'
import type {Visit} from './visit.ts'

type Consented = {visit: Visit; consent: Consent; identity: Identity}

/**
 * The connection a consent stands for: the one this CRM user already gave the org, or a new one. Its CRM org may be another than the
 * org's own. The consent may have taken minutes, so the rights of the person are checked again. Consents to one org wait for each other:
 * parallel first consents of one CRM user make one connection.
 */
export const keepConnection = async (
  tx: Tx,
  config: Pick<Config, 'SECRETS_KEYS'>,
  {visit, consent, identity}: Consented,
): Promise<string> => {
  const asker = {org: visit.org!, person: visit.person!}
  await assertMayConnect(tx, asker)
  const {crmOrg, crmUser} = identity
  if (!crmOrg || !crmUser) throw new Refusal('SIGN_IN_REFUSED', 'This account has no CRM to connect. Start again with an account that has')
  if (!consent.refreshToken)
    throw new Refusal('SIGN_IN_REFUSED', 'The CRM gave no lasting access. Remove this app in your CRM account and start again')
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
  const target = known?.name ?? name
  const change = known ? connected(target) : added(target)
  await recordChanges(tx, {...asker, via: 'session'}, [{...change, connectorId: id}])
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
  if (!member || !isAtLeast(member.role, 'admin'))
    throw new Refusal('ROLE_REQUIRED', 'Connecting needs the admin role, which you no longer have')
  if (!place || place.closed) throw new Refusal('ORG_CLOSED', 'This org was closed meanwhile')
}
