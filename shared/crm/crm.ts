import type {Licence} from '../../sql/allowances.ts'
import {readConnector} from '../../sql/connectors.ts'
import type {Pool} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import {openAllowances} from './allowance.ts'
import {openClient} from './client.ts'
import {findRecords} from './coql.ts'
import type {DiscoveredModule} from './discovered.ts'
import type {CrmProblem} from './error.ts'
import {openGrants} from './grant.ts'
import {findHosts, isApiDomain} from './hosts.ts'
import {readLicence} from './licence.ts'
import {readModules} from './modules.ts'
import {type Reach, reachFrom} from './reach.ts'
import {createRecords, readRecord, readRecords, updateRecords} from './records.ts'
import {searchValue, searchWord} from './search.ts'
import {countActiveUsers, findUser, readCurrentUser} from './users.ts'

export {CrmError, type CrmProblem} from './error.ts'

/** The CRMs of every org, as this process reaches them. `upkeep`: nobody asked for these calls, so they never take the one a minute of a spent day. */
export type Crm = {open(connector: string, options?: {upkeep?: boolean}): Promise<Connection>; close(): Promise<void>}

/** One connection to a CRM. Writes never throw for what the CRM did or failed to say; they answer per record. Reads throw CrmError or Refusal. */
export type Connection = {
  connector: {id: string; org: string; kind: string; dc: string; crmOrgId: string; crmUserId: string}
  createRecords(module: string, records: Record<string, unknown>[], options: WriteOptions): Promise<WriteAnswer>
  updateRecords(module: string, records: (Record<string, unknown> & {id: string})[], options: WriteOptions): Promise<WriteAnswer>
  /** Records of `module` whose `field` equals one of `values`, each with id and `fields`. A value the CRM cannot be asked about stands in `unaskable`. */
  findRecords(query: RecordQuery, options?: ReadOptions): Promise<{records: CrmRecord[]; unaskable: {value: string; crm: CrmProblem}[]}>
  /** Null when the CRM has no such record. */
  readRecord(module: string, id: string, options?: ReadOptions): Promise<CrmRecord | null>
  /** By id, with these fields. Absent ids are left out; the order is the CRM's. */
  readRecords(query: {module: string; ids: string[]; fields: string[]}, options?: ReadOptions): Promise<CrmRecord[]>
  /** One page of the CRM's free-text search, which lags behind writes. */
  searchWord(query: {module: string; word: string; page: number; perPage: number}, options?: ReadOptions): Promise<CrmRecord[]>
  /** What the CRM's search calls equal, which is more: whoever asks compares again. */
  searchValue(query: {module: string; field: string; value: string}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Null for an edition nobody has written down. What the answer says of the credits is kept at once. */
  readLicence(options?: LicenceOptions): Promise<Licence | null>
  currentUser(options?: ReadOptions): Promise<{id: string; name: string}>
  countActiveUsers(options?: ReadOptions): Promise<number>
  /** The active user of an account of the identity provider; null when nobody is. */
  findUser(zuid: string, options?: ReadOptions): Promise<{id: string; isAdministrator: boolean} | null>
  /** Every module rows can be written to or looked up in, with its fields; `onProgress` after each one. */
  readModules(options?: ReadOptions & {onProgress?(done: number, total: number): Promise<void>}): Promise<DiscoveredModule[]>
}

export type CrmRecord = Record<string, unknown> & {id: string}
export type RecordQuery = {module: string; field: string; values: (string | number)[]; fields: string[]}
export type ReadOptions = {signal?: AbortSignal}
/** `onlyAsProbe`: of a spent day, as the one call a minute or not at all. */
export type LicenceOptions = ReadOptions & {onlyAsProbe?: boolean}
/** `automations`: whether the org's workflows, approvals and blueprints run. Off unless asked. */
export type WriteOptions = {signal?: AbortSignal; automations?: boolean}

/** Exactly one result per record sent, in order. `clockOffsetMs`: the CRM's clock minus ours, to the second; null when it did not say. */
export type WriteAnswer = {results: RecordAnswer[]; clockOffsetMs: number | null}
export type RecordAnswer =
  | {ok: true; recordId: string}
  /** The CRM declined or gave no answer. `duplicateOf`: the one record every DUPLICATE_DATA names, when no other can hold the value. */
  | {ok: false; sent: true; crm: CrmProblem; duplicateOf: string | null}
  /** Refused before the record was sent. */
  | {ok: false; sent: false; refusal: Refusal}

export type CrmTools = {db: Pool; config: Config; log: Log}

/** Opened once per process; `close` destroys its sockets. */
export const openCrm = ({db, config, log}: CrmTools): Crm => {
  const client = openClient({config, log})
  const tools = {client, grants: openGrants({db, config, log, client}), allowances: openAllowances({db, log})}
  return {
    close: client.close,
    async open(id, {upkeep = false} = {}) {
      const row = await readConnector(db, id)
      if (!row) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
      if (row.state !== 'connected') throw new Refusal('CONNECTION_UNAVAILABLE', sayState(row.state), {connection: row.state})
      const hosts = findHosts(config, row.dc)
      if (!hosts || !isApiDomain(hosts, row.apiDomain)) {
        throw new Refusal('CONNECTION_UNAVAILABLE', 'This connection names a host that is not of its data centre: connect it again')
      }
      const {org, kind, dc, crmOrgId, crmUserId, apiDomain} = row
      await tools.allowances.look({dc, crmOrgId})
      const reach = reachFrom(tools, {connector: id, hosts, apiDomain, crmOrg: {dc, crmOrgId}, upkeep})
      return {connector: {id, org, kind, dc, crmOrgId, crmUserId}, ...verbs(reach)}
    },
  }
}

const verbs = (reach: Reach): Omit<Connection, 'connector'> => ({
  createRecords: (module, records, options) => createRecords(reach, module, records, options),
  updateRecords: (module, records, options) => updateRecords(reach, module, records, options),
  findRecords: (query, options) => findRecords(reach, query, options),
  readRecord: (module, id, options) => readRecord(reach, module, id, options),
  readRecords: (query, options) => readRecords(reach, query, options),
  searchWord: (query, options) => searchWord(reach, query, options),
  searchValue: (query, options) => searchValue(reach, query, options),
  readLicence: options => readLicence(reach, options),
  currentUser: options => readCurrentUser(reach, options),
  countActiveUsers: options => countActiveUsers(reach, options),
  findUser: (zuid, options) => findUser(reach, zuid, options),
  readModules: options => readModules(reach, options),
})

const sayState = (state: 'ended' | 'disconnected') =>
  state === 'ended'
    ? 'The CRM ended its consent to this connection: an administrator has to connect it again'
    : 'This connection was disconnected: an administrator has to connect it again'
