export type Role = 'operator' | 'builder' | 'admin' | 'owner'
/** What is changed: the org's things; its money; or what is the person's own. The last two are closed to every view by staff. */
export type Change = 'write' | 'money' | 'person'
type Somebody = {role: Role | null; staffView: {write: boolean} | null} | null | undefined

const ranks: Role[] = ['operator', 'builder', 'admin', 'owner']

export const hasRank = (somebody: Somebody, role: Role): boolean => !!somebody?.role && ranks.indexOf(somebody.role) >= ranks.indexOf(role)

/** Whether somebody may change what asks for this role. */
export const mayChange = (somebody: Somebody, role: Role, change: Change): boolean => {
  const view = somebody?.staffView
  return hasRank(somebody, role) && (!view || (view.write && change === 'write'))
}
