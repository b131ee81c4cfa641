export type Role = 'operator' | 'builder' | 'admin' | 'owner'
/**
 * What is changed: the org's things; its money; who can reach the org or its CRM; or what is the person's own. All but the first are closed to
 * every view by staff.
 */
export type Change = 'write' | 'money' | 'access' | 'person'
type Somebody = {role: Role | null; staffView: {write: boolean} | null} | null | undefined

const ranks: Role[] = ['operator', 'builder', 'admin', 'owner']

export const hasRank = (somebody: Somebody, role: Role): boolean => !!somebody?.role && ranks.indexOf(somebody.role) >= ranks.indexOf(role)

/** Whether somebody may change what asks for this role. */
export const mayChange = (somebody: Somebody, role: Role, change: Change): boolean => {
  const view = somebody?.staffView
  return hasRank(somebody, role) && (!view || (view.write && change === 'write'))
}

/** Why a view by staff that may write is not offered this; null for everybody else. A view for reading is told so on every page. */
export const whyClosed = (somebody: Somebody, role: Role, change: Change): string | null =>
  somebody?.staffView?.write && hasRank(somebody, role) && !mayChange(somebody, role, change)
    ? 'A staff view cannot do this. Ask a member of the organisation to do it.'
    : null
