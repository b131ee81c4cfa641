import {Refusal} from '../shared/errors.ts'
import {forgetStaffAction, recordStaffAction} from '../shared/people/staff-action.ts'
import type {Caller, Insider} from './access.ts'
import {effectOf, type Route, type Tools} from './route.ts'

type Asked = {caller: Caller | Insider | null; route: Route; request: string}

/**
 * What a staff member writes in a view of an org stands in the record before it is done, so that none is missing whatever breaks.
 * A refusal changed nothing and takes its line back; a failure that nobody foresaw may have, and leaves it.
 */
export const recordViewWrite = async <A>(
  {db}: Pick<Tools, 'db'>,
  {caller, route, request}: Asked,
  act: () => Promise<A> | A,
): Promise<A> => {
  if (!caller || !('staffView' in caller) || !caller.staffView || effectOf(route) === 'read') return act()
  const {person: id, name, email, session} = caller
  const detail = {method: route.method.toUpperCase(), route: route.path, session, request}
  const action = await recordStaffAction(db, {id, name, email}, {kind: 'write', org: caller.org!, detail})
  try {
    return await act()
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) await forgetStaffAction(db, action)
    throw error
  }
}
