import {t} from '../text/shell.ts'
export type Role = 'operator' | 'builder' | 'admin' | 'owner'
/** What a change concerns: data of the org, money, access to the org or its CRM, or the person's own data. */
export type Change = 'write' | 'money' | 'access' | 'person'
type Person = {role: Role | null; staffView: {write: boolean} | null} | null | undefined

const ranks: Role[] = ['operator', 'builder', 'admin', 'owner']

export const hasRank = (person: Person, role: Role): boolean => !!person?.role && ranks.indexOf(person.role) >= ranks.indexOf(role)

/**
 * Whether a person may make a change that requires the role. A staff view also needs write access, and may only make changes of kind `write`.
 */
export const mayChange = (person: Person, role: Role, change: Change): boolean => {
  const view = person?.staffView
  return hasRank(person, role) && (!view || (view.write && change === 'write'))
}

/** Returns why a staff view with write access may not make this change, or null. A read-only view has a notice on every page instead. */
export const whyClosed = (person: Person, role: Role, change: Change): string | null =>
  person?.staffView?.write && hasRank(person, role) && !mayChange(person, role, change) ? t.staffViewCannot : null
