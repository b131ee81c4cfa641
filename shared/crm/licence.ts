import type {Licence} from '../../sql/allowances.ts'
import type {LicenceOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {silentOn} from './outcome.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

/** Credits of 24 hours by edition: a base, so many for each user licence, and a cap. Source: wire reference 10. */
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

/** The org's licence, by the one call that names no module. Null when it says nothing of an edition. */
export const readLicence = async (reach: Reach, {signal, onlyAsProbe = false}: LicenceOptions = {}): Promise<Licence | null> => {
  const outcome = await reach({operation: 'licence', method: 'GET', path: '/crm/v8/org', signal, exact: true, onlyAsProbe})
  const org = asObject(listOf(outcome, 'org')[0])
  if (!org) throw new CrmError(silentOn(answerOf(outcome)))
  return licenceIn(asObject(org.license_details))
}

/** A trial has the allowance of the edition it tries. Credits bought on top are not told: but for the free edition it is a floor. */
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
