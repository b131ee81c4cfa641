import type {Device} from '../sql/sessions.ts'
import type {Asked} from './route.ts'

const mostCharacters = 300

/** What a session keeps of the program that holds it: the list of sign-ins shows it to the person. */
export const deviceOf = ({headers, address}: Pick<Asked, 'headers' | 'address'>): Device => ({
  userAgent: headers['user-agent']?.slice(0, mostCharacters) ?? null,
  address,
})
