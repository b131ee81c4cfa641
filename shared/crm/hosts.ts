import type {Config} from '../config.ts'

/**
 * `content`: the upload host of bulk writes; without it, the data centre has no bulk writes. `results`: the hosts from which results of bulk jobs are
 * downloaded.
 */
export type Hosts = {dc: string; accounts: string; apiDomain: string; content?: string | undefined; results?: string[] | undefined}

/**
 * The production data centres. Sources: zoho.com/accounts/protocol/oauth/multi-dc.html and zoho.com/crm/developer/docs/api/v8/multi-dc.html. AE
 * and the API host of UK are known only from the code of public clients.
 */
const ADDRESSES: Hosts[] = [
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

/** The upload hosts by data centre. Source: the vendor's SDK; the hosts of UK and AE are unknown. */
const UPLOADS: Record<string, string> = {
  us: 'https://content.zohoapis.com',
  eu: 'https://content.zohoapis.eu',
  in: 'https://content.zohoapis.in',
  au: 'https://content.zohoapis.com.au',
  jp: 'https://content.zohoapis.jp',
  cn: 'https://content.zohoapis.com.cn',
  ca: 'https://upload.zohocloud.ca',
  sa: 'https://files.zoho.sa',
}

/** The download host of results is known only for the US; the other data centres are assumed to follow its pattern. */
const TABLE = ADDRESSES.map((hosts): Hosts => {
  const results = [hosts.accounts.replace('//accounts.', '//download-accl.')]
  return {...hosts, content: UPLOADS[hosts.dc], results}
})

export type HostConfig = Pick<Config, 'CRM_STANDIN_URL' | 'CRM_HOSTS'>

/**
 * Returns the hosts to which tokens and secrets may be sent. An entry of CRM_HOSTS adds or replaces a data centre. If a stand-in is configured,
 * `local` is the stand-in and `local-eu` its second data centre.
 */
export const listHosts = ({CRM_STANDIN_URL, CRM_HOSTS}: HostConfig): Hosts[] => {
  const listed = [...TABLE.filter(({dc}) => !CRM_HOSTS.some(own => own.dc === dc)), ...CRM_HOSTS]
  if (!CRM_STANDIN_URL) return listed
  const url = trim(CRM_STANDIN_URL)
  return [...listed, hostsOf('local', url), hostsOf('local-eu', `${url}/dc/eu`)]
}

const hostsOf = (dc: string, url: string): Hosts => ({
  dc,
  accounts: url,
  apiDomain: url,
  content: `${url}/content`,
  results: [`${url}/download`],
})

export const findHosts = (config: HostConfig, dc: string): Hosts | undefined => listHosts(config).find(hosts => hosts.dc === dc)

/** Finds the data centre that a redirect names. Anyone can send a redirect with any `accounts-server`, so only listed hosts are accepted. */
export const findAccounts = (config: HostConfig, accountsServer: string): Hosts | undefined =>
  listHosts(config).find(({accounts}) => accounts === trim(accountsServer))

/** Returns whether a token's `api_domain` belongs to this data centre: its production host, or its host for sandbox or developer orgs. */
export const isApiDomain = ({apiDomain}: Hosts, given: string): boolean =>
  ['//www.', '//sandbox.', '//developer.'].some(start => apiDomain.replace('//www.', start) === trim(given))

export const trim = (url: string) => url.replace(/\/+$/, '')
