import type {Config} from '../config.ts'
import {DEVELOPMENT_CRM_SECRET} from '../security/key-safety.ts'
import {type HostConfig, listHosts} from './hosts.ts'

type Credentials = Pick<Config, 'CRM_CLIENT_ID' | 'CRM_CLIENT_SECRET' | 'CRM_CLIENTS'>
export type CrmOAuthClient = {id: string; secret: string}

/**
 * Finds the OAuth client for a data centre: its entry in CRM_CLIENTS, otherwise CRM_CLIENT_ID and CRM_CLIENT_SECRET. Null if only other data
 * centres have a client. A secret is valid in one data centre, unless its owner shares it (API console, tab Settings).
 */
export const findClient = ({CRM_CLIENT_ID, CRM_CLIENT_SECRET, CRM_CLIENTS}: Credentials, dc: string): CrmOAuthClient | null => {
  const own = CRM_CLIENTS[dc]
  if (own) return own
  if (dc.startsWith('local') || CRM_CLIENT_SECRET !== DEVELOPMENT_CRM_SECRET || Object.keys(CRM_CLIENTS).length === 0)
    return {id: CRM_CLIENT_ID, secret: CRM_CLIENT_SECRET}
  return null
}

/** Returns the data centre of a sign-in that names none: that of the stand-in if there is one, else the first with a client, beginning with `us`. */
export const chooseDataCentre = (config: Credentials & HostConfig): string =>
  config.CRM_STANDIN_URL ? 'local' : (['us', ...listHosts(config).map(({dc}) => dc)].find(dc => findClient(config, dc)) ?? 'us')
