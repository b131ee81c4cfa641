type MatchField = {apiName: string; unique?: unknown}

/**
 * Returns the fields by which rows can find existing records, best first. These are fields that are unique in the settings or the CRM, then the
 * field by which the CRM finds duplicates.
 */
export const listMatchFields = <F extends MatchField>(
  {module, uniqueFields = []}: {module: string; uniqueFields?: readonly string[]},
  fields: readonly F[],
): F[] => {
  const usual = duplicateCheckFields[module] ?? 'Name'
  const rank = ({apiName, unique}: F) => (uniqueFields.includes(apiName) ? 0 : unique ? 1 : apiName === usual ? 2 : 3)
  return fields.filter(field => rank(field) < 3).toSorted((one, other) => rank(one) - rank(other))
}

/** The field that identifies a record of a standard module. Custom modules use Name. Source: the system fields of Zoho's upsert. */
const duplicateCheckFields: Record<string, string> = {
  Leads: 'Email',
  Contacts: 'Email',
  Accounts: 'Account_Name',
  Deals: 'Deal_Name',
  Campaigns: 'Campaign_Name',
  Cases: 'Subject',
  Solutions: 'Solution_Title',
  Products: 'Product_Name',
  Vendors: 'Vendor_Name',
  Price_Books: 'Price_Book_Name',
  Quotes: 'Subject',
  Sales_Orders: 'Subject',
  Purchase_Orders: 'Subject',
  Invoices: 'Subject',
}
