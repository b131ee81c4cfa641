import type {ReadOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {silentOn} from './outcome.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

/** Whom the CRM takes the connection for: the creator of every record written through it. */
export const readCurrentUser = async (reach: Reach, {signal}: ReadOptions = {}) => {
  const outcome = await reach({method: 'GET', path: '/crm/v8/users', query: {type: 'CurrentUser'}, signal})
  const {id, full_name} = asObject(listOf(outcome, 'users')[0]) ?? {}
  if (typeof id !== 'string') throw new CrmError(silentOn(answerOf(outcome)))
  return {id, name: String(full_name ?? '')}
}

/** A number, or one written as text by older versions; nobody is 204. */
export const countActiveUsers = async (reach: Reach, {signal}: ReadOptions = {}) => {
  const answer = answerOf(await reach({method: 'GET', path: '/crm/v8/users/actions/count', query: {type: 'ActiveUsers'}, signal}))
  if (answer.status === 204) return 0
  const {count} = asObject(answer.json) ?? {}
  if (!/^\d+$/.test(String(count))) throw new CrmError(silentOn(answer))
  return Number(count)
}
