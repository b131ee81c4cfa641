import {isAdminToken, mayScrape} from '../shared/accounts/admin-token.ts'
import type {Config} from '../shared/config.ts'
import {Refusal} from '../shared/errors.ts'
import type {BackofficeGates, Effect, StaffCaller} from './access.ts'
import {bearerOf, type NoteBearer, readInsider} from './caller.ts'
import type {ApiDeps} from './route.ts'

/** Paths whose existence is hidden from callers without backoffice access. */
const PREFIXES = /^\/(billing\/admin|entitlements\/admin|ai\/admin|staff)(\/|$)/

export const isBackoffice = (path: string): boolean => PREFIXES.test(path)

export const isOperator = (config: Pick<Config, 'ADMIN_TOKEN'>, authorization: string | undefined): boolean => {
  const bearer = bearerOf(authorization)
  return bearer !== null && isAdminToken(config, bearer)
}

/**
 * Checks the gates of a backoffice route. An unknown bearer token gets 401. A missing bearer token, or a known caller without access, gets
 * 403. A staff view of an org gives no access here.
 */
export const admitInsider = async (
  tools: Pick<ApiDeps, 'config' | 'hot' | 'log'>,
  {access: gates, effect}: {access: BackofficeGates; effect: Effect},
  authorization: string | undefined,
  note?: NoteBearer,
): Promise<StaffCaller> => {
  const bearer = bearerOf(authorization)
  if (bearer === null) throw adminRequired()
  if (isAdminToken(tools.config, bearer)) {
    if ('sessionOnly' in gates)
      throw new Refusal('SESSION_REQUIRED', 'This action is recorded under your name. Sign in as staff instead of using ADMIN_TOKEN')
    return operator
  }
  if ('scrape' in gates && mayScrape(tools.config, bearer)) return operator
  const {caller, banned} = await readInsider(tools, bearer, note)
  if (banned) throw new Refusal('BANNED', 'This account has been blocked. Contact support')
  if (!caller.staff || 'operator' in gates) throw adminRequired()
  if (effect !== 'read' && !caller.isRecent)
    throw new Refusal('RECENT_SIGN_IN_REQUIRED', 'You signed in more than 15 minutes ago. Sign in again, then send the request again')
  const {person: id, name, email, session} = caller
  return {via: 'staff', staff: {id, name, email}, session}
}

const operator = {via: 'operator', staff: null, session: null} as const

const adminRequired = () => new Refusal('ADMIN_REQUIRED', 'This requires a staff session or, for some routes, ADMIN_TOKEN')
