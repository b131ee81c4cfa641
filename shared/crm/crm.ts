import type {Licence} from '../../sql/allowances.ts'
import {type ConnectorRow, readConnector} from '../../sql/connectors.ts'
import type {Pool} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import {type Allowances, openAllowances} from './allowance.ts'
import type {Budget} from './budget.ts'
import {type Client, openClient} from './client.ts'
import type {Controls} from './controls.ts'
import {findRecords} from './coql.ts'
import type {DiscoveredModule} from './discovered.ts'
import type {CrmError, CrmProblem} from './error.ts'
import {openGeneric} from './generic.ts'
import {type Grants, openGrants} from './grant.ts'
import {openGuests, ownPace, type Pace} from './guests.ts'
import {findHosts, isApiDomain} from './hosts.ts'
import {readLicence} from './licence.ts'
import {findMade} from './made.ts'
import {readModules} from './modules.ts'
import {type Reach, reachFrom} from './reach.ts'
import {createRecords, readRecords, readRecordWithClock, updateRecords} from './records.ts'
import {openRefresh} from './sealed.ts'
import {searchValue, searchWord} from './search.ts'
import {type Replacement, readRowIds, replaceRows} from './subforms.ts'
import {revokeToken} from './token.ts'
import {countActiveUsers, findUser, listUsers, readCurrentUser} from './users.ts'

export {CrmError, type CrmProblem} from './error.ts'

/** The CRMs of every org, as this process reaches them. */
export type Crm = {
  open(connector: string, options?: OpenOptions): Promise<Connection>
  /** Gives up what a connection was granted, at the CRM. Waits at most eight seconds; a failure is logged and nobody's. */
  revoke(connector: ConnectorRow, refreshSealed: string): Promise<void>
  close(): Promise<void>
}
/**
 * `upkeep`: nobody asked for these calls, so they never take the one a minute of a spent day. `slots: 'own'`: whoever opens holds a
 * share of the CRM org's concurrency budget and takes a slot of it for every call; without it each call takes a guest's slot.
 */
type OpenOptions = {upkeep?: boolean; slots?: 'own'}

/** How a kind of destination is spoken to. What it has no notion of it refuses with NOT_OFFERED. */
export type Adapter = {
  open(connector: ConnectorRow, options: OpenOptions): Promise<Verbs>
  /** Answers why it did not work; null where it did. */
  revoke(connector: ConnectorRow, refreshSealed: string): Promise<string | null>
}
export type Verbs = Omit<Connection, 'connector'>

