import {Refusal} from '../shared/errors.ts'
import {forgetStaffAction, recordStaffAction} from '../shared/people/staff-action.ts'
import type {Caller, Insider} from './access.ts'
import {effectOf, type Route, type Tools} from './route.ts'

type ViewWrite = {
  caller: Caller | Insider | null
  route: Route
  request: string
  /** The `x-request-id` that the caller sent. */
  callerRequest: string | undefined
  /** Path parameters: the ids of what the write is about. */
  params: Record<string, string>
}

/**
 * Records a write in a staff view before it is done, so that no write is missing whatever fails. A refusal changed nothing, so its record is
 * removed; an unexpected failure may have changed something, so its record stays.
 */
export const recordViewWrite = async <A>(
  {db}: Pick<Tools, 'db'>,
  {caller, route, request, callerRequest, params: {org: _, ...target}}: ViewWrite,
  act: () => Promise<A> | A,
): Promise<A> => {
  if (!caller || !('staffView' in caller) || !caller.staffView || effectOf(route) === 'read') return act()
  const {person: id, name, email, session, role} = caller
  const detail = {
    method: route.method.toUpperCase(),
    route: route.path,
    target,
    role,
    session,
    request,
    ...(callerRequest && {callerRequest}),
  }
  const action = await recordStaffAction(db, {id, name, email}, {kind: 'write', org: caller.org!, detail})
  try {
    return await act()
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) await forgetStaffAction(db, action)
    throw error
  }
}
