import type {Rewrite} from './rewrites.ts'

/** One switch for each behaviour of the CRM that is unverified or differs between versions. An org can override them. */
export type Switches = {
  /** Whether a write with refused records is answered with 202, as in older versions. */
  legacy202: boolean
  /** Whether unknown and read-only keys are refused. Otherwise they are ignored. */
  strictFields: boolean
  /** Whether picklist values outside the list are refused. Otherwise they are stored. */
  strictPicklists: boolean
  /** What happens to a write with more than 2,000 subform rows: true writes the first records that fit, false refuses it. */
  cutSubforms: boolean
  /** The most rows of one subform of a record; null: no limit. */
  subformRowsPerRecord: number | null
  /** The most rows that a read of one record returns per subform; null: all. */
  subformRowsRead: number | null
  searchLagSeconds: number
  /** The delay until COQL shows a write. Reads by id and unique checks show it at once. */
  coqlLagSeconds: number
  /** The most conditions of a search. Source: the vendor's OpenAPI of module search; its pages say 10. */
  criteriaLimit: number
  coqlCaseSensitive: boolean
  coqlInLimit: number
  /** The most conditions of one COQL query. */
  coqlCriteria: number
  /** The most records of one COQL answer, even if LIMIT is higher. The vendor's OpenAPI of COQL says 200, its pages 2,000. */
  coqlMostRows: number
  coqlColumns: number
  /** Which escapes of a quote inside a text are accepted. */
  coqlQuote: 'both' | 'doubled' | 'backslash'
  /** The accepted forms of a date-time. A value in another form matches nothing. */
  coqlMoments: ('offset' | 'z')[]
  /** Operators that cause a SYNTAX_ERROR, such as `between`. */
  coqlRefusedOperators: string[]
  /** Whether more than two conditions need brackets in pairs. */
  coqlPairs: boolean
  coqlNeedsWhere: boolean
  /** Columns that WHERE refuses, such as `Created_By`. */
  coqlRefusedColumns: string[]
  /** The status of a token endpoint's error. */
  tokenErrorStatus: 200 | 400
  mintsPerTenMinutes: number
  /** The API host in token answers; null: the host of the data centre. */
  apiDomain: string | null
  /** The lifetime of an access token. The token answer states it. */
  accessTokenSeconds: number
  refreshTokensPerUser: number
  refreshTokensPerMinute: number | null
  /** The number of valid access tokens of a refresh token. Beyond it, the oldest becomes invalid. Null: no limit. */
  liveAccessTokens: number | null
  credits: boolean
  /** The modules in which users see only records they own; administrators see all. */
  privateModules: string[] | 'all'
  /** Whether users with a clone of the administrator's profile are administrators. */
  clonesAreAdmins: boolean
  concurrency: boolean
  /** Whether a call that is answered with 4xx uses its credits. A call over the concurrency limit or the quota never does. */
  refusedCallsCost: boolean
  /**
   * What If-Unmodified-Since refuses if a record of a batch changed: that record, the whole batch, or nothing. The vendor's OpenAPI has
   * ALREADY_MODIFIED in answers of status 412 only.
   */
  unmodifiedSince: 'record' | 'whole' | 'ignored'
  /** The error code of a restore, if another record has the unique value by now. */
  restoreTakenCode: string
  /** Whether a restore changes the `Modified_Time` of the record. */
  restoreTouchesModified: boolean
  /** The most records and subform rows that a restore puts back at once. A larger restore is scheduled. */
  restoreAtOnce: number
  /** The seconds until a scheduled restore takes effect. */
  restoreSeconds: number
  /** The seconds until the timeline shows a change. */
  timelineLagSeconds: number
  /** The entries of a timeline page without `per_page`. The vendor's pages say 200; the sample of its OpenAPI has 25. */
  timelinePageSize: number
  /** The fixed part of the duration of a bulk job. */
  bulkSeconds: number
  /** The part of the duration of a bulk job for each row. */
  bulkRowMs: number
  /** Whether all bulk jobs stop making progress. */
  bulkHold: boolean
  /** The most records in one page of a bulk read. */
  bulkReadPage: number
  /** The most fields of a bulk read. The vendor's OpenAPI says 1,000, a public note 200. */
  bulkReadFields: number
  /** Whether bulk reads include converted leads. */
  bulkReadConverted: boolean
  /** How bulk reads spell true and false. The vendor does not document it. */
  bulkReadBooleans: readonly [yes: string, no: string]
  /** The most rows of a bulk write's file. Two pages of the vendor say 25,000 and 10,000. */
  bulkRows: number
  /** Whether bulk writes run automations. The vendor does not document it. */
  bulkAutomations: boolean
  /** Where `ignore_empty` has an effect: in the resource, beside the resources, or both. */
  bulkIgnoreEmpty: 'either' | 'resource' | 'top'
  /** The form of the address of a bulk write's result. */
  bulkResultUrl: 'relative' | 'absolute'
  /** How the state of a running bulk write is spelled. */
  bulkInProgress: 'INPROGRESS' | 'IN PROGRESS'
  /** Whether the result of an insert names the existing record for which a row was skipped. */
  bulkNamesSkipped: boolean
  displayField: 'object' | 'string' | 'null'
  /** Whether fields outside the layout that a record names are dropped. Otherwise they are stored. */
  layoutDrops: boolean
  /** What the CRM changes in records after a write. */
  rewrites: Rewrite[]
  /** The difference between the time that the CRM shows, in `Date` headers and records, and its clock. */
  clockOffsetSeconds: number
  /** The duration that is added to every CRM call. */
  latencyMs: number
}

