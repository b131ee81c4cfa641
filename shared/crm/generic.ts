import {readDocument} from '../../sql/connectors.ts'
import type {Pool} from '../../sql/database.ts'
import {findGrant} from '../../sql/grants.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Call, Client} from './client.ts'
import type {Adapter, CrmRecord, Verbs, WriteAnswer, WriteOptions} from './crm.ts'
import {CrmError, type CrmProblem, isCrowded} from './error.ts'
import {problemOf, READ, readResults, recordsIn, WRITTEN} from './generic-answers.ts'
import {Document, type DocumentModule, dailyAt, isAllowed, modulesOf} from './generic-document.ts'
import {openRenewals, type Renewals} from './generic-renewal.ts'
import {calledOff, type Pace} from './guests.ts'
import {inLanes} from './lanes.ts'
import type {Outcome, Sent} from './outcome.ts'
import {mostOfSmall, recordsAtOnce} from './records.ts'
import {openSecret} from './sealed.ts'

/**
 * A plain REST destination, described by a document: POST and PATCH of an array of records at a module's path are answered
 * `{results: [{id} | {error: {code, message, details?}}]}` in order, GET `?ids=a,b` and GET `?field=value` with `{records: […]}`.
 * What such a destination has no notion of is refused with NOT_OFFERED.
 */
type Tools = {db: Pool; config: Config; client: Client; paceOf(crmOrg: Place['crmOrg'], slots: 'own' | undefined): Pace}
type Place = {document: Document; crmOrg: {dc: string; crmOrgId: string}; headers: Record<string, string>; pace: Pace}

export const openGeneric = (tools: Tools): Adapter => {
  const renewals = openRenewals(tools.db)
  return {
    async open({id, dc, crmOrgId}, {slots}) {
      const crmOrg = {dc, crmOrgId}
      const document = readAllowed(tools.config, await readDocument(tools.db, id))
      const headers = document.auth ? await readHeaders(tools, id, document.auth) : {}
      return verbs({...tools, renewals}, {document, crmOrg, headers, pace: tools.paceOf(crmOrg, slots)})
    },
    /** A secret that was typed in is taken back where it was made. */
    revoke: async () => null,
  }
}

const readAllowed = (config: Config, stored: unknown): Document => {
  const {data} = Document.safeParse(stored)
  if (!data) throw unavailable('What this connection is described by cannot be read any more: make the connection again')
  if (!isAllowed(config, data)) throw unavailable('The operator does not allow calls to this destination any more (GENERIC_ORIGINS)')
  return data
}

const readHeaders = async ({db, config}: Tools, connector: string, {header, scheme}: NonNullable<Document['auth']>) => {
  const grant = await findGrant(db, connector)
  const secret = grant && openSecret(config.SECRETS_KEYS, connector, grant.refreshSealed)
  if (!secret) throw unavailable('The secret of this connection cannot be opened: its key is not in SECRETS_KEYS')
  return {[header.toLowerCase()]: scheme === undefined ? secret : `${scheme} ${secret}`}
}

const idsPerCall = 50
const valuesAtOnce = 3

const verbs = (tools: Tools & {renewals: Renewals}, place: Place): Verbs => {
  const reach = reachFrom(tools, place)
  const moduleOf = (name: string) => {
    const module = place.document.modules.find(({apiName}) => apiName === name)
    if (!module) throw new Refusal('MODULE_NOT_FOUND', 'This connection is described without that module')
    return module
  }
  const read = async (name: string, query: Record<string, string>, signal?: AbortSignal) => {
    const module = moduleOf(name)
    const outcome = await reach({operation: 'read', method: 'GET', module, query, large: false, key: READ, signal})
    if (!('json' in outcome)) throw errorIn(outcome)
    return {records: recordsIn(outcome, module.idField), clockOffsetMs: outcome.clockOffsetMs}
  }
  const readRecords: Verbs['readRecords'] = async ({module, ids}, {signal} = {}) => {
    const calls = Array.from({length: Math.ceil(ids.length / idsPerCall)}, (_, n) => ids.slice(n * idsPerCall, (n + 1) * idsPerCall))
    const found = await inLanes(calls, valuesAtOnce, some => read(module, {ids: some.join(',')}, signal))
    return found.flatMap(({records}) => records)
  }
  const readRecordWithClock: Verbs['readRecordWithClock'] = async (module, id, {signal} = {}) => {
    const {records, clockOffsetMs} = await read(module, {ids: id}, signal)
    return {record: records.find(record => record.id === id) ?? null, clockOffsetMs}
  }
  const write = (method: 'POST' | 'PATCH', name: string, records: object[], sent: Sent, options: WriteOptions) =>
    writeRecords(reach, {method, module: moduleOf(name), records, sent, options})

  return {
    isRecordId: text => /^[\w.:~-]{1,100}$/.test(text),
    createRecords: (module, records, options) => write('POST', module, records, {count: records.length}, options),
    updateRecords: (name, records, options) => {
      const {idField} = moduleOf(name)
      const named = records.map(({id, ...fields}) => ({...fields, [idField]: id}))
      return write('PATCH', name, named, {count: records.length, ids: records.map(({id}) => id)}, options)
    },
    findRecords: ({module, field, values}, {signal} = {}) => findAll(values, field, query => read(module, query, signal)),
    /** What its records say of their making is in no contract. */
    findMade: null,
    readRecord: async (...asked) => (await readRecordWithClock(...asked)).record,
    readRecordWithClock,
    readRecords,
    searchValue: async ({module, field, value}, {signal} = {}) => (await read(module, {[field]: value}, signal)).records,
    readModules: async ({onProgress} = {}) => {
      const modules = modulesOf(place.document)
      await onProgress?.(modules.length, modules.length)
      return modules
    },
    /** Asked for a record nobody has, so that a destination in trouble is met. */
    countActiveUsers: async ({signal} = {}) => {
      await read(place.document.modules[0]!.apiName, {ids: '0'}, signal)
      return null
    },
    replaceRows: async () => notOffered('subforms'),
    readRowIds: async () => notOffered('subforms'),
    searchWord: async () => notOffered('search by word'),
    readLicence: async () => notOffered('licence to read'),
    currentUser: async () => notOffered('users'),
    findUser: async () => notOffered('users'),
    listUsers: async () => notOffered('users'),
  }
}

