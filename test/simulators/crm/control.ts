import type {Answer} from './answers.ts'
import type {Request} from './request.ts'
import type {Simulator} from './simulator.ts'

/** Answers a control request. The server calls it only for paths under /__sim, and only if control is enabled. */
export const answerControl = async (standIn: Simulator, request: Request): Promise<Answer> => {
  const name = request.path.slice('/__sim/'.length)
  const route = controlRoutes[`${request.method} ${name}`]
  if (!route) return {status: 404, body: {error: 'no such control route', routes: Object.keys(controlRoutes)}}
  try {
    const result = route(standIn, readBody(request), request.query)
    return {status: 200, body: result ?? {done: true}}
  } catch (error) {
    return {status: 400, body: {error: error instanceof Error ? error.message : String(error)}}
  }
}

type ControlRoute = (standIn: Simulator, body: any, query: URLSearchParams) => unknown

export const controlRoutes: Record<string, ControlRoute> = {
  'GET state': standIn => standIn.state(),
  'POST reset': standIn => standIn.reset(),
  'POST clear': standIn => standIn.clear(),

  'GET clock': standIn => readClock(standIn),
  'POST clock': (standIn, {at, advanceMs, frozen}) => {
    if (frozen === true) standIn.clock.freeze()
    if (at !== undefined) standIn.clock.set(at)
    if (advanceMs !== undefined) standIn.clock.advance(advanceMs)
    if (frozen === false) standIn.clock.unfreeze()
    return readClock(standIn)
  },

  'GET faults': standIn => standIn.faults.list(),
  'POST faults': (standIn, body) => ({id: standIn.faults.add(body)}),
  'DELETE faults': (standIn, _, query) => {
    const id = query.get('id')
    if (id === null) standIn.faults.clear()
    else standIn.faults.remove(Number(id))
  },
  'POST release': (standIn, {count}) => ({released: standIn.release(count)}),

  'GET switches': standIn => standIn.switches(),
  'POST switches': (standIn, body) => {
    standIn.setSwitches(body)
    return standIn.switches()
  },

  'GET records': (standIn, _, query) => {
    const [org, module, id] = [need(query, 'org'), need(query, 'module'), query.get('id')]
    return id === null ? standIn.records(org, module) : standIn.record(org, module, id)
  },
  'GET digest': (standIn, _, query) => standIn.digest(need(query, 'org'), need(query, 'module'), need(query, 'fields').split(',')),
  'POST records': (standIn, {org, module, records, as}) => standIn.create(org, module, records, {as}),
  'PUT records': (standIn, {org, module, records, as}) => standIn.update(org, module, records, {as}),
  'DELETE records': (standIn, {org, module, ids}) => standIn.remove(org, module, ids),
  'POST catch-up': (standIn, {org, module, ids}) => standIn.catchUp(org, module, ids),
  'POST marks': (standIn, {org, module, ids, converted, locked}) => {
    standIn.mark(org, module, ids, {...(converted === undefined ? {} : {converted}), ...(locked === undefined ? {} : {locked})})
  },

  'GET journal': (standIn, _, query) => {
    const {committed, ...rest} = Object.fromEntries(query)
    return standIn.journal({...rest, ...(committed === undefined ? {} : {committed: committed === 'true'})})
  },
  'DELETE journal': standIn => standIn.clearJournal(),
  'GET automations': (standIn, _, query) => standIn.automations(query.get('org') ?? undefined),
  'GET time': (standIn, _, query) => {
    const org = query.get('org') ?? undefined
    return {...standIn.inFlightTime(org), inFlight: standIn.inFlight(org), peak: standIn.inFlightPeak(org)}
  },

  'POST orgs': (standIn, body) => standIn.addOrg(body),
  'POST modules': (standIn, {org, module}) => standIn.addModule(org, module),
  'POST fields': (standIn, {org, module, field}) => standIn.addField(org, module, field),
  'DELETE fields': (standIn, {org, module, name}) => standIn.dropField(org, module, name),
  'POST layouts': (standIn, {org, module, layout}) => ({id: standIn.addLayout(org, module, layout)}),
  'POST assignment-rules': (standIn, {org, module, rule}) => ({id: standIn.addAssignmentRule(org, module, rule)}),
  'POST users': (standIn, {org, user}) => standIn.addUser(org, user),
  'POST profiles': (standIn, {org, profile}) => standIn.addProfile(org, profile),
  'POST clients': (standIn, body) => standIn.addClient(body),
  'POST grants': (standIn, body) => standIn.grant(body),
  'GET credits': (standIn, _, query) => standIn.credits(need(query, 'org')),
  'POST credits': (standIn, {org, ...change}) => {
    standIn.setCredits(org, change)
    return standIn.credits(org)
  },
  'POST concurrency': (standIn, {org, limit}) => standIn.setConcurrency(org, limit),
}

const readClock = ({clock}: Simulator) => ({now: new Date(clock.now()).toISOString(), ms: clock.now(), frozen: clock.isFrozen()})

const readBody = (request: Request): any => {
  const text = request.body.toString()
  return text.trim() === '' ? {} : JSON.parse(text)
}

const need = (query: URLSearchParams, name: string): string => {
  const value = query.get(name)
  if (value === null) throw new TypeError(`The parameter ${name} is missing`)
  return value
}
