/**
 * Returns the API credits of one COQL query with this `limit`. Creates, updates and tags have the prices below, and jobs those in `bulk/`. Any
 * other call costs one credit. Sources: zoho.com/crm/developer/docs/api/v8/api-limits.html; for tags, notes of API users.
 */
export const creditsOfQuery = (limit: number): number => (limit <= 200 ? 1 : limit <= 1_000 ? 2 : 3)

export const creditsOfWrite = (records: number): number => Math.ceil(records / 10)

export const creditsOfTags = (records: number): number => Math.ceil(records / 50)
