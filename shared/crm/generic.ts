import {readDocument} from '../../sql/connectors.ts'
import type {Pool} from '../../sql/database.ts'
import {findGrant} from '../../sql/grants.ts'
import {mapConcurrent} from '../concurrency/map-concurrent.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Call, Client} from './client.ts'
import type {Adapter, CrmRecord, Verbs, WriteAnswer, WriteOptions} from './crm.ts'
import {CrmError, type CrmProblem, isCrowded} from './error.ts'
import {isGenericId, problemOf, READ_RESULTS, readResults, recordsIn, WRITE_RESULTS} from './generic-answers.ts'
import {type DocumentModule, dailyAt, GenericDocument, isAllowed, modulesOf} from './generic-document.ts'
import {openRenewals, type Renewals} from './generic-renewal.ts'
import {callCancelled, type RateLimiter} from './limits/adhoc-limiter.ts'
import type {CrmCallOutcome, SentRecords} from './outcome.ts'
import {mostOfSmall, recordsAtOnce} from './record-calls.ts'
import type {PricedCall} from './request.ts'
import {openSecret} from './sealed.ts'

type GenericDeps = {
  db: Pool
  config: Config
  client: Client
  limiterOf(crmOrg: GenericEndpoint['crmOrg'], slots: 'own' | undefined): RateLimiter
}
type GenericEndpoint = {
  document: GenericDocument
  crmOrg: {dc: string; crmOrgId: string}
  headers: Record<string, string>
  limiter: RateLimiter
  /** The maximum number of concurrent calls of one read. */
  callsAtOnce: number
  onCall(call: PricedCall): void
}

/**
 * Opens the adapter for generic REST destinations, which a document describes. POST and PATCH of an array of records to the path of a module
 * return `{results: [{id} | {error: {code, message, details?}}]}` in order. GET `?ids=a,b` and GET `?field=value` return `{records: […]}`.
 */
export const openGeneric = (deps: GenericDeps): Adapter => {
  const renewals = openRenewals(deps.db)
  return {
    async open({id, dc, crmOrgId}, {slots, onCall}) {
      const crmOrg = {dc, crmOrgId}
      const document = readAllowed(deps.config, await readDocument(deps.db, id))
      const headers = document.auth ? await readHeaders(deps, id, document.auth) : {}
      // With `slots: 'own'`, the caller holds one slot during a read.
      const callsAtOnce = slots === 'own' ? 1 : 3
      return verbs({...deps, renewals}, {document, crmOrg, headers, limiter: deps.limiterOf(crmOrg, slots), callsAtOnce, onCall})
    },
    /** Does nothing. The user who entered the secret revokes it at its issuer. */
    revoke: async () => null,
  }
}

const readAllowed = (config: Config, stored: unknown): GenericDocument => {
  const {data} = GenericDocument.safeParse(stored)
  if (!data) throw unavailable('The stored description of this connection is invalid. Create the connection again')
  if (!isAllowed(config, data)) throw unavailable('This destination is no longer listed in GENERIC_ORIGINS. Ask the operator to add it')
  return data
}

const readHeaders = async ({db, config}: GenericDeps, connector: string, {header, scheme}: NonNullable<GenericDocument['auth']>) => {
  const grant = await findGrant(db, connector)
  const secret = grant && openSecret(config.SECRETS_KEYS, connector, grant.refreshSealed)
  if (!secret)
    throw unavailable(
      'The secret of this connection cannot be decrypted: its key is not in SECRETS_KEYS. Ask the operator to restore the key',
    )
  return {[header.toLowerCase()]: scheme === undefined ? secret : `${scheme} ${secret}`}
}

const idsPerCall = 50

/** One call finds one value. With more values in a query, a rate limit between its calls would waste the earlier calls. */
export const valuesPerQuery = 1

/** The document describes none of these operations. `unmodifiedSince`: a destination never checks whether a record changed since a time. */
const undescribed = {
  findMade: null,
  readNewest: null,
  addTags: null,
  deleteRecords: null,
  restoreRecords: null,
  readBin: null,
  readTimeline: null,
  unmodifiedSince: 'ignored' as const,
  bulkRead: null,
  bulkWrite: null,
  readChanges: null,
  countRecords: null,
}