/** One call for each value; those the destination declines stand in `unaskable`. */
const findAll = async (
  values: (string | number)[],
  field: string,
  read: (query: Record<string, string>) => Promise<{records: CrmRecord[]}>,
) => {
  const records = new Map<string, CrmRecord>()
  const unaskable: {value: string; crm: CrmProblem}[] = []
  await inLanes([...new Set(values.map(String))], valuesAtOnce, async value => {
    try {
      for (const record of (await read({[field === 'id' ? 'ids' : field]: value})).records) records.set(record.id, record)
    } catch (error) {
      if (!(error instanceof CrmError) || ![400, 414, 422].includes(error.crm.status ?? 0)) throw error
      unaskable.push({value, crm: error.crm})
    }
  })
  return {records: [...records.values()], unaskable}
}

type Write = {method: 'POST' | 'PATCH'; module: DocumentModule; records: object[]; sent: Sent; options: WriteOptions}

/** Sent once. What keeps it from being sent is every record's refusal, as at any CRM. Automations are the destination's own business. */
const writeRecords = async (reach: Reach, {method, module, records, sent, options}: Write): Promise<WriteAnswer> => {
  if (records.length > recordsAtOnce) throw new RangeError(`A call writes at most ${recordsAtOnce} records, not ${records.length}`)
  if (records.length === 0) return {results: [], clockOffsetMs: null}
  const {signal, mayLeave} = options
  const large = records.length > mostOfSmall
  try {
    const outcome = await reach({
      operation: method === 'POST' ? 'create' : 'update',
      method,
      module,
      json: JSON.stringify(records),
      large,
      key: WRITTEN,
      signal,
      mayLeave,
    })
    if ('json' in outcome) return {results: readResults(outcome, sent), clockOffsetMs: outcome.clockOffsetMs}
    const whole = errorIn(outcome)
    return {results: records.map(() => ({ok: false, sent: true, crm: whole.crm, duplicateOf: null})), clockOffsetMs: null, whole}
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: records.map(() => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}

type Asked = Pick<Call, 'operation' | 'query' | 'signal' | 'mayLeave'> & {
  method: 'GET' | 'POST' | 'PATCH'
  module: DocumentModule
  json?: string
  large: boolean
  key: string
}
/** An answer that lists what was asked for, or the problem with it. */
type Reached = Extract<Outcome, {json: unknown} | {problem: CrmProblem}>
type Reach = (asked: Asked) => Promise<Reached>

/** A day is used up here only where the destination names its renewal. */
const errorIn = ({problem}: Extract<Reached, {problem: CrmProblem}>) => new CrmError(problem, {renews: problem.quotaSpent})

/** Every call passes here: a slot, then the gate of the allowance, then the destination. */
const reachFrom = ({client, renewals}: Tools & {renewals: Renewals}, {document, crmOrg, headers, pace}: Place): Reach => {
  const at = dailyAt(document)
  const base = new URL(document.baseUrl)
  const send = async ({operation, method, module, query, json, signal, mayLeave}: Asked) => {
    let isTooLate = false
    const outcome = await client.call({
      ...{operation, origin: base.origin, method, path: base.pathname.replace(/\/$/, '') + module.path, headers, signal},
      ...(query && {query}),
      ...(mayLeave && {mayLeave: () => !(isTooLate = !mayLeave())}),
      ...(json !== undefined && {body: {type: 'application/json', text: json} as const}),
    })
    if (isTooLate) throw calledOff()
    return outcome
  }
  return async asked => {
    if (asked.signal?.aborted) throw calledOff()
    const slot = await pace.enter({large: asked.large, signal: asked.signal})
    try {
      if (at !== null) await renewals.enter(crmOrg)
      const outcome = await send(asked)
      const problem = problemOf(outcome, {key: asked.key, renews: at !== null})
      if (!problem) return outcome as Reached
      if (isCrowded(problem)) await slot.crowded()
      return {
        problem: problem.quotaSpent
          ? {...problem, retryAfterMs: await renewals.spent(crmOrg, {dailyAt: at!, waitMs: problem.retryAfterMs})}
          : problem,
      }
    } finally {
      slot.leave()
    }
  }
}

const notOffered = (what: string): never => {
  throw new Refusal('NOT_OFFERED', `A connection of the kind generic has no ${what}`)
}

const unavailable = (message: string) => new Refusal('CONNECTION_UNAVAILABLE', message)
