import type {CrmResponse} from './client.ts'
import type {CrmUser, ReadOptions} from './crm.ts'
import {asObject, CrmError, isTokenRefused} from './error.ts'
import {readProblem, unanswered204} from './outcome.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'
import {type CrmAccess, isApiAccessRefused, isCrmAdministrator, type ReadJson, readAccess} from './visibility.ts'

/** Reads the CRM user of the connection, who becomes the creator of every record written through it. */
export const readCurrentUser = async (sendCrmRequest: SendCrmRequest, {signal}: ReadOptions = {}) => {
  const outcome = await sendCrmRequest({operation: 'users', method: 'GET', path: '/crm/v8/users', query: {type: 'CurrentUser'}, signal})
  const {id, full_name} = asObject(listOf(outcome, 'users')[0]) ?? {}
  if (typeof id !== 'string') throw new CrmError(unanswered204(answerOf(outcome)))
  return {id, name: String(full_name ?? '')}
}

/** The CRM returns a number, or text in older versions; 204 means 0. */
export const countActiveUsers = async (sendCrmRequest: SendCrmRequest, {signal}: ReadOptions = {}) => {
  const answer = answerOf(
    await sendCrmRequest({operation: 'users', method: 'GET', path: '/crm/v8/users/actions/count', query: {type: 'ActiveUsers'}, signal}),
  )
  if (answer.status === 204) return 0
  const {count} = asObject(answer.json) ?? {}
  if (!/^\d+$/.test(String(count))) throw new CrmError(unanswered204(answer))
  return Number(count)
}

const usersPerPage = 200
/** The most pages of one type of users. The number only ends a list that the CRM never ends. */
const mostPages = 500

/**
 * Finds the active, deactivated or deleted user of the account `zuid`; null if there is none. Reads the users page by page, because the CRM
 * does not search by account.
 */
export const findUser = async (sendCrmRequest: SendCrmRequest, zuid: string, options: ReadOptions = {}) => {
  for (const type of ['ActiveUsers', 'DeactiveUsers', 'DeletedUsers'] as const) {
    for await (const user of readUsers(sendCrmRequest, type, options))
      if (String(user.zuid) === zuid) return describeUser(sendCrmRequest, user, {isActive: type === 'ActiveUsers', ...options})
  }
  return null
}

const describeUser = async (
  sendCrmRequest: SendCrmRequest,
  {id, profile}: Record<string, unknown>,
  {isActive, ...options}: ReadOptions & {isActive: boolean},
) => {
  const user = {id: String(id), profile: textOf(asObject(profile)?.id)}
  return {id: user.id, isActive, isAdministrator: isActive && (await isCrmAdministrator(readJsonFrom(sendCrmRequest, options), user))}
}

const textOf = (json: unknown) => (typeof json === 'string' ? json : null)

export const readOwnAccess = async (sendCrmRequest: SendCrmRequest, options: ReadOptions = {}): Promise<CrmAccess> => {
  const outcome = await sendCrmRequest({
    operation: 'users',
    method: 'GET',
    path: '/crm/v8/users',
    query: {type: 'CurrentUser'},
    signal: options.signal,
  })
  if ('json' in outcome && isApiAccessRefused(outcome)) return {isAdministrator: false, warnings: [{code: 'noApiAccess', modules: []}]}
  const {id, profile} = asObject(listOf(outcome, 'users')[0]) ?? {}
  if (typeof id !== 'string') throw new CrmError(unanswered204(answerOf(outcome)))
  return readAccess(readJsonFrom(sendCrmRequest, options), {id, profile: textOf(asObject(profile)?.id)})
}

/**
 * The returned function returns a refusal for a missing scope or permission as an answer. It throws CrmError after a rate limit, a refused token or
 * no answer.
 */
const readJsonFrom =
  (sendCrmRequest: SendCrmRequest, {signal}: ReadOptions): ReadJson =>
  async (path, query) => {
    const outcome = await sendCrmRequest({operation: 'users', method: 'GET', path, ...(query && {query}), signal})
    const problem = readProblem(outcome)
    if (problem && (problem.unanswered || problem.rateLimited || isTokenRefused(problem))) throw new CrmError(problem)
    return outcome as CrmResponse
  }

export const listUsers = async (sendCrmRequest: SendCrmRequest, options: ReadOptions = {}) => {
  const users: CrmUser[] = []
  for await (const {id, email, full_name} of readUsers(sendCrmRequest, 'ActiveUsers', options))
    users.push({id: String(id), email: String(email ?? ''), name: String(full_name ?? '')})
  return users
}

/** Yields all users of a type. Throws after `mostPages`, because a user who was not read must not count as absent. */
async function* readUsers(sendCrmRequest: SendCrmRequest, type: 'ActiveUsers' | 'DeactiveUsers' | 'DeletedUsers', {signal}: ReadOptions) {
  for (let page = 1; page <= mostPages; page++) {
    const query = {type, page: String(page), per_page: String(usersPerPage)}
    const outcome = await sendCrmRequest({operation: 'users', method: 'GET', path: '/crm/v8/users', query, signal})
    if (answerOf(outcome).status === 204) return
    for (const user of listOf(outcome, 'users').map(asObject)) if (user) yield user
    if (asObject(asObject(answerOf(outcome).json)?.info)?.more_records !== true) return
  }
  throw new Error(`The CRM has more than ${mostPages * usersPerPage} users of type ${type}, so not all were read`)
}