const notOffered = (what: string): never => {
  throw new Refusal('NOT_OFFERED', `A generic connection has no ${what}`)
}

const noUsers = async () => notOffered('users')

const refused = {
  replaceRows: async () => notOffered('subforms'),
  readRows: async () => notOffered('subforms'),
  searchWord: async () => notOffered('search by word'),
  readLicence: async () => notOffered('licence to read'),
  readAccess: async () => null,
  runProbes: async () => notOffered('doctor'),
  currentUser: noUsers,
  findUser: noUsers,
  listUsers: noUsers,
}

const verbs = (deps: GenericDeps & {renewals: Renewals}, genericEndpoint: GenericEndpoint): Verbs => {
  const sendGeneric = openGenericRequest(deps, genericEndpoint)
  const {callsAtOnce} = genericEndpoint
  const moduleOf = (name: string) => {
    const module = genericEndpoint.document.modules.find(({apiName}) => apiName === name)
    if (!module) throw new Refusal('MODULE_NOT_FOUND', 'The description of this connection has no such module')
    return module
  }
  const read = async (name: string, query: Record<string, string>, signal?: AbortSignal, operation: 'read' | 'query' = 'read') => {
    const module = moduleOf(name)
    const outcome = await sendGeneric({operation, method: 'GET', module, query, large: false, key: READ_RESULTS, signal})
    if (!('json' in outcome)) throw errorIn(outcome)
    return {records: recordsIn(outcome, module.idField), clockOffsetMs: outcome.clockOffsetMs}
  }
  const readRecords: Verbs['readRecords'] = async ({module, ids}, {signal} = {}) => {
    const calls = Array.from({length: Math.ceil(ids.length / idsPerCall)}, (_, n) => ids.slice(n * idsPerCall, (n + 1) * idsPerCall))
    const found = await mapConcurrent(calls, callsAtOnce, some => read(module, {ids: some.join(',')}, signal))
    return found.flatMap(({records}) => records)
  }
  const readRecordWithClock: Verbs['readRecordWithClock'] = async (module, id, {signal} = {}) => {
    const {records, clockOffsetMs} = await read(module, {ids: id}, signal)
    return {record: records.find(record => record.id === id) ?? null, clockOffsetMs}
  }
  const write = (method: 'POST' | 'PATCH', name: string, records: object[], sentRecords: SentRecords, options: WriteOptions) =>
    writeRecords(sendGeneric, {method, module: moduleOf(name), records, sent: sentRecords, options})

  return {
    valuesPerQuery,
    columnsPerQuery: Number.POSITIVE_INFINITY,
    /** A read returns whole records, whatever its fields. */
    fieldsPerRead: Number.MAX_SAFE_INTEGER,
    valuesPerCondition: 50,
    lagSeconds: 0,
    isRecordId: isGenericId,
    createRecords: (module, records, options) => write('POST', module, records, {count: records.length}, options),
    updateRecords: (name, records, options) => {
      const {idField} = moduleOf(name)
      const named = records.map(({id, ...fields}) => ({...fields, [idField]: id}))
      return write('PATCH', name, named, {count: records.length, ids: records.map(({id}) => id)}, options)
    },
    findRecords: ({module, field, values}, {signal} = {}) =>
      findAll(values, field, callsAtOnce, query => read(module, query, signal, 'query')),
    ...undescribed,
    readRecord: async (...asked) => (await readRecordWithClock(...asked)).record,
    readRecordWithClock,
    readRecords,
    searchValue: async ({module, field, value}, {signal} = {}) => (await read(module, {[field]: value}, signal)).records,
    readModules: async ({onProgress} = {}) => {
      const modules = modulesOf(genericEndpoint.document)
      await onProgress?.(modules.length, modules.length)
      return modules
    },
    /** Checks the connection by a read of one id, which need not exist. */
    countActiveUsers: async ({signal} = {}) => {
      await read(genericEndpoint.document.modules[0]!.apiName, {ids: '0'}, signal)
      return null
    },
    ...refused,
  }
}

