import {type CrmOrg, findCrmQuota} from '../../../sql/crm-quota.ts'
import type {Pool} from '../../../sql/database.ts'

/** The concurrent calls that the CRM allows, by edition. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
const slotsOf: Record<string, number> = {
  free: 5,
  standard: 10,
  crmplusstarter: 10,
  zohoonestandard: 10,
  professional: 15,
  enterprise: 20,
  zohooneenterprise: 20,
  ultimate: 25,
  crmplus: 25,
}
export const slotsOfEdition = (edition: string | null | undefined): number | undefined => slotsOf[edition?.toLowerCase() ?? '']

const editionEveryMs = 60_000

/** The returned function reads the stored edition at most once a minute, and returns `otherwise` for an unknown edition. */
export const openSlotCap = (db: Pool, org: CrmOrg, otherwise: number) => {
  let cap = otherwise
  let askedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - askedAt < editionEveryMs) return cap
    cap = slotsOfEdition((await findCrmQuota(db, org))?.edition) ?? otherwise
    askedAt = performance.now()
    return cap
  }
}
