import type {Config} from '../config.ts'

/** A data centre of the CRM: where its people sign in, and where its API answers. Host names do not derive from each other. */
export type Hosts = {dc: string; accounts: string; apiDomain: string}

const TABLE: Hosts[] = [
  {dc: 'us', accounts: 'https://accounts.zoho.com', apiDomain: 'https://www.zohoapis.com'},
  {dc: 'eu', accounts: 'https://accounts.zoho.eu', apiDomain: 'https://www.zohoapis.eu'},
  {dc: 'in', accounts: 'https://accounts.zoho.in', apiDomain: 'https://www.zohoapis.in'},
  {dc: 'au', accounts: 'https://accounts.zoho.com.au', apiDomain: 'https://www.zohoapis.com.au'},
  {dc: 'jp', accounts: 'https://accounts.zoho.jp', apiDomain: 'https://www.zohoapis.jp'},
  {dc: 'ca', accounts: 'https://accounts.zohocloud.ca', apiDomain: 'https://www.zohoapis.ca'},
  {dc: 'cn', accounts: 'https://accounts.zoho.com.cn', apiDomain: 'https://www.zohoapis.com.cn'},
  {dc: 'sa', accounts: 'https://accounts.zoho.sa', apiDomain: 'https://www.zohoapis.sa'},
  {dc: 'uk', accounts: 'https://accounts.zoho.uk', apiDomain: 'https://www.zohoapis.uk'},
]

type Place = Pick<Config, 'CRM_STANDIN_URL'>

/** `local` is the stand-in, and `local-eu` its second data centre: both exist only where one is configured. */
export const listHosts = ({CRM_STANDIN_URL}: Place): Hosts[] => {
  if (!CRM_STANDIN_URL) return TABLE
  const url = trim(CRM_STANDIN_URL)
  return [...TABLE, {dc: 'local', accounts: url, apiDomain: url}, {dc: 'local-eu', accounts: `${url}/dc/eu`, apiDomain: `${url}/dc/eu`}]
}

export const findHosts = (config: Place, dc: string): Hosts | undefined => listHosts(config).find(hosts => hosts.dc === dc)

/** The `accounts-server` of a redirect is whatever its sender wrote: only the table's own hosts are ever asked. */
export const findAccounts = (config: Place, accountsServer: string): Hosts | undefined =>
  listHosts(config).find(({accounts}) => accounts === trim(accountsServer))

/** A token's `api_domain`, when it is one of this data centre's: its live host, or the one of a sandbox or developer org. */
export const isApiDomain = ({apiDomain}: Hosts, given: string): boolean =>
  ['//www.', '//sandbox.', '//developer.'].some(start => apiDomain.replace('//www.', start) === trim(given))

const trim = (url: string) => url.replace(/\/+$/, '')
