import type {Rewrite} from './rewrites.ts'

/** A switch for each behaviour of the CRM that is unverified or differs between versions. An org may override switches. */
export type Switches = {
  /** Answers refused records with 202, as older versions did. */
  legacy202: boolean
  /** Refuses unknown and read-only keys; otherwise they are ignored and the record is a SUCCESS. */
  strictFields: boolean
  /** Refuses picklist values outside the list; otherwise stores them. */
  strictPicklists: boolean
  /** With more than 2000 subform elements, accepts the parents that fit; otherwise refuses the request. */
  cutSubforms: boolean
  /** The most subform rows of one record; null: no limit. */
  subformRowsPerRecord: number | null
  /** The most subform rows in a single read before `$has_more`; null: all. */
  subformRowsRead: number | null
  searchLagSeconds: number
  /** The delay after which COQL shows a write; reads by id and unique checks see it at once. */
  coqlLagSeconds: number
  /** Source: the vendor's OpenAPI of module search; its pages say 10. */
  criteriaLimit: number
  coqlCaseSensitive: boolean
  coqlInLimit: number
  /** The most conditions of one query. */
  coqlCriteria: number
  /** The most records of one answer, whatever LIMIT says. The vendor's OpenAPI of COQL says 200, its pages 2,000. */
  coqlMostRows: number
  coqlColumns: number
  /** The accepted escape of a quote inside a text. */
  coqlQuote: 'both' | 'doubled' | 'backslash'
  /** The accepted forms of a date-time; other forms match nothing. */
  coqlMoments: ('offset' | 'z')[]
  /** Operators that cause a SYNTAX_ERROR, such as `between`. */
  coqlRefusedOperators: string[]
  /** Requires more than two conditions to be bracketed in pairs. */
  coqlPairs: boolean
  coqlNeedsWhere: boolean
  /** Columns refused in WHERE, such as `Created_By`. */
  coqlRefusedColumns: string[]
  /** The status of a token answer with an error. */
  tokenErrorStatus: 200 | 400
  mintsPerTenMinutes: number
  /** The API host in token answers; null: that of the data centre. */
  apiDomain: string | null
  /** The lifetime of an access token, as stated in its answer. */
  accessTokenSeconds: number
  refreshTokensPerUser: number
  refreshTokensPerMinute: number | null
  /** Beyond this number the oldest access token of a grant becomes invalid; null: never. */
  liveAccessTokens: number | null
  credits: boolean
  /** Modules in which users see only their own records. */
  privateModules: string[] | 'all'
  /** Whether users with a clone of the administrator's profile are administrators. */
  clonesAreAdmins: boolean
  concurrency: boolean
  /** Credits of a call answered 4xx; a 429 costs nothing. */
  refusedCallsCost: boolean
  /**
   * The part of a batch that If-Unmodified-Since refuses for one changed record. The vendor's OpenAPI has ALREADY_MODIFIED in
   * answers of status 412 only.
   */
  unmodifiedSince: 'record' | 'whole' | 'ignored'
  /** The code for a record of the bin whose unique value another record took meanwhile. */
  restoreTakenCode: string
  /** Whether a restored record has a new `Modified_Time`. */
  restoreTouchesModified: boolean
  /** The most records, with their subform rows, that a restore returns at once; a restore of more is scheduled. */
  restoreAtOnce: number
  /** The time after which a scheduled restore is done. */
  restoreSeconds: number
  /** The delay after which the timeline shows a change. */
  timelineLagSeconds: number
  /** The entries of one page of the timeline without `per_page`. The vendor's pages say 200; the sample of its OpenAPI has 25. */
  timelinePageSize: number
  /** The duration of a bulk job: a fixed time, and one for each row. */
  bulkSeconds: number
  bulkRowMs: number
  /** No bulk job makes progress. */
  bulkHold: boolean
  /** The records of one page of a bulk read. */
  bulkReadPage: number
  /** The most fields of a bulk read. The vendor's OpenAPI says 1,000, a public note 200. */
  bulkReadFields: number
  /** Whether bulk reads have converted leads. */
  bulkReadConverted: boolean
  /** The most rows of a bulk write's file. Two pages of the vendor say 25,000 and 10,000. */
  bulkRows: number
  /** Whether bulk writes run automations. No document tells. */
  bulkAutomations: boolean
  /** Where `ignore_empty` has an effect. */
  bulkIgnoreEmpty: 'either' | 'resource' | 'top'
  /** The address of a bulk write's result. */
  bulkResultUrl: 'relative' | 'absolute'
  /** How a running bulk write is spelled. */
  bulkInProgress: 'INPROGRESS' | 'IN PROGRESS'
  /** Whether an insert names the record for which it skipped a row. */
  bulkNamesSkipped: boolean
  displayField: 'object' | 'string' | 'null'
  /** Drops the fields outside the layout that a record names; otherwise stores them. */
  layoutDrops: boolean
  /** What the CRM does to written records besides storing what was sent. */
  rewrites: Rewrite[]
  /** The offset of the shown time, in `Date` headers and records, from the true time. */
  clockOffsetSeconds: number
  /** The duration of every CRM call in milliseconds. */
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
