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

/** The user of an account, or null: read page by page, since the CRM does not search by account. Throws if there are too many to read. */
export const findUser = async (reach: Reach, zuid: string, options: ReadOptions = {}) => {
  for (const type of ['ActiveUsers', 'DeactiveUsers', 'DeletedUsers'] as const) {
    let seen = 0
    for await (const user of readUsers(reach, type, options)) {
      if (String(user.zuid) === zuid) return describeUser(user, type === 'ActiveUsers')
      seen++
    }
    if (seen >= mostPages * usersPerPage)
      throw new Error(`More than ${seen} users of type ${type}. The user may be one of those that were not read`)
  }
  return null
}

const describeUser = ({id, profile}: Record<string, unknown>, isActive: boolean) => ({
  ...{id: String(id), isActive, isAdministrator: asObject(profile)?.name === 'Administrator'},
})

/** The active users, at most 4,000. */
export const listUsers = async (reach: Reach, options: ReadOptions = {}) => {
  const users: CrmUser[] = []
  for await (const {id, email, full_name} of readUsers(reach, 'ActiveUsers', options))
    users.push({id: String(id), email: String(email ?? ''), name: String(full_name ?? '')})
  return users
}

async function* readUsers(reach: Reach, type: 'ActiveUsers' | 'DeactiveUsers' | 'DeletedUsers', {signal}: ReadOptions) {
  for (let page = 1; page <= mostPages; page++) {
    const query = {type, page: String(page), per_page: String(usersPerPage)}
    const outcome = await reach({operation: 'users', method: 'GET', path: '/crm/v8/users', query, signal})
    if (answerOf(outcome).status === 204) return
    for (const user of listOf(outcome, 'users').map(asObject)) if (user) yield user
    if (asObject(asObject(answerOf(outcome).json)?.info)?.more_records !== true) return
  }
}
