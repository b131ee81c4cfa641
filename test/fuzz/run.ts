import fc from 'fast-check'
import {listen} from '../../api/listen.ts'
import type {Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {type ModelSimulator, modelEnvironment, startModel} from '../simulators/model.ts'
import {openDeployment} from '../support/deployment.ts'
import {curlOf} from './curl.ts'
import {type Judge, openJudge} from './judge.ts'
import {openPlaces, type RequestPlaces} from './places.ts'
import {type DrawnRequest, requestsOf} from './requests.ts'
import {openWire, type Received, type Wire} from './wire.ts'

export type Failure = {route: string; problem: string; seed: number; curl: string}
export type Fuzzed = {
  requests: number
  seed: number
  seconds: number
  byStatus: Record<string, number>
  /** How many of all `routes` answered at least once with a success. */
  reached: number
  routes: number
  unreached: string[]
  slowest: {route: string; ms: number; curl: string}[]
  failures: Failure[]
}

type Options = {requests: number; seed: number; lanes?: number; seconds?: number; only?: string}

/**
 * Sends random requests to a separate deployment until the requests or seconds are used up. A seed always gives the same requests, except for
 * ids.
 */
export const fuzz = async (options: Options): Promise<Fuzzed> => {
  const begun: (() => Promise<unknown>)[] = []
  const model = await startModel()
  begun.push(model.stop)
  try {
    return await fuzzBeside(model, options, end => begun.push(end))
  } finally {
    for (const end of begun.toReversed()) await end()
  }
}

const workers = ['imports', 'discovery', 'writes', 'checks', 'credits', 'entitlements', 'erasure']
const unlimited = {RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}

const fuzzBeside = async (model: ModelSimulator, options: Options, begun: (end: () => Promise<unknown>) => void): Promise<Fuzzed> => {
  const house = await openDeployment('fuzz', {workers, environment: {...unlimited, ...modelEnvironment(model)}}, begun)
  const places = await openPlaces(house)
  const judge = openJudge()
  const api = await listen(house.tools, {observer: judge.look})
  begun(api.drain)
  const wire = openWire(api.url)
  begun(async () => wire.close())
  const before = await places.untouched()
  const hunt = openHunt({wire, judge, tally: openTally(), seed: options.seed, until: Date.now() + (options.seconds ?? 3600) * 1000})
  await askAll(hunt, places.of, options)
  const result = hunt.tally.result(options.seed)
  return {...result, failures: [...result.failures, ...touched(before, await places.untouched()), ...(await deaf(api.url))]}
}

const touched = (before: Record<string, string>, after: Record<string, string>): Failure[] =>
  Object.keys(before)
    .filter(table => before[table] !== after[table])
    .map(table => ({route: table, problem: `Another org's rows changed: ${before[table]} became ${after[table]}`, seed: 0, curl: ''}))

const deaf = async (url: string): Promise<Failure[]> => {
  const {status} = await fetch(`${url}/health`)
  return status === 200 ? [] : [{route: '/health', problem: `It answers ${status} in the end`, seed: 0, curl: ''}]
}

/** Requests to a route in one round, approximately. A round goes through all routes, so that later requests meet data of other routes. */

const perRound = 8

const askAll = async (hunt: Hunt, placeOf: (route: Route, at: number) => RequestPlaces, {requests, lanes = 4, only}: Options) => {
  const table = only ? routes.filter(({method, path}) => `${method} ${path}`.includes(only)) : routes
  const rounds = Math.max(1, Math.round(requests / table.length / perRound))
  const runs = Math.max(1, Math.round(requests / table.length / rounds))
  const turns = Array.from({length: rounds}, (_, round) => table.map((route, at) => ({route, at, round}))).flat()
  const next = turns.values()
  const lane = async () => {
    for (const {route, at, round} of next)
      await hunt.ask(route, placeOf(route, at + round), {runs, seed: hunt.seed * 1_000_003 + round * 1009 + at})
  }
  await Promise.all(Array.from({length: lanes}, lane))
}

type Hunt = ReturnType<typeof openHunt>
type Means = {wire: Wire; judge: Judge; tally: Tally; seed: number; until: number}

const openHunt = ({wire, judge, tally, seed, until}: Means) => {
  /** Problems that were reported. Each problem of a route is reported once, with the smallest request found that causes it. */
  const known = new Set<string>()
  const test = async (route: Route, place: RequestPlaces, drawn: DrawnRequest) => {
    const received = await wire.send(drawn, place.bearers).catch((error: Error) => error)
    if (received instanceof Error) return isOfTheWire(received) ? [] : [received.message]
    if (received === null) return []
    tally.add(route, drawn, received)
    return judge.problems(drawn, received)
  }
  const ask = async (route: Route, place: RequestPlaces, {runs, seed}: {runs: number; seed: number}) => {
    if (Date.now() > until) return
    const nameOf = (problem: string) => `${route.method} ${route.path} ${problem.replaceAll(/[0-9a-z_-]{20,}|\d+/g, '·').slice(0, 120)}`
    let told = ''
    const property = fc.asyncProperty(requestsOf(route, place), async drawn => {
      const problem = (await test(route, place, drawn)).find(one => !known.has(nameOf(one)))
      if (problem === undefined) return true
      told = problem
      return false
    })
    const checked = await fc.check(property, {
      numRuns: runs,
      seed,
      interruptAfterTimeLimit: Math.max(1, until - Date.now()),
      endOnFailure: false,
    })
    if (!checked.failed || !checked.counterexample) return
    known.add(nameOf(told))
    tally.fail({route: `${route.method} ${route.path}`, problem: told, seed, curl: curlOf(checked.counterexample[0])})
  }
  return {ask, tally, seed}
}

/**
 * Whether an error is no failure of the API. The API may end a connection after it refused an unread body. Node refuses to send some requests.
 * The API may see no valid HTTP in a HEAD request.
 */
const isOfTheWire = (error: Error) => 'code' in error && OF_THE_WIRE.includes(String(error.code))
const OF_THE_WIRE = ['ECONNRESET', 'EPIPE', 'ERR_INVALID_CHAR', 'HPE_INVALID_CONSTANT', 'HPE_CLOSED_CONNECTION']

type Tally = ReturnType<typeof openTally>

const openTally = () => {
  const began = Date.now()
  const byStatus: Record<string, number> = {}
  const reached = new Set<string>()
  const failures: Failure[] = []
  let slowest: {route: string; ms: number; curl: string}[] = []
  let requests = 0
  const add = ({method, path}: Route, drawn: DrawnRequest, {status, ms}: Received) => {
    requests += 1
    byStatus[status] = (byStatus[status] ?? 0) + 1
    const route = `${method} ${path}`
    if (status < 400 && status !== 204 && drawn.method === method.toUpperCase()) reached.add(route)
    if (status === 204 && drawn.method !== 'OPTIONS') reached.add(route)
    if (slowest.length < 5 || ms > slowest.at(-1)!.ms)
      slowest = [...slowest, {route, ms: Math.round(ms), curl: curlOf(drawn)}].sort((one, other) => other.ms - one.ms).slice(0, 5)
  }
  const result = (seed: number): Fuzzed => {
    const unreached = routes.map(({method, path}) => `${method} ${path}`).filter(route => !reached.has(route))
    const seconds = Math.round((Date.now() - began) / 1000)
    return {requests, seed, seconds, byStatus, reached: reached.size, routes: routes.length, unreached, slowest, failures}
  }
  return {add, result, fail: (failure: Failure) => void failures.push(failure)}
}
