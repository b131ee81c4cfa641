import {listConnectors} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {runDiscovery} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {keepConnection} from './connection.ts'
import {type CrmConsent, type Identity, listMissingScopes} from './identity-provider.ts'
import type {SignedIn} from './membership.ts'
import {isAtLeast} from './roles.ts'

type FirstConnectionInput = {signedIn: SignedIn; consent: CrmConsent; identity: Identity}

/**
 * Stores the org's first connection from the consent of a sign-in, and enqueues its discovery. Returns false if the person may not connect the
 * org or the consent does not suffice. Returns false too if the org is closed or has a connection, even a disconnected one. The caller's
 * transaction has locked the org.
 */
export const keepFirstConnection = async (
  tx: Tx,
  {config, queue}: {config: Pick<Config, 'SECRETS_KEYS'>; queue: Queue},
  {signedIn, consent, identity}: FirstConnectionInput,
): Promise<boolean> => {
  const {org, person, role, isGuest} = signedIn
  if (isGuest || org === null || role === null || !isAtLeast(role, 'admin')) return false
  if (!consent.refreshToken || !identity.crmUser || identity.lacksApiAccess || listMissingScopes(consent).length > 0) return false
  if ((await lockOrg(tx, org))?.closed || (await listConnectors(tx, org)).length > 0) return false
  const connector = await keepConnection(tx, config, {visit: {org, person, token: null, connectionName: null}, consent, identity})
  await enqueue(queue, runDiscovery, {org, connector}, {tx})
  return true
}
