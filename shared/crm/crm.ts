import {type ConnectorRow, readConnector} from '../../sql/connectors.ts'
import type {Licence} from '../../sql/crm-quota.ts'
import type {Pool} from '../../sql/database.ts'
import type {Capabilities, DoctorReport} from '../../sql/doctor-reports.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'
import type {BulkRead} from './bulk/bulk-read.ts'
import type {BulkWrite} from './bulk/bulk-write.ts'
import {openClient} from './client.ts'
import type {DiscoveredModule} from './discovered.ts'
import type {CrmError, CrmProblem} from './error.ts'
import {openGeneric} from './generic.ts'
import {openGrants} from './grant.ts'
import {openAdhocLimiter, unlimited} from './limits/adhoc-limiter.ts'
import type {Budget} from './limits/budget.ts'
import {openPaces} from './limits/paces.ts'
import {openCrmQuotas} from './limits/quota.ts'
import type {ChangesQuery, ModuleChanges} from './record-changes.ts'
import type {PricedCall} from './request.ts'
import type {ParentRows, Replacement, SubformFields} from './subforms.ts'
import type {CrmAccess} from './visibility.ts'
import {openZoho, type ZohoDeps} from './zoho.ts'

export {CrmError, type CrmProblem} from './error.ts'

export type Crm = {
  open(connector: string, options?: OpenOptions): Promise<Connection>
  /** Revokes the connection's grant at the CRM. Waits at most eight seconds. A failure is logged, not thrown. */
  revoke(connector: ConnectorRow, refreshSealed: string): Promise<void>
  close(): Promise<void>
}
/**
 * Options of a connection. `upkeep`: background calls, which never use the one probe call a minute that an exhausted daily quota allows. `slots:
 * 'own'`: the caller holds a share of the CRM org's slot pool and takes a slot for each call. By default, each call takes a slot of the ad-hoc
 * limiter. `onCall`: called after each call that may have cost credits.
 */
type OpenOptions = {upkeep?: boolean; slots?: 'own'; onCall?: (call: PricedCall) => void}

/** The adapter of one kind of CRM. In the connections that it opens, operations that the CRM does not support throw NOT_OFFERED or are null. */
export type Adapter = {
  open(connector: ConnectorRow, options: OpenOptions & Required<Pick<OpenOptions, 'onCall'>>): Promise<Verbs>
  /** Revokes the grant. Returns the reason of a failure; null on success. */
  revoke(connector: ConnectorRow, refreshSealed: string): Promise<string | null>
}
export type Verbs = Omit<Connection, 'connector'>

/**
 * One connection to a CRM. Writes return a result per record, and never throw if the CRM refuses or does not answer. Reads throw CrmError or
 * Refusal.
 */
