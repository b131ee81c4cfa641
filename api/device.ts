import type {Device} from '../sql/sessions.ts'
import type {ApiRequest} from './route.ts'

const mostCharacters = 300

export const deviceOf = ({headers, address}: Pick<ApiRequest, 'headers' | 'address'>): Device => ({
  userAgent: headers['user-agent']?.slice(0, mostCharacters) ?? null,
  address,
})
