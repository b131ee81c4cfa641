/** What is not verified about the CRM, or changes between its versions, is a switch. An org may have some of its own. */
export type Switches = {
  /** Refused records are answered with 202, as older versions did. */
  legacy202: boolean
  /** Unknown and read-only keys are refused; otherwise they are ignored and the record says SUCCESS. */
  strictFields: boolean
  /** Picklist values outside the list are refused; otherwise stored. */
  strictPicklists: boolean
  /** More than 2000 subform elements: answer the parents that fit; otherwise refuse the request. */
  cutSubforms: boolean
  /** Rows a subform may have in one record; null: no limit. */
  subformRowsPerRecord: number | null
  /** Rows a single read gives before `$has_more`; null: all. */
  subformRowsRead: number | null
  searchLagSeconds: number
  /** COQL shows a write only so long after it; reads by id and unique checks see it at once. */
  coqlLagSeconds: number
  criteriaLimit: number
  coqlCaseSensitive: boolean
  coqlInLimit: number
  /** More than two conditions must be bracketed in pairs. */
  coqlPairs: boolean
  coqlNeedsWhere: boolean
  /** Columns WHERE refuses, as `Created_By`. */
  coqlRefusedColumns: string[]
  /** Status of a token answer that holds an error. */
  tokenErrorStatus: 200 | 400
  mintsPerTenMinutes: number
  /** How long an access token lives, and is said to live. */
  accessTokenSeconds: number
  refreshTokensPerUser: number
  refreshTokensPerMinute: number | null
  /** The oldest access token of a grant dies early beyond this many; null: never. */
  liveAccessTokens: number | null
  credits: boolean
  concurrency: boolean
  /** Credits of a call answered 4xx; a 429 costs nothing. */
  refusedCallsCost: boolean
  displayField: 'object' | 'string' | 'null'
  /** How far the time it tells, in `Date` headers and in records, is off the time it lives by. */
  clockOffsetSeconds: number
  /** Milliseconds every CRM call takes. */
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
  criteriaLimit: 10,
  coqlCaseSensitive: false,
  coqlInLimit: 50,
  coqlPairs: true,
  coqlNeedsWhere: true,
  coqlRefusedColumns: [],
  tokenErrorStatus: 200,
  mintsPerTenMinutes: 10,
  accessTokenSeconds: 3600,
  refreshTokensPerUser: 20,
  refreshTokensPerMinute: null,
  liveAccessTokens: null,
  credits: true,
  concurrency: true,
  refusedCallsCost: true,
  displayField: 'object',
  clockOffsetSeconds: 0,
  latencyMs: 0,
}

export const changeSwitches = (switches: Switches, changes: Partial<Switches>) => {
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in defaultSwitches)) throw new TypeError(`No such switch: ${name}`)
    Object.assign(switches, {[name]: value})
  }
}
