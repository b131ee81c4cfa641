/** All roles, lowest first. A route that needs a role accepts every higher one. */
export const ROLES = ['operator', 'builder', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

export const isAtLeast = (role: Role, needed: Role): boolean => rank(role) >= rank(needed)

export const lowerOf = (one: Role, other: Role): Role => (rank(one) < rank(other) ? one : other)

const rank = (role: Role) => ROLES.indexOf(role)
