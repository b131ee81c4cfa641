import {type AllowInput, allow} from './accounts.ts'
import type {Answer} from './answers.ts'
import {type Client, takesRedirect} from './clients.ts'
import {consentPage, errorPage} from './consent-page.ts'
import type {Org, User} from './org.ts'
import type {Request} from './request.ts'
import {isScope, splitScopes} from './scopes.ts'
import type {SimulatorState} from './simulator-state.ts'

/** Shows the consent page, or redirects at once if the query has `sim_decision`. */
export const answerAuthorise = (world: SimulatorState, request: Request): Answer => {
  const {query} = request
  const client = world.clients.get(query.get('client_id') ?? '')
  const problem = findProblem(client, query)
  if (!client || problem) return page(400, errorPage(problem ?? 'Invalid Client Id'))
  const decision = query.get('sim_decision')
  if (decision === null) return page(200, consentPage({...pageData(world, query), client, path: authPath(world, request)}))
  if (decision !== 'allow') return redirect(query, {error: 'access_denied'})
  const who = findPerson(world, query.get('sim_user') ?? '', query.get('sim_org'))
  if (!who) return page(400, errorPage('No such user'))
  const code = allow(world, {client, ...who, ...readAsked(query)})
  const answer = redirect(query, {code: code.code, location: who.org.dc, 'accounts-server': world.hostOf(who.org.dc)})
  return {...answer, committed: true}
}

export const findPerson = (world: SimulatorState, email: string, orgKey: string | null): {org: Org; user: User} | null => {
  for (const org of world.orgs.values()) {
    if (orgKey && org.key !== orgKey) continue
    const user = org.users.find(one => one.email.toLowerCase() === email.toLowerCase() && one.status === 'active')
    if (user) return {org, user}
  }
  return null
}

const findProblem = (client: Client | undefined, query: URLSearchParams): string | null => {
  if (!client) return 'Invalid Client Id'
  if (query.get('response_type') !== 'code') return 'Invalid Response Type'
  if (!takesRedirect(client, query.get('redirect_uri') ?? '')) return 'Invalid Redirect Uri'
  const scopes = splitScopes(query.get('scope') ?? '')
  if (scopes.length === 0 || !scopes.every(isScope)) return 'Invalid Scope'
  const method = query.get('code_challenge_method')
  return method && !['S256', 'plain'].includes(method) ? 'Invalid Code Challenge Method' : null
}

const readAsked = (query: URLSearchParams): Omit<AllowInput, 'client' | 'org' | 'user'> => {
  const challenge = query.get('code_challenge')
  return {
    scopes: splitScopes(query.get('scope') ?? ''),
    redirectUri: query.get('redirect_uri') ?? '',
    offline: query.get('access_type') === 'offline',
    forced: query.get('prompt') === 'consent',
    challenge: challenge ? {value: challenge, method: query.get('code_challenge_method') ?? 'plain'} : null,
  }
}

const redirect = (query: URLSearchParams, added: Record<string, string>): Answer => {
  const to = new URL(query.get('redirect_uri') ?? '')
  const state = query.get('state')
  if (state !== null) to.searchParams.set('state', state)
  for (const [name, value] of Object.entries(added)) to.searchParams.set(name, value)
  return {status: 302, text: '', headers: {location: to.href}}
}

const pageData = (world: SimulatorState, query: URLSearchParams) => ({
  hidden: [...query].filter(([name]) => !name.startsWith('sim_')),
  scopes: splitScopes(query.get('scope') ?? ''),
  chosen: query.get('sim_user') ?? query.get('login_hint') ?? '',
  orgs: [...world.orgs.values()].map(org => ({
    name: org.spec.companyName,
    users: org.users
      .filter(user => user.status === 'active')
      .map(user => ({email: user.email, label: `${user.fullName} · ${user.profile.name}`})),
  })),
})

const authPath = (world: SimulatorState, request: Request) => (request.dc === world.defaultDc ? '' : `/dc/${request.dc}`) + request.path
const page = (status: number, text: string): Answer => ({status, text, type: 'text/html;charset=UTF-8'})