export type Connection = {
  connector: {id: string; org: string; kind: string; dc: string; crmOrgId: string; crmUserId: string}
  /** The most values of one `findRecords` that the CRM answers in one query. May fall while the connection is open. */
  readonly valuesPerQuery: number
  /** The most `fields` of one `findRecords` that the CRM answers without further calls. */
  columnsPerQuery: number
  /** The most values of one condition of a query. */
  valuesPerCondition: number
  /** The seconds for which a query may miss a write: twice the lag that the doctor measured. 0 if the lag was not measured. */
  lagSeconds: number
  /** Returns whether the text has the form of a record id. No record exists for any other text. */
  isRecordId(text: string): boolean
  createRecords(module: string, records: Record<string, unknown>[], options: WriteOptions): Promise<WriteAnswer>
  updateRecords(module: string, records: (Record<string, unknown> & {id: string})[], options: WriteOptions): Promise<WriteAnswer>
  /** Adds tags to at most 100 records. A repeated call changes nothing. The function is null if the destination has no tags. */
  addTags: ((module: string, tagged: {ids: string[]; tags: string[]}, options: WriteOptions) => Promise<WriteAnswer>) | null
  /**
   * Deletes at most 100 records. The CRM refuses the delete of a deleted record, which `isGone` of `deletes.ts` recognises. The function is null
   * if the destination has no deletes.
   */
  deleteRecords: ((module: string, ids: string[], options: WriteOptions) => Promise<WriteAnswer>) | null
  /** Restores deleted records, at most 200. The function is null if the destination has no recycle bin. */
  restoreRecords: ((ids: string[], options: WriteOptions) => Promise<RestoreAnswer>) | null
  /** Reads which of these records are in the recycle bin. The function is null if the destination has no recycle bin. */
  readBin: ((ids: string[], options?: ReadOptions) => Promise<BinEntry[]>) | null
  /** Reads the newest change since `since` (ms) that this connection did not make. The function is null if the destination has no timeline. */
  readTimeline: ((module: string, id: string, since: number, options?: ReadOptions) => Promise<RecordChange | null>) | null
  /** What the destination refuses if a record changed after a write's `unmodifiedSince`. Null: the doctor has not checked this. */
  unmodifiedSince: Capabilities['unmodifiedSince']
  /** Replaces the rows of one subform field, for each parent completely or not at all. At most 2,000 removed and added rows together. */
  replaceRows(module: string, parents: Replacement[], options: WriteOptions): Promise<WriteAnswer>
  /** Reads a parent with the rows of its subform field. Null if the parent does not exist. */
  readRows(module: string, id: string, subform: SubformFields, options?: ReadOptions): Promise<ParentRows | null>
  /**
   * Finds records of `module` whose `field` equals one of `values`, each with id and `fields`. `unaskable` lists the values that the CRM cannot
   * query.
   */
  findRecords(query: RecordQuery, options?: ReadOptions): Promise<{records: CrmRecord[]; unaskable: {value: string; crm: CrmProblem}[]}>
  /**
   * Finds the ids of records that one user created in a time window, at most 2,000. Other records may be among them, so the caller must compare.
   * Returns `many` if there are more, and null if the CRM refuses the query. The function itself is null if the destination has no such query.
   */
  findMade: ((query: MadeQuery, options?: ReadOptions) => Promise<MadeAnswer | 'many' | null>) | null
  /** Reads a record. Null if the CRM has no such record. */
  readRecord(module: string, id: string, options?: ReadOptions): Promise<CrmRecord | null>
  /** Reads a record together with the offset of the CRM's clock, for comparisons of times. */
  readRecordWithClock(module: string, id: string, options?: ReadOptions): Promise<TimedRecord>
  /** Reads the highest record id of a module. The function is null if the ids of the destination do not grow. */
  readNewest: ((module: string, options?: ReadOptions) => Promise<NewestRecord>) | null
  /** Reads all records of a module by jobs of the CRM. Null if the destination has no such jobs. */
  bulkRead: BulkRead | null
  /** Writes records by jobs of the CRM. Null if the destination has no such jobs. */
  bulkWrite: BulkWrite | null
  /**
   * Reads the changed and deleted records of a module. Null if there are too many. The function is null if the destination cannot list changes.
   */
  readChanges: ((query: ChangesQuery, options?: ReadOptions) => Promise<ModuleChanges | null>) | null
  /** Counts the records of a module. The function is null if the destination cannot count. */
  countRecords: ((module: string, options?: ReadOptions) => Promise<number>) | null
  /** Reads records by id, with these fields. Absent ids are left out; the order is the CRM's. */
  readRecords(query: {module: string; ids: string[]; fields: string[]}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Returns one page of the CRM's free-text search, which lags behind writes. */
  searchWord(query: {module: string; word: string; page: number; perPage: number}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Finds records that the CRM's search calls equal. The search also finds unequal values, so the caller must compare. */
  searchValue(query: {module: string; field: string; value: string}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Reads the org's licence and stores the remaining credits that the answer names. Null if the answer names no edition. */
  readLicence(options?: LicenceOptions): Promise<Licence | null>
  currentUser(options?: ReadOptions): Promise<{id: string; name: string}>
  /** Counts the active users. Null if the destination has no users; the call then only checks the connection. */
  countActiveUsers(options?: ReadOptions): Promise<number | null>
  /** Finds the user with this account of the identity provider, including deactivated and deleted users. Null if there is none. */
  findUser(zuid: string, options?: ReadOptions): Promise<{id: string; isActive: boolean; isAdministrator: boolean} | null>
  /** Reads whether the connection's user is an administrator, and the user's limits. Null if the destination has no users. */
  readAccess(options?: ReadOptions): Promise<CrmAccess | null>
  /** Returns the users who can own records. */
  listUsers(options?: ReadOptions): Promise<CrmUser[]>
  /** Runs the doctor's probes. `write` adds the writing probes, which need a sandbox or developer org. */
  runProbes(options: ProbeOptions): Promise<DoctorReport>
  /**
   * Reads all modules that rows can be written to or looked up in, with their fields. A module that the CRM refuses is marked `unread`. Calls
   * `onProgress` after each module.
   */
  readModules(options?: ReadOptions & {onProgress?(done: number, total: number): Promise<void>}): Promise<DiscoveredModule[]>
}

export type CrmRecord = Record<string, unknown> & {id: string}
/** A record in the recycle bin. `deletedBy`: the id of the user who deleted it. */
export type BinEntry = {id: string; module: string; deletedAt: string; deletedBy: string | null}
/** A change of a record in the CRM's timeline. `fields` is empty if the timeline names none. */
export type RecordChange = {at: string; by: {id: string; name: string} | null; source: string; fields: string[]}
export type CrmUser = {id: string; email: string; name: string}
/**
 * A record, or null if it does not exist, and the clock offset of the answer. `clockOffsetMs`: the CRM's clock minus ours, to the second; null
 * if the answer had no date.
 */
export type TimedRecord = {record: CrmRecord | null; clockOffsetMs: number | null}
export type NewestRecord = {id: string | null; clockOffsetMs: number | null}
export type RecordQuery = {module: string; field: string; values: (string | number)[]; fields: string[]}
/**
 * A query for the records that a user created. `fromMs`, `toMs`: the time window by this process's clock. If `groups` is not empty, a record
 * must fit one group: each field of the group has one of its values. The first field of a group is the most selective.
 */
export type MadeQuery = {
  module: string
  user: string
  fromMs: number
  toMs: number
  groups: {field: string; values: string[]}[][]
  /** A record that the same search must find as well. Without it, an empty answer proves nothing. */
  control?: MadeControl | null
}
/**
 * A record that serves as control. `createdMs`: its creation time by the CRM's clock. `values`: its values in the fields of the groups. `lagMs`:
 * how long after its creation a search may miss the record.
 */
export type MadeControl = {id: string; createdMs: number; values: Record<string, string>; lagMs: number}
/** The records found. `isProven`: every query found the control record, so the time window contains no other record that fits the query. */
export type MadeAnswer = {ids: string[]; clockOffsetMs: number; isProven: boolean}
/** Options of the doctor. When `timeUp` aborts, by default after four minutes, the remaining probes have no result. */
export type ProbeOptions = ReadOptions & {write: boolean; timeUp?: AbortSignal; onProgress?(done: number, total: number): Promise<void>}
export type ReadOptions = {signal?: AbortSignal}
/** Options of a licence call. `onlyAsProbe`: while the quota is exhausted, the call is the one probe call a minute or is not made. */
export type LicenceOptions = ReadOptions & {onlyAsProbe?: boolean}
/**
 * Options of a write. `automations`: true for all of the org's automations, or a list; none by default. `mayLeave`: called just before each
 * request is sent, also before a repetition with a new token. If it returns false, nothing is sent, and every result says so. `layout`: the
 * layout of the records. `assignmentRule`: chooses the owner of created records; updates ignore it. `unmodifiedSince`: updates are refused for
 * records that changed after this time (ms, by the CRM's clock), if the destination checks it.
 */
export type WriteOptions = RecordOptions & {signal?: AbortSignal; mayLeave?: () => boolean; unmodifiedSince?: number | null}
export type Automation = 'workflow' | 'approval' | 'blueprint'
export type RecordOptions = {automations?: boolean | Automation[]; layout?: string | null; assignmentRule?: string | null}

/**
 * The answer to a write: exactly one result per record sent, in order. `clockOffsetMs`: the CRM's clock minus ours, to the second; null if the
 * answer had no date. `whole`: the error that applies to every record, if the CRM refused the call or did not answer it.
 */
export type WriteAnswer = {results: RecordAnswer[]; clockOffsetMs: number | null; whole?: CrmError | null}
/** The answer to a restore. `scheduled`: the ids that the CRM restores later. */
export type RestoreAnswer = WriteAnswer & {scheduled: string[]}
export type RecordAnswer =
  /** `modifiedAt`: the record's `Modified_Time` after the write, if the CRM says it. */
  | {ok: true; recordId: string; modifiedAt?: string | null}
  /**
   * The CRM refused the record or did not answer. `duplicateOf`: the one record that every DUPLICATE_DATA names, if no other record can hold the
   * value.
   */
  | {ok: false; sent: true; crm: CrmProblem; duplicateOf: string | null}
  /** The record was refused before it was sent. */
  | {ok: false; sent: false; refusal: Refusal}

export type CrmDeps = {db: Pool; config: Config; log: Log}

/**
 * Opens the access to all CRMs, once per process. `close` destroys the sockets and returns the ad-hoc slots. Call it before the budget's
 * `close`.
 */
export const openCrm = ({db, config, log, budget}: CrmDeps & {budget: Budget}): Crm => {
  const client = openClient({config, log})
  const adhocLimiter = openAdhocLimiter(budget)
  const limiterOf: ZohoDeps['limiterOf'] = (crmOrg, slots) => (slots === 'own' ? unlimited : adhocLimiter.limiterOf(crmOrg))
  const paces = openPaces({db, log})
  const adapters: Record<string, Adapter> = {
    zoho: openZoho({config, client, limiterOf, grants: openGrants({db, config, log, client}), allowances: openCrmQuotas({db, log})}),
    generic: openGeneric({db, config, client, limiterOf}),
  }
  const adapterOf = ({kind}: ConnectorRow) => {
    const adapter = adapters[kind]
    if (!adapter)
      throw new Refusal(
        'CONNECTION_UNAVAILABLE',
        `This release does not support connections of the kind ${kind}. Ask the operator to upgrade it`,
      )
    return adapter
  }
  return {
    async close() {
      await client.close()
      await paces.close()
      await adhocLimiter.close()
    },
    async open(id, options = {}) {
      const row = await readConnector(db, id)
      if (!row) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
      if (row.state !== 'connected') throw new Refusal('CONNECTION_UNAVAILABLE', describeState(row.state), {connection: row.state})
      const {org, kind, dc, crmOrgId, crmUserId} = row
      const onCall = (call: PricedCall) => {
        paces.note({connector: id, ...call})
        options.onCall?.(call)
      }
      return Object.assign(await adapterOf(row).open(row, {...options, onCall}), {connector: {id, org, kind, dc, crmOrgId, crmUserId}})
    },
    async revoke(row, refreshSealed) {
      const why = await adapterOf(row)
        .revoke(row, refreshSealed)
        .catch(error => String(error))
      if (why) log.warn({connector: row.id, why}, 'grant not revoked at the CRM')
    },
  }
}

const describeState = (state: 'ended' | 'disconnected') =>
  state === 'ended'
    ? 'The CRM ended the consent of this connection. An administrator must connect it again'
    : 'This connection was disconnected. An administrator must connect it again'
