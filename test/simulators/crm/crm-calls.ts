import {setTimeout as wait} from 'node:timers/promises'
import {type Answer, CallRefused, refusal, refuse} from './answers.ts'
import {runDueReads} from './bulk-read.ts'
import {runDueWrites} from './bulk-write.ts'
import type {Call} from './call.ts'
import {linger} from './fault-course.ts'
import {actionOf, type Fault} from './faults.ts'
import {refuseByProfile} from './profiles.ts'
import {runDueRestores} from './recycle-bin.ts'
import {bearerOf, type Request} from './request.ts'
import {bulkRoot, findRoute, isOnHost, isRecordRoute, type Route, resultRoot} from './routes.ts'
import {hasModuleScope, hasScope} from './scopes.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {AccessToken} from './tokens.ts'
import {refusalOf} from './write-calls.ts'

/** Splits a path into its parts. For paths of the bulk API and of a bulk write's result, the first part is `bulkRoot` or `resultRoot`. */
export const segmentsOf = (path: string): string[] => {
  const [, zgid, job] = resultPath.exec(path) ?? []
  if (job !== undefined) return [resultRoot, zgid!, job]
  const isBulk = path.startsWith(`${bulkRoot}/`)
  const rest = path.slice((isBulk ? bulkRoot : recordRoot).length + 1).replace(/\/$/, '')
  return [...(isBulk ? [bulkRoot] : []), ...rest.split('/').map(decode)]
}

const recordRoot = '/crm/v8'
const resultPath = /^\/v[28]\/crm\/(?:org)?(\d+)\/bulk-write\/(\d+)\/\2\.zip$/

export const isResultPath = (path: string) => resultPath.test(path)

const isMultipart = ({headers}: Request) => headers['content-type']?.startsWith('multipart/') ?? false

/** Answers a call. Checks the token, route, scope, profile, concurrency and credits before it executes the call. */
export const answerCall = async (world: SimulatorState, request: Request, fault: Fault | null): Promise<Answer> => {
  const token = authenticate(world, request)
  if ('status' in token) return token
  const answer = await answerKnown(world, request, token, fault)
  const left = token.org.credits.header()
  if (left === null || !world.switches.credits) return answer
  return {...answer, headers: {'x-api-credits-remaining': String(left), ...answer.headers}}
}

export const findToken = (world: SimulatorState, request: Request): AccessToken | null =>
  world.tokens.findAccess(bearerOf(request.headers) ?? '')

const authenticate = (world: SimulatorState, request: Request): AccessToken | Answer => {
  const bearer = bearerOf(request.headers)
  if (!bearer?.startsWith('1000.')) return refuse(401, 'AUTHENTICATION_FAILURE')
  const token = world.tokens.findAccess(bearer)
  return token && token.dc === request.dc ? token : refuse(401, 'INVALID_TOKEN')
}

const answerKnown = async (world: SimulatorState, request: Request, token: AccessToken, fault: Fault | null): Promise<Answer> => {
  if (![recordRoot, bulkRoot].some(root => request.path.startsWith(`${root}/`)) && !isResultPath(request.path))
    return refuse(404, 'INVALID_URL_PATTERN')
  const segments = segmentsOf(request.path)
  const route = findRoute(request.method, segments)
  if (route === 'no path') return refuse(404, 'INVALID_URL_PATTERN')
  if (route === 'no method') return refuse(400, 'INVALID_REQUEST_METHOD')
  if (!isOnHost(route, request.host)) return refuse(404, 'INVALID_URL_PATTERN')
  if (!isAllowed(route, token, segments)) return refuse(401, 'OAUTH_SCOPE_MISMATCH')
  const module = route.path[0] === '{module}' ? segments[0]! : null
  const refused = refuseByProfile(token.org, token.user, {module, verb: route.verb})
  if (refused) return refused
  const call = createCall(world, request, token, segments, fault)
  const pass = token.org.gate.enter(token.clientId, route.isHeavy?.(call) ?? false, world.switches.concurrency)
  if (!pass) return {status: 429, body: refusal('TOO_MANY_REQUESTS', {}, 'Too many concurrent requests')}
  try {
    const cost = route.cost?.(call) ?? 1
    const costs = world.switches.credits
    if (costs && !token.org.credits.spend(cost)) {
      return {status: 429, body: refusal('TOO_MANY_REQUESTS'), headers: {'x-api-credits-remaining': '0'}}
    }
    const answer = await answerInFlight(world, route, call, fault)
    const isRefused = answer.status >= 400 && answer.status < 500
    if (costs && isRefused && !world.switches.refusedCallsCost) token.org.credits.spend(-cost)
    return answer
  } finally {
    pass.leave(isRecordRoute(route))
  }
}

const answerInFlight = async (world: SimulatorState, route: Route, call: Call, fault: Fault | null): Promise<Answer> => {
  const {latencyMs} = world.switches
  if (latencyMs > 0) await wait(latencyMs)
  if (fault) await linger(world, fault, 'before')
  runDueRestores(call.org)
  runDueReads(call.org)
  runDueWrites(world, call.org)
  const answer = run(route, call)
  if (fault) await linger(world, fault, 'after')
  return {...answer, committed: call.committed}
}

const run = (route: Route, call: Call): Answer => {
  try {
    return route.run(call)
  } catch (error) {
    if (error instanceof CallRefused) return error.answer
    throw error
  }
}

const createCall = (world: SimulatorState, request: Request, token: AccessToken, segments: string[], fault: Fault | null): Call => ({
  world,
  method: request.method,
  path: request.path,
  segments,
  query: request.query,
  headers: request.headers,
  body: isMultipart(request) ? '' : request.body.toString(),
  bytes: request.body,
  org: token.org,
  user: token.user,
  clientId: token.clientId,
  refusals: readRefusals(fault),
  fault,
  skewMs: (actionOf(fault, 'clockSkew')?.seconds ?? 0) * 1000,
  committed: false,
})

const readRefusals = (fault: Fault | null): Call['refusals'] => {
  const refuse = actionOf(fault, 'refuse')
  if (!refuse) return null
  return new Map(
    [refuse.index ?? 0].flat().map(index => [index, refusalOf(refuse.code ?? 'RECORD_LOCKED', index, refuse.details, refuse.message)]),
  )
}

const isAllowed = (route: Route, token: AccessToken, segments: string[]): boolean => {
  if (route.also !== undefined && !hasScope(token, route.also, route.verb)) return false
  if (route.path[0] === 'coql' || route.path[0] === bulkRoot)
    return hasScope(token, route.area, route.verb) && token.scopes.some(scope => scope.startsWith('ZohoCRM.modules.'))
  if (!route.area.includes('{module}')) return hasScope(token, route.area, route.verb)
  const module = token.org.modules.get(segments[0]!)
  return hasModuleScope(token, segments[0]!, module?.spec.kind === 'custom', route.verb)
}

const decode = (segment: string) => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
