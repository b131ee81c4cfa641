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
 * `upkeep`: background calls, which never use the one probe call a minute that an exhausted daily quota allows. `slots: 'own'`: the caller has a
 * share of the CRM org's slot pool and takes a slot for each call; by default, calls take slots of the ad-hoc limiter. `onCall` is called after each
 * call that may have cost credits.
 */
type OpenOptions = {upkeep?: boolean; slots?: 'own'; onCall?: (call: PricedCall) => void}

/** The adapter of one kind of CRM. An operation that the CRM does not support is null in `Verbs`, or throws NOT_OFFERED. */
export type Adapter = {
  open(connector: ConnectorRow, options: OpenOptions & Required<Pick<OpenOptions, 'onCall'>>): Promise<Verbs>
  /** Revokes the grant. Returns the reason of a failure; null on success. */
  revoke(connector: ConnectorRow, refreshSealed: string): Promise<string | null>
}
export type Verbs = Omit<Connection, 'connector'>

/**
 * One connection to a CRM. An operation is null if the CRM does not support it. Writes return a result per record, and do not throw if the CRM
 * refuses or does not answer. Reads throw CrmError or Refusal.
 */
export type Connection = {
  connector: {id: string; org: string; kind: string; dc: string; crmOrgId: string; crmUserId: string}
  /** The maximum number of values that `findRecords` sends in one query. It may fall while the connection is open. */
  readonly valuesPerQuery: number
  /** The maximum number of `fields` that `findRecords` reads without further calls. */
  columnsPerQuery: number
  /** The maximum number of `fields` of one call of `readRecords`. */
  fieldsPerRead: number
  valuesPerCondition: number
  /** A query may miss a write for this time: twice the lag that the doctor measured, or 0 if the lag was not measured. */
  lagSeconds: number
  /** Returns whether the text has the form of a record id. No record exists for any other text. */
  isRecordId(text: string): boolean
  createRecords(module: string, records: Record<string, unknown>[], options: WriteOptions): Promise<WriteAnswer>
  updateRecords(module: string, records: (Record<string, unknown> & {id: string})[], options: WriteOptions): Promise<WriteAnswer>
  /** Adds tags to at most 100 records. A repeated call changes nothing. */
  addTags: ((module: string, tagged: {ids: string[]; tags: string[]}, options: WriteOptions) => Promise<WriteAnswer>) | null
  /** Deletes at most 100 records. If a record was deleted before, the CRM refuses; `isGone` of `deletes.ts` recognises this refusal. */
  deleteRecords: ((module: string, ids: string[], options: WriteOptions) => Promise<WriteAnswer>) | null
  /** Restores at most 200 deleted records. */
  restoreRecords: ((ids: string[], options: WriteOptions) => Promise<RestoreAnswer>) | null
  /** Reads which of these records are in the recycle bin. */
  readBin: ((ids: string[], options?: ReadOptions) => Promise<BinEntry[]>) | null
  /** Reads the newest change since `since` (ms) that this connection did not make. */
  readTimeline: ((module: string, id: string, since: number, options?: ReadOptions) => Promise<RecordChange | null>) | null
  /**
   * What the CRM refuses if a record changed after the time `unmodifiedSince` of a write. `whole`: the whole call. `record`: that record only.
   * `ignored`: nothing. Null: the doctor has not checked this.
   */
  unmodifiedSince: Capabilities['unmodifiedSince']
  /**
   * Replaces the subform rows of parents in one subform field. The CRM replaces the rows of one parent completely or not at all. One call removes
   * and adds at most 2,000 rows in total.
   */
  replaceRows(module: string, parents: Replacement[], options: WriteOptions): Promise<WriteAnswer>
  readRows(module: string, id: string, subform: SubformFields, options?: ReadOptions): Promise<ParentRows | null>
  /** Finds records whose `field` equals one of `values`. `unaskable` lists the values that the CRM cannot query. */
  findRecords(query: RecordQuery, options?: ReadOptions): Promise<{records: CrmRecord[]; unaskable: {value: string; crm: CrmProblem}[]}>
  /**
   * Finds the ids of records that one user created in a time window, at most 2,000. Other records may be among them, so the caller must compare.
   * Returns `many` if there are more, and null if the CRM refuses the query.
   */
  findMade: ((query: MadeQuery, options?: ReadOptions) => Promise<MadeAnswer | 'many' | null>) | null
  readRecord(module: string, id: string, options?: ReadOptions): Promise<CrmRecord | null>
  readRecordWithClock(module: string, id: string, options?: ReadOptions): Promise<TimedRecord>
  /** Reads the highest record id of a module. The function is null if the ids of the destination do not grow. */
  readNewest: ((module: string, options?: ReadOptions) => Promise<NewestRecord>) | null
  bulkRead: BulkRead | null
  bulkWrite: BulkWrite | null
  /** Reads the changed and deleted records of a module. Returns null if there are too many. */
  readChanges: ((query: ChangesQuery, options?: ReadOptions) => Promise<ModuleChanges | null>) | null
  countRecords: ((module: string, options?: ReadOptions) => Promise<number>) | null
  /** Reads records by id. The result has the CRM's order, and lacks records that do not exist. */
  readRecords(query: {module: string; ids: string[]; fields: string[]}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Returns one page of the CRM's free-text search, which lags behind writes. */
  searchWord(query: {module: string; word: string; page: number; perPage: number}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Returns candidates from the CRM's search. The search also finds unequal values, so the caller must compare. */
  searchValue(query: {module: string; field: string; value: string}, options?: ReadOptions): Promise<CrmRecord[]>
  /** Also stores the remaining credits that the answer names. Null if the answer names no edition. */
  readLicence(options?: LicenceOptions): Promise<Licence | null>
  currentUser(options?: ReadOptions): Promise<{id: string; name: string}>
  /** Null if the destination has no users; the call then only checks the connection. */
  countActiveUsers(options?: ReadOptions): Promise<number | null>
  /** Finds the user with this account of the identity provider, including deactivated and deleted users. Null if there is none. */
  findUser(zuid: string, options?: ReadOptions): Promise<{id: string; isActive: boolean; isAdministrator: boolean} | null>
  /** Null if the destination has no users. */
  readAccess(options?: ReadOptions): Promise<CrmAccess | null>
  /** Returns the users who can own records. */
  listUsers(options?: ReadOptions): Promise<CrmUser[]>
  /** `write` adds the writing probes, which need a sandbox or developer org. */
  runProbes(options: ProbeOptions): Promise<DoctorReport>
  /** Reads the modules that rows can be written to or looked up in, with their fields. A module that the CRM refuses is marked `unread`. */
  readModules(options?: ReadOptions & {onProgress?(done: number, total: number): Promise<void>}): Promise<DiscoveredModule[]>
}

export type CrmRecord = Record<string, unknown> & {id: string}
/** `deletedBy`: the id of the user who deleted the record. */
export type BinEntry = {id: string; module: string; deletedAt: string; deletedBy: string | null}
/** `fields` is empty if the timeline names none. */
export type RecordChange = {at: string; by: {id: string; name: string} | null; source: string; fields: string[]}
export type CrmUser = {id: string; email: string; name: string}
/** `record` is null if it does not exist. `clockOffsetMs`: the CRM's clock minus ours, to the second; null if the answer had no date. */
export type TimedRecord = {record: CrmRecord | null; clockOffsetMs: number | null}
export type NewestRecord = {id: string | null; clockOffsetMs: number | null}
export type RecordQuery = {module: string; field: string; values: (string | number)[]; fields: string[]}
/**
 * Selects records that a user created. `fromMs`, `toMs`: the time window by this process's clock. If `groups` is not empty, a record must fit one
 * group: each `field` of the group has one of its `values`. The first field of a group is the most selective.
 */
export type MadeQuery = {
  module: string
  user: string
  fromMs: number
  toMs: number
  groups: {field: string; values: string[]}[][]
  /** A record that the same search must also find. Without it, an empty answer proves nothing. */
  control?: MadeControl | null
}
/**
 * A known record that a search must find. `createdMs`: its creation time by the CRM's clock. `values`: its values in the fields of the groups.
 * `lagMs`: how long after its creation a search may miss the record.
 */
export type MadeControl = {id: string; createdMs: number; values: Record<string, string>; lagMs: number}
/** `isProven`: every query found the control record, so the time window contains no other record that fits the query. */
export type MadeAnswer = {ids: string[]; clockOffsetMs: number; isProven: boolean}
/** When `timeUp` aborts, by default after four minutes, the remaining probes have no result. */
export type ProbeOptions = ReadOptions & {write: boolean; timeUp?: AbortSignal; onProgress?(done: number, total: number): Promise<void>}
export type ReadOptions = {signal?: AbortSignal}
/** `onlyAsProbe`: while the quota is exhausted, the call is sent only if it is the one probe call a minute. */
export type LicenceOptions = ReadOptions & {onlyAsProbe?: boolean}
/**
 * `automations`: true for all of the org's automations, or a list; none by default. `mayLeave`: called just before each request is sent, also before
 * a repetition with a new token. If `mayLeave` returns false, nothing is sent, and every result says so. `assignmentRule`: chooses the owner of
 * created records; updates ignore it. `unmodifiedSince`: updates of records that changed after this time (ms, by the CRM's clock) are refused, if the
 * destination checks it.
 */
export type WriteOptions = RecordOptions & {signal?: AbortSignal; mayLeave?: () => boolean; unmodifiedSince?: number | null}
export type Automation = 'workflow' | 'approval' | 'blueprint'
export type RecordOptions = {automations?: boolean | Automation[]; layout?: string | null; assignmentRule?: string | null}

/**
 * Exactly one result per record sent, in order. `clockOffsetMs`: the CRM's clock minus ours, to the second; null if the answer had no date. `whole`:
 * the error that applies to every record, if the CRM refused the call or did not answer it.
 */
export type WriteAnswer = {results: RecordAnswer[]; clockOffsetMs: number | null; whole?: CrmError | null}
/** `scheduled`: the ids that the CRM restores later. */
export type RestoreAnswer = WriteAnswer & {scheduled: string[]}
export type RecordAnswer =
  /** `modifiedAt`: the record's `Modified_Time` after the write, if the CRM returns it. */
  | {ok: true; recordId: string; modifiedAt?: string | null}
  /**
   * The CRM refused the record or did not answer. `duplicateOf`: the id of the record that has every duplicate value; null unless there is exactly
   * one.
   */
  | {ok: false; sent: true; crm: CrmProblem; duplicateOf: string | null}
  | {ok: false; sent: false; refusal: Refusal}

export type CrmDeps = {db: Pool; config: Config; log: Log}

/** Call this once per process. `close` destroys the sockets and returns the ad-hoc slots; call it before the budget's `close`. */
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
