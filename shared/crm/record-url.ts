import {findHosts, type HostConfig, trim} from './hosts.ts'

type RecordHome = {kind: string; dc: string; apiDomain: string}

/**
 * The names of standard modules in the addresses of the CRM's pages, by API name. The API does not provide the page names of custom modules.
 * Source: public code that links to records, because the vendor documents no such addresses.
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

/** The returned function returns the address of a record's page at the CRM, or null if the address is not known. */
export const openRecordUrls = (config: HostConfig, {kind, dc, apiDomain}: RecordHome) => {
  const hosts = kind === 'zoho' ? findHosts(config, dc) : undefined
  // The pages of sandbox and developer orgs are on other hosts, which are not known.
  const isProduction = hosts !== undefined && trim(apiDomain) === hosts.apiDomain
  return (module: string, recordId: string | null): string | null => {
    const page = pageNames[module]
    if (!isProduction || !page || !recordId) return null
    const query = new URLSearchParams({module: page, id: recordId})
    return `${hosts.accounts.replace('//accounts.', '//crm.')}/crm/EntityInfo.do?${query}`
  }
}
