/**
 * Returns the API credits of one COQL query with this `limit`. Source of the prices of queries, creates and updates:
 * zoho.com/crm/developer/docs/api/v8/api-limits.html. A call without a price here or in `bulk/` costs one credit.
 */
export const creditsOfQuery = (limit: number): number => (limit <= 200 ? 1 : limit <= 1_000 ? 2 : 3)

export const creditsOfWrite = (records: number): number => Math.ceil(records / 10)

/** Source: notes of API users. */
export const creditsOfTags = (records: number): number => Math.ceil(records / 50)
