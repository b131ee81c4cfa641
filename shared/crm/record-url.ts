import {findHosts, type HostConfig, isApiDomain} from './hosts.ts'

type RecordHome = {kind: string; dc: string; apiDomain: string}

/**
 * The names that the CRM's pages use for standard modules, where they differ from the API names. Pages of custom modules have names that the
 * API does not tell. Source: public code that links to records, because the vendor documents no such addresses.
 */
const pageNames: Record<string, string> = {
  ...Object.fromEntries(
    ['Leads', 'Contacts', 'Accounts', 'Campaigns', 'Cases', 'Solutions', 'Products', 'Vendors'].map(name => [name, name]),
  ),
  Quotes: 'Quotes',
  Invoices: 'Invoices',
  Deals: 'Potentials',
  Sales_Orders: 'SalesOrders',
  Purchase_Orders: 'PurchaseOrders',
  Price_Books: 'PriceBooks',
}

/** Returns a function that gives the address of a record's page at the CRM. It returns null if the address is not known. */
export const openRecordUrls = (config: HostConfig, {kind, dc, apiDomain}: RecordHome) => {
  const hosts = kind === 'zoho' ? findHosts(config, dc) : undefined
  // The pages of a sandbox are on another host.
  const isProduction = hosts !== undefined && isApiDomain(hosts, apiDomain) && !apiDomain.includes('//sandbox.')
  return (module: string, recordId: string | null): string | null => {
    const page = pageNames[module]
    if (!isProduction || !page || !recordId) return null
    const query = new URLSearchParams({module: page, id: recordId})
    return `${hosts.accounts.replace('//accounts.', '//crm.')}/crm/EntityInfo.do?${query}`
  }
}
