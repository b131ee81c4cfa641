import {type Answer, ok, refused} from './answers.ts'
import {sendDue} from './deliveries.ts'
import {apiVersion} from './events.ts'
import {expand} from './expand.ts'
import {type Spoiled, saveFault, spoilAfter, spoilBefore} from './fault-course.ts'
import {readForm} from './form.ts'
import {matches} from './glob.ts'
import {readParams} from './params.ts'
import {forbidden, invalid, Refusal, unauthorised} from './refusals.ts'
import type {Request} from './request.ts'
import {findRoute, type Route} from './routes.ts'
import {requestSchema} from './schemas/files.ts'
import {attempt, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {watch} from './watch.ts'

/** A call for its handler. `ids` are those in the path. */
export type Call = {world: SimulatorState; params: Record<string, any>; ids: string[]; path: string}

/** Handles one API call, from its fault to its deliveries; the answer may be cut. */
export const answerCall = async (world: SimulatorState, request: Request): Promise<Spoiled> => {
  const requestId = world.newId('req')
  const fault = world.faults.take(request.method, request.path)
  const key = request.method === 'POST' ? (headerOf(request, 'idempotency-key') ?? null) : null
  let spoiled: Spoiled
  let isReplay = false
  try {
    const {route, ids, params} = readCall(world, request)
    const before = key === null ? null : world.keys.begin(key, `${request.path}\n${request.body}`, world.clock.now())
    isReplay = before !== null
    const early = await spoilBefore(world, fault, requestId)
    if (early && key !== null && !isReplay) saveFault(world, fault, key, early.answer)
    const answer = early?.answer ?? before ?? perform(world, route, {world, params, ids, path: request.path}, {id: requestId, key})
    if (!early) await leave(world, key, answer, isReplay)
    spoiled = early ?? (await spoilAfter(world, fault, answer, requestId))
    if (!early && key !== null && !isReplay) saveFault(world, fault, key, spoiled.answer)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    spoiled = {answer: refused(error), end: 'answered'}
  }
  const headers = {'request-id': requestId, 'stripe-version': apiVersion, ...(key === null ? {} : {'idempotency-key': key})}
  const replayed = isReplay ? {'idempotent-replayed': 'true'} : {}
  const answer = {...spoiled.answer, headers: {...headers, ...replayed, ...spoiled.answer.headers}}
  const status = spoiled.end === 'dropped' ? null : answer.status
  const version = headerOf(request, 'stripe-version') ?? null
  const {method, path, body} = request
  world.journal.note({at: world.clock.now(), method, path, key, version, requestId, body, status, fault: fault?.id ?? null, isReplay})
  return {...spoiled, answer}
}

/** Validates the call before any lookup. */
const readCall = (world: SimulatorState, request: Request): {route: Route; ids: string[]; params: Record<string, any>} => {
  const given = /^(?:Bearer (\S+)|Basic (\S+))$/.exec(request.headers.authorization ?? '')
  if (!given) throw unauthorised('You did not provide an API key.')
  const secret = given[1] ?? Buffer.from(given[2]!, 'base64').toString().split(':')[0]
  if (secret !== world.secretKey) throw unauthorised('Invalid API Key provided: sk_test_****')
  const version = headerOf(request, 'stripe-version')
  if (version !== undefined && version !== apiVersion) throw invalid(`Invalid Stripe API version: ${version}`)
  if (world.settings.forbidden.some(glob => matches(glob, `${request.method} ${request.path}`))) throw forbidden()
  const found = findRoute(request.method, request.path)
  if (!found) throw urlUnknown(request)
  const raw = readForm(request.method === 'GET' || request.method === 'DELETE' ? request.query || request.body : request.body)
  return {...found, params: readParams(requestSchema(found.route.params), raw)}
}

const urlUnknown = ({method, path}: Request) =>
  new Refusal(404, {type: 'invalid_request_error', message: `Unrecognized request URL (${method}: ${path}).`})

/** Executes the call atomically; a refusal is an answer and is stored under the key, too. */
const perform = (world: SimulatorState, route: Route, call: Call, cause: {id: string; key: string | null}): Answer => {
  world.cause = cause
  try {
    return attempt(world, () => {
      const {params, unread} = watch(call.params)
      const answer = route.run({...call, params}) as Thing
      const [left] = unread()
      if (left !== undefined) throw new TypeError(`The stand-in does not carry the parameter ${left} of ${call.path}`)
      return ok(expand(world, answer, call.params.expand ?? []))
    })
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    if (cause.key !== null) world.keys.forget(cause.key)
    throw error
  } finally {
    world.cause = null
    world.store.commit()
  }
}

/** Sends the events of the call while it is open, and stores its answer under its key. */
const leave = async (world: SimulatorState, key: string | null, answer: Answer, isReplay: boolean) => {
  if (key !== null && !isReplay) world.keys.keep(key, answer)
  const slow = world.slowMs
  world.slowMs = 0
  await sendDue(world, {onlyDuring: true})
  if (slow > 0) await new Promise(resolve => setTimeout(resolve, slow))
}

const headerOf = ({headers}: Request, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
