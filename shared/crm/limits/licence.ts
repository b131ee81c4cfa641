import type {Licence} from '../../../sql/crm-quota.ts'
import type {LicenceOptions} from '../crm.ts'
import {asObject, CrmError} from '../error.ts'
import {unanswered204} from '../outcome.ts'
import {answerOf, listOf, type SendCrmRequest} from '../request.ts'

/**
 * API credits per 24 hours by edition: a base, an amount per user licence, and a cap. Source:
 * zoho.com/crm/developer/docs/api/v8/api-limits.html.
 */
const EDITIONS: Record<string, {base: number; perLicence: number; cap: number}> = {
  free: {base: 5_000, perLicence: 0, cap: 5_000},
  standard: {base: 50_000, perLicence: 250, cap: 100_000},
  crmplusstarter: {base: 50_000, perLicence: 250, cap: 100_000},
  zohoonestandard: {base: 50_000, perLicence: 250, cap: 100_000},
  professional: {base: 50_000, perLicence: 500, cap: 3_000_000},
  enterprise: {base: 50_000, perLicence: 1_000, cap: 5_000_000},
  zohooneenterprise: {base: 50_000, perLicence: 1_000, cap: 5_000_000},
  ultimate: {base: 50_000, perLicence: 2_000, cap: Number.POSITIVE_INFINITY},
  crmplus: {base: 50_000, perLicence: 2_000, cap: Number.POSITIVE_INFINITY},
}

/** Returns null if the answer has no edition. Throws a CrmError if the answer has no org. */
export const readLicence = async (
  sendCrmRequest: SendCrmRequest,
  {signal, onlyAsProbe = false}: LicenceOptions = {},
): Promise<Licence | null> => {
  const outcome = await sendCrmRequest({operation: 'licence', method: 'GET', path: '/crm/v8/org', signal, exact: true, onlyAsProbe})
  const org = asObject(listOf(outcome, 'org')[0])
  if (!org) throw new CrmError(unanswered204(answerOf(outcome)))
  return licenceIn(asObject(org.license_details))
}

/**
 * `allowance` is the daily quota, null for an unknown edition. A trial has the quota of the edition on trial. The quota is a lower bound, except for
 * the free edition, because the CRM does not report bought credits. Returns null if the details name no edition.
 */
export const licenceIn = (details: Record<string, unknown> | null): Licence | null => {
  const {paid, paid_type, trial_type} = details ?? {}
  const types = paid === true ? [paid_type, trial_type] : [trial_type, paid_type]
  const edition = types.find(type => typeof type === 'string' && type !== '') as string | undefined
  if (edition === undefined) return null
  const known = EDITIONS[edition.toLowerCase()]
  const licences = Number(details?.users_license_purchased)
  const allowance = known ? Math.min(known.cap, known.base + known.perLicence * (licences > 0 ? licences : 0)) : null
  return {edition, allowance, allowanceAtLeast: allowance !== null && edition.toLowerCase() !== 'free'}
}