export const defaultSwitches: Switches = {
  legacy202: false,
  strictFields: false,
  strictPicklists: false,
  cutSubforms: false,
  subformRowsPerRecord: null,
  subformRowsRead: null,
  searchLagSeconds: 0,
  coqlLagSeconds: 0,
  criteriaLimit: 15,
  coqlCaseSensitive: false,
  coqlInLimit: 50,
  coqlCriteria: 25,
  coqlMostRows: 2000,
  coqlColumns: 50,
  coqlQuote: 'both',
  coqlMoments: ['offset', 'z'],
  coqlRefusedOperators: [],
  coqlPairs: true,
  coqlNeedsWhere: true,
  coqlRefusedColumns: [],
  tokenErrorStatus: 200,
  mintsPerTenMinutes: 10,
  apiDomain: null,
  accessTokenSeconds: 3600,
  refreshTokensPerUser: 20,
  refreshTokensPerMinute: null,
  liveAccessTokens: null,
  credits: true,
  privateModules: [],
  clonesAreAdmins: false,
  concurrency: true,
  refusedCallsCost: true,
  unmodifiedSince: 'whole',
  restoreTakenCode: 'DUPLICATE_DATA',
  restoreTouchesModified: false,
  restoreAtOnce: 1000,
  restoreSeconds: 5,
  timelineLagSeconds: 0,
  timelinePageSize: 200,
  bulkSeconds: 60,
  bulkRowMs: 1,
  bulkHold: false,
  bulkReadPage: 200_000,
  bulkReadFields: 200,
  bulkReadConverted: true,
  bulkReadBooleans: ['true', 'false'],
  bulkRows: 10_000,
  bulkAutomations: false,
  bulkIgnoreEmpty: 'either',
  bulkResultUrl: 'absolute',
  bulkInProgress: 'INPROGRESS',
  bulkNamesSkipped: false,
  displayField: 'object',
  layoutDrops: true,
  rewrites: [],
  clockOffsetSeconds: 0,
  latencyMs: 0,
}

export const changeSwitches = (switches: Switches, changes: Partial<Switches>) => {
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in defaultSwitches)) throw new TypeError(`No such switch: ${name}`)
    Object.assign(switches, {[name]: value})
  }
}
