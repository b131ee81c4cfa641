import type {CrmUser, ReadOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {silentOn} from './outcome.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

/** Whom the CRM takes the connection for: the creator of every record written through it. */
export const readCurrentUser = async (reach: Reach, {signal}: ReadOptions = {}) => {
  const outcome = await reach({operation: 'users', method: 'GET', path: '/crm/v8/users', query: {type: 'CurrentUser'}, signal})
  const {id, full_name} = asObject(listOf(outcome, 'users')[0]) ?? {}
  if (typeof id !== 'string') throw new CrmError(silentOn(answerOf(outcome)))
  return {id, name: String(full_name ?? '')}
}

/** A number, or one written as text by older versions; nobody is 204. */
export const countActiveUsers = async (reach: Reach, {signal}: ReadOptions = {}) => {
  const answer = answerOf(
    await reach({operation: 'users', method: 'GET', path: '/crm/v8/users/actions/count', query: {type: 'ActiveUsers'}, signal}),
  )
  if (answer.status === 204) return 0
  const {count} = asObject(answer.json) ?? {}
  if (!/^\d+$/.test(String(count))) throw new CrmError(silentOn(answer))
  return Number(count)
}

const usersPerPage = 200
const mostPages = 20

/** The active user of this account, or null: looked for page by page, since the CRM finds nobody by account. */
export const findUser = async (reach: Reach, zuid: string, options: ReadOptions = {}) => {
  for await (const user of readUsers(reach, options))
    if (String(user.zuid) === zuid) return {id: String(user.id), isAdministrator: asObject(user.profile)?.name === 'Administrator'}
  return null
}

/** The active users, at most 4,000. */
export const listUsers = async (reach: Reach, options: ReadOptions = {}) => {
  const users: CrmUser[] = []
  for await (const {id, email, full_name} of readUsers(reach, options))
    users.push({id: String(id), email: String(email ?? ''), name: String(full_name ?? '')})
  return users
}

async function* readUsers(reach: Reach, {signal}: ReadOptions) {
  for (let page = 1; page <= mostPages; page++) {
    const query = {type: 'ActiveUsers', page: String(page), per_page: String(usersPerPage)}
    const outcome = await reach({operation: 'users', method: 'GET', path: '/crm/v8/users', query, signal})
    if (answerOf(outcome).status === 204) return
    for (const user of listOf(outcome, 'users').map(asObject)) if (user) yield user
    if (asObject(asObject(answerOf(outcome).json)?.info)?.more_records !== true) return
  }
}