/** One connection to a CRM. Writes never throw for what the CRM did or failed to say; they answer per record. Reads throw CrmError or Refusal. */
export type Connection = {
  connector: {id: string; org: string; kind: string; dc: string; crmOrgId: string; crmUserId: string}
  /** What is not one names no record: there is nothing to ask. */
  isRecordId(text: string): boolean
  createRecords(module: string, records: Record<string, unknown>[], options: WriteOptions): Promise<WriteAnswer>
  updateRecords(module: string, records: (Record<string, unknown> & {id: string})[], options: WriteOptions): Promise<WriteAnswer>
  /** Each parent's rows of one field go and others come, all or nothing for that parent; at most 2,000 of both together. */
  replaceRows(module: string, parents: Replacement[], options: WriteOptions): Promise<WriteAnswer>
  /** The ids of the rows a parent's field holds, whose own module is `child`. Null when the CRM has no such parent. */
  readRowIds(module: string, id: string, subform: {field: string; child: string}, options?: ReadOptions): Promise<string[] | null>
  /** Records of `module` whose `field` equals one of `values`, each with id and `fields`. A value the CRM cannot be asked about stands in `unaskable`. */
  findRecords(query: RecordQuery, options?: ReadOptions): Promise<{records: CrmRecord[]; unaskable: {value: string; crm: CrmProblem}[]}>
  /**
   * The ids of the records that one user made in a window of time, at most 2,000, and perhaps others': whoever asks compares again.
   * `many`: there are more. It answers null where the CRM will not be asked that, and is null where no such destination can be.
   */
  findMade: ((query: MadeQuery, options?: ReadOptions) => Promise<MadeAnswer | 'many' | null>) | null
  /** Null when the CRM has no such record. */
  readRecord(module: string, id: string, options?: ReadOptions): Promise<CrmRecord | null>
  /** With the CRM's clock as it answered, for whoever compares times. */
  readRecordWithClock(module: string, id: string, options?: ReadOptions): Promise<TimedRecord>
  /** By id, with these fields. Absent ids are left out; the order is the CRM's. */
  readRecords(query: {module: string; ids: string[]; fields: string[]}, options?: ReadOptions): Promise<CrmRecord[]>
  /** One page of the CRM's free-text search, which lags behind writes. */
  searchWord(query: {module: string; word: string; page: number; perPage: number}, options?: ReadOptions): Promise<CrmRecord[]>
  /** What the CRM's search calls equal, which is more: whoever asks compares again. */
  searchValue(query: {module: string; field: string; value: string}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Null for an edition nobody has written down. What the answer says of the credits is kept at once. */
  readLicence(options?: LicenceOptions): Promise<Licence | null>
  currentUser(options?: ReadOptions): Promise<{id: string; name: string}>
  /** Null where the destination has no users; it is asked something all the same. */
  countActiveUsers(options?: ReadOptions): Promise<number | null>
  /** The active user of an account of the identity provider; null when nobody is. */
  findUser(zuid: string, options?: ReadOptions): Promise<{id: string; isActive: boolean; isAdministrator: boolean} | null>
  /** Those that records can be given to, at most 4,000. */
  listUsers(options?: ReadOptions): Promise<CrmUser[]>
  /** Every module rows can be written to or looked up in, with its fields; `onProgress` after each one. */
  readModules(options?: ReadOptions & {onProgress?(done: number, total: number): Promise<void>}): Promise<DiscoveredModule[]>
}

export type CrmRecord = Record<string, unknown> & {id: string}
export type CrmUser = {id: string; email: string; name: string}
/** `clockOffsetMs`: the CRM's clock minus ours, to the second; null when it did not say. */
export type TimedRecord = {record: CrmRecord | null; clockOffsetMs: number | null}
export type RecordQuery = {module: string; field: string; values: (string | number)[]; fields: string[]}
/**
 * `fromMs`, `toMs`: by this process's clock. `groups`: a record must fit one of them, if there are any: each of the group's fields has one of
 * its values. The first field of a group is the most selective.
 */
export type MadeQuery = {
  module: string
  user: string
  fromMs: number
  toMs: number
  groups: {field: string; values: string[]}[][]
  /** A record that the same search has to find as well. Without one an empty answer proves nothing. */
  control?: MadeControl | null
}
/** `createdMs`: by the CRM's clock. `values`: of the groups' fields. `lagMs`: so long after its creation a search may not find it. */
export type MadeControl = {id: string; createdMs: number; values: Record<string, string>; lagMs: number}
/** `isProven`: every query found the control, so records that are not among `ids` do not exist. */
export type MadeAnswer = {ids: string[]; clockOffsetMs: number; isProven: boolean}
export type ReadOptions = {signal?: AbortSignal}
/** `onlyAsProbe`: of a spent day, as the one call a minute or not at all. */
export type LicenceOptions = ReadOptions & {onlyAsProbe?: boolean}
/**
 * `automations`: whether the org's workflows, approvals and blueprints run. Off unless asked. `mayLeave`: asked as the request is about
 * to be written to its socket, again for one sent once more under a new token; false, and the answer says that nothing was sent.
 */
export type WriteOptions = {signal?: AbortSignal; automations?: boolean; mayLeave?: () => boolean}

/**
 * Exactly one result per record sent, in order. `clockOffsetMs`: the CRM's clock minus ours, to the second; null when it did not say.
 * `whole`: one answer of the CRM, or its silence, was every record's.
 */
export type WriteAnswer = {results: RecordAnswer[]; clockOffsetMs: number | null; whole?: CrmError | null}
export type RecordAnswer =
  | {ok: true; recordId: string}
  /** The CRM declined or gave no answer. `duplicateOf`: the one record every DUPLICATE_DATA names, when no other can hold the value. */
  | {ok: false; sent: true; crm: CrmProblem; duplicateOf: string | null}
  /** Refused before the record was sent. */
  | {ok: false; sent: false; refusal: Refusal}

export type CrmTools = {db: Pool; config: Config; log: Log}

/** Opened once per process; `close` destroys its sockets and gives the guests' slots back, so it comes before the budget's own. */
export const openCrm = ({db, config, log, budget}: CrmTools & {budget: Budget}): Crm => {
  const client = openClient({config, log})
  const guests = openGuests(budget)
  const paceOf: Tools['paceOf'] = (crmOrg, slots) => (slots === 'own' ? ownPace : guests.paceOf(crmOrg))
  const adapters: Record<string, Adapter> = {
    zoho: openZoho({config, client, paceOf, grants: openGrants({db, config, log, client}), allowances: openAllowances({db, log})}),
    generic: openGeneric({db, config, client, paceOf}),
  }
  const adapterOf = ({kind}: ConnectorRow) => {
    const adapter = adapters[kind]
    if (!adapter) throw new Refusal('CONNECTION_UNAVAILABLE', `This build does not speak to connections of the kind ${kind}`)
    return adapter
  }
  return {
    async close() {
      await client.close()
      await guests.close()
    },
    async open(id, options = {}) {
      const row = await readConnector(db, id)
      if (!row) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
      if (row.state !== 'connected') throw new Refusal('CONNECTION_UNAVAILABLE', sayState(row.state), {connection: row.state})
      const {org, kind, dc, crmOrgId, crmUserId} = row
      return {connector: {id, org, kind, dc, crmOrgId, crmUserId}, ...(await adapterOf(row).open(row, options))}
    },
    async revoke(row, refreshSealed) {
      const why = await adapterOf(row)
        .revoke(row, refreshSealed)
        .catch(error => String(error))
      if (why) log.warn({connector: row.id, why}, 'grant not revoked at the CRM')
    },
  }
}

type Tools = {
  config: Config
  client: Client
  grants: Grants
  allowances: Allowances
  paceOf(crmOrg: {dc: string; crmOrgId: string}, slots: 'own' | undefined): Pace
}

const revokeSeconds = 8

const openZoho = (tools: Tools): Adapter => ({
  async open({id, dc, crmOrgId, apiDomain}, {upkeep = false, slots}) {
    const hosts = findHosts(tools.config, dc)
    if (!hosts || !isApiDomain(hosts, apiDomain)) {
      throw new Refusal('CONNECTION_UNAVAILABLE', 'This connection names a host that is not of its data centre: connect it again')
    }
    const crmOrg = {dc, crmOrgId}
    await tools.allowances.look(crmOrg)
    return verbs(reachFrom(tools, {connector: id, hosts, apiDomain, crmOrg, upkeep, pace: tools.paceOf(crmOrg, slots)}))
  },
  async revoke({id, dc}, refreshSealed) {
    tools.grants.forget(id)
    const hosts = findHosts(tools.config, dc)
    if (!hosts) return `There is no data centre ${dc}`
    const refreshToken = openRefresh(tools.config.SECRETS_KEYS, id, refreshSealed)
    return revokeToken(tools.client, {hosts, refreshToken, timeoutSeconds: revokeSeconds})
  },
})

const verbs = (reach: Reach, controls: Controls = new Map()): Verbs => ({
  isRecordId: text => /^\d{1,20}$/.test(text),
  createRecords: (module, records, options) => createRecords(reach, module, records, options),
  updateRecords: (module, records, options) => updateRecords(reach, module, records, options),
  replaceRows: (module, parents, options) => replaceRows(reach, module, parents, options),
  readRowIds: (module, id, subform, options) => readRowIds(reach, module, id, subform, {...options, controls}),
  findRecords: (query, options) => findRecords(reach, query, {...options, controls}),
  findMade: (query, options) => findMade(reach, query, options),
  readRecord: async (module, id, options) => (await readRecordWithClock(reach, module, id, options)).record,
  readRecordWithClock: (module, id, options) => readRecordWithClock(reach, module, id, options),
  readRecords: (query, options) => readRecords(reach, query, options),
  searchWord: (query, options) => searchWord(reach, query, options),
  searchValue: (query, options) => searchValue(reach, query, options),
  readLicence: options => readLicence(reach, options),
  currentUser: options => readCurrentUser(reach, options),
  countActiveUsers: options => countActiveUsers(reach, options),
  findUser: (zuid, options) => findUser(reach, zuid, options),
  listUsers: options => listUsers(reach, options),
  readModules: options => readModules(reach, options),
})

const sayState = (state: 'ended' | 'disconnected') =>
  state === 'ended'
    ? 'The CRM ended its consent to this connection: an administrator has to connect it again'
    : 'This connection was disconnected: an administrator has to connect it again'
