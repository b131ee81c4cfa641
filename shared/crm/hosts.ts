import type {Config} from '../config.ts'

/** A data centre of the CRM: its sign-in host and its API host. One host name cannot be derived from the other. */
export type Hosts = {dc: string; accounts: string; apiDomain: string}

/**
 * The production data centres. Sources: zoho.com/accounts/protocol/oauth/multi-dc.html and zoho.com/crm/developer/docs/api/v8/multi-dc.html. AE and
 * the API host of UK are known only from the code of public clients.
 */
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
  {dc: 'ae', accounts: 'https://accounts.zoho.ae', apiDomain: 'https://www.zohoapis.ae'},
]

export type HostConfig = Pick<Config, 'CRM_STANDIN_URL' | 'CRM_HOSTS'>

/**
 * Returns the hosts to which tokens and secrets may be sent. An entry of CRM_HOSTS adds or replaces a data centre. If a stand-in is configured,
 * `local` is the stand-in and `local-eu` its second data centre.
 */
export const listHosts = ({CRM_STANDIN_URL, CRM_HOSTS}: HostConfig): Hosts[] => {
  const listed = [...TABLE.filter(({dc}) => !CRM_HOSTS.some(own => own.dc === dc)), ...CRM_HOSTS]
  if (!CRM_STANDIN_URL) return listed
  const url = trim(CRM_STANDIN_URL)
  return [...listed, {dc: 'local', accounts: url, apiDomain: url}, {dc: 'local-eu', accounts: `${url}/dc/eu`, apiDomain: `${url}/dc/eu`}]
}

export const findHosts = (config: HostConfig, dc: string): Hosts | undefined => listHosts(config).find(hosts => hosts.dc === dc)

/** Finds the data centre that a redirect names. Anyone can send a redirect with any `accounts-server`, so only listed hosts are accepted. */
export const findAccounts = (config: HostConfig, accountsServer: string): Hosts | undefined =>
  listHosts(config).find(({accounts}) => accounts === trim(accountsServer))

/** Returns whether a token's `api_domain` belongs to this data centre: its production host, or its host for sandbox or developer orgs. */
export const isApiDomain = ({apiDomain}: Hosts, given: string): boolean =>
  ['//www.', '//sandbox.', '//developer.'].some(start => apiDomain.replace('//www.', start) === trim(given))

export const trim = (url: string) => url.replace(/\/+$/, '')