/** Sends one call per value. `unaskable` lists the values that the destination refuses with 400, 414 or 422. */
const findAll = async (
  values: (string | number)[],
  field: string,
  callsAtOnce: number,
  read: (query: Record<string, string>) => Promise<{records: CrmRecord[]}>,
) => {
  const records = new Map<string, CrmRecord>()
  const unaskable: {value: string; crm: CrmProblem}[] = []
  await mapConcurrent([...new Set(values.map(String))], callsAtOnce, async value => {
    try {
      for (const record of (await read({[field === 'id' ? 'ids' : field]: value})).records) records.set(record.id, record)
    } catch (error) {
      if (!(error instanceof CrmError) || ![400, 414, 422].includes(error.crm.status ?? 0)) throw error
      unaskable.push({value, crm: error.crm})
    }
  })
  return {records: [...records.values()], unaskable}
}

type Write = {method: 'POST' | 'PATCH'; module: DocumentModule; records: object[]; sent: SentRecords; options: WriteOptions}

/**
 * Sends the records once. If the call cannot be sent, every record gets the refusal as result. Ignores all options except `signal` and `mayLeave`.
 */
const writeRecords = async (
  sendGeneric: SendGeneric,
  {method, module, records, sent: sentRecords, options}: Write,
): Promise<WriteAnswer> => {
  if (records.length > recordsAtOnce) throw new RangeError(`A call writes at most ${recordsAtOnce} records, not ${records.length}`)
  if (records.length === 0) return {results: [], clockOffsetMs: null}
  const {signal, mayLeave} = options
  const large = records.length > mostOfSmall
  try {
    const outcome = await sendGeneric({
      operation: method === 'POST' ? 'create' : 'update',
      method,
      module,
      json: JSON.stringify(records),
      large,
      key: WRITE_RESULTS,
      signal,
      mayLeave,
    })
    if ('json' in outcome) return {results: readResults(outcome, sentRecords), clockOffsetMs: outcome.clockOffsetMs}
    const whole = errorIn(outcome)
    return {results: records.map(() => ({ok: false, sent: true, crm: whole.crm, duplicateOf: null})), clockOffsetMs: null, whole}
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: records.map(() => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}

type GenericCall = Pick<Call, 'operation' | 'query' | 'signal' | 'mayLeave'> & {
  method: 'GET' | 'POST' | 'PATCH'
  module: DocumentModule
  json?: string
  large: boolean
  key: string
}
type GenericResult = Extract<CrmCallOutcome, {json: unknown} | {problem: CrmProblem}>
type SendGeneric = (asked: GenericCall) => Promise<GenericResult>

/** `quotaSpent` is set only if the document has a `renewal`. */
const errorIn = ({problem}: Extract<GenericResult, {problem: CrmProblem}>) => new CrmError(problem, {renews: problem.quotaSpent})

/** The returned function takes a slot, checks the quota, then sends the request. */
const openGenericRequest = (
  {client, renewals}: GenericDeps & {renewals: Renewals},
  {document, crmOrg, headers, limiter, onCall}: GenericEndpoint,
): SendGeneric => {
  const at = dailyAt(document)
  const base = new URL(document.baseUrl)
  const send = async ({operation, method, module, query, json, signal, mayLeave}: GenericCall) => {
    let isTooLate = false
    const since = performance.now()
    const outcome = await client.call({
      operation,
      origin: base.origin,
      method,
      path: base.pathname.replace(/\/$/, '') + module.path,
      headers,
      signal,
      ...(query && {query}),
      ...(mayLeave && {mayLeave: () => !(isTooLate = !mayLeave())}),
      ...(json !== undefined && {body: {type: 'application/json', text: json} as const}),
    })
    if (isTooLate) throw callCancelled()
    onCall({operation, credits: 0, ms: performance.now() - since})
    return outcome
  }
  return async asked => {
    if (asked.signal?.aborted) throw callCancelled()
    const slot = await limiter.enter({large: asked.large, signal: asked.signal})
    try {
      if (at !== null) await renewals.enter(crmOrg)
      const outcome = await send(asked)
      const problem = problemOf(outcome, {key: asked.key, renews: at !== null})
      if (!problem) return outcome as GenericResult
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

const unavailable = (message: string) => new Refusal('CONNECTION_UNAVAILABLE', message)
