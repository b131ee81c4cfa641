import type {Config} from '../shared/config.ts'
import {Refusal} from '../shared/errors.ts'
import {isAdminToken, mayScrape} from '../shared/people/admin-token.ts'
import type {BackofficeGates, Effect, Insider} from './access.ts'
import {bearerOf, type NoteBearer, readInsider} from './caller.ts'
import type {Tools} from './route.ts'

/** Nothing below these is told to whoever may not be there, not even that there is nothing. */
const PREFIXES = /^\/(billing\/admin|entitlements\/admin|ai\/admin|staff)(\/|$)/

export const isBackoffice = (path: string): boolean => PREFIXES.test(path)

export const isOperator = (config: Pick<Config, 'ADMIN_TOKEN'>, authorization: string | undefined): boolean => {
  const bearer = bearerOf(authorization)
  return bearer !== null && isAdminToken(config, bearer)
}

/**
 * The backoffice's gates: a bearer nobody knows is asked for another, one that is known or missing is told who may. A staff member's
 * view of an org is the org's and opens nothing here.
 */
export const admitInsider = async (
  tools: Pick<Tools, 'config' | 'hot' | 'log'>,
  {access: gates, effect}: {access: BackofficeGates; effect: Effect},
  authorization: string | undefined,
  note?: NoteBearer,
): Promise<Insider> => {
  const bearer = bearerOf(authorization)
  if (bearer === null) throw adminRequired()
  if (isAdminToken(tools.config, bearer)) {
    if ('sessionOnly' in gates) throw new Refusal('SESSION_REQUIRED', 'This names who does it: sign in as staff')
    return operator
  }
  if ('scrape' in gates && mayScrape(tools.config, bearer)) return operator
  const {caller, banned} = await readInsider(tools, bearer, note)
  if (banned) throw new Refusal('BANNED', 'This account has been blocked')
  if (!caller.staff || 'operator' in gates) throw adminRequired()
  if (effect !== 'read' && !caller.isRecent)
    throw new Refusal('RECENT_SIGN_IN_REQUIRED', 'You signed in more than 15 minutes ago. Sign in again, then send the request again')
  const {person: id, name, email, session} = caller
  return {via: 'staff', staff: {id, name, email}, session}
}

const operator = {via: 'operator', staff: null, session: null} as const

const adminRequired = () => new Refusal('ADMIN_REQUIRED', 'This is for staff, and some of it for the operator with ADMIN_TOKEN alone')
