import {t} from '../text/shell.ts'
export type Role = 'operator' | 'builder' | 'admin' | 'owner'
/**
 * The kind of a change: data of the org, money, access to the org or its CRM, or the person's own data. Staff views can only change data.
 */
export type Change = 'write' | 'money' | 'access' | 'person'
type Somebody = {role: Role | null; staffView: {write: boolean} | null} | null | undefined

const ranks: Role[] = ['operator', 'builder', 'admin', 'owner']

export const hasRank = (somebody: Somebody, role: Role): boolean => !!somebody?.role && ranks.indexOf(somebody.role) >= ranks.indexOf(role)

/** Whether a person may make a change that requires the role. */
export const mayChange = (somebody: Somebody, role: Role, change: Change): boolean => {
  const view = somebody?.staffView
  return hasRank(somebody, role) && (!view || (view.write && change === 'write'))
}

/** Returns why a staff view with write access may not make this change, or null. A read-only view has a notice on every page instead. */
export const whyClosed = (somebody: Somebody, role: Role, change: Change): string | null =>
  somebody?.staffView?.write && hasRank(somebody, role) && !mayChange(somebody, role, change) ? t.staffViewCannot : null
