import type {Db} from '../../../sql/database.ts'
import {type Code, Refusal} from '../../errors.ts'
import {readPlanStatus} from './plan-status.ts'
import {findPlanWith} from './refusal.ts'

/** The features that only some plans have, each with the refusal of an org without it. */
const FEATURES = {
  helper_libraries: {
    code: 'FEATURE_HELPER_LIBRARIES',
    says: 'This plan does not include publishing helper libraries. Change to a plan that does',
  },
  frequent_schedules: {
    code: 'FEATURE_FREQUENT_SCHEDULES',
    says: 'This plan allows a schedule to fire every five minutes at most. Choose a longer interval, or a plan that allows every minute',
  },
} as const satisfies Record<string, {code: Code; says: string}>
export type Feature = keyof typeof FEATURES

export const assertFeature = async (db: Db, org: string, feature: Feature): Promise<void> => {
  const planStatus = await readPlanStatus(db, org)
  if (planStatus.plan.features.includes(feature)) return
  const {code, says} = FEATURES[feature]
  throw new Refusal(code, says, {lift: await findPlanWith(db, planStatus, feature)})
}
