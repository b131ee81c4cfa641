import {forgetStaffAction, recordStaffAction} from '../shared/accounts/staff-action.ts'
import {Refusal} from '../shared/errors.ts'
import type {Caller, StaffCaller} from './access.ts'
import {type ApiDeps, effectOf, type Route} from './route.ts'

type ViewWrite = {
  caller: Caller | StaffCaller | null
  route: Route
  request: string
  /** The caller's `x-request-id`. */
  callerRequest: string | undefined
  /** Path parameters of the route: the ids of the objects that the write changes. */
  params: Record<string, string>
}

/**
 * Records a write in a staff view before the handler runs, so that a crash cannot hide it. A refusal with a status below 500 changes nothing, so
 * its record is removed, unless the route declares `mayRefuseAfterChange`. Any other failure may have changed something, so its record stays.
 */
export const recordViewWrite = async <A>(
  {db}: Pick<ApiDeps, 'db'>,
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
    if (error instanceof Refusal && error.status < 500 && !route.mayRefuseAfterChange) await forgetStaffAction(db, action)
    throw error
  }
}
