import type {FaultAction, FaultType} from '../simulators/crm/faults.ts'
import type {Switches} from '../simulators/crm/switches.ts'

/**
 * One way to call the CRM. This file holds the expected result of every fault at every door. It is written by hand and not derived from the
 * code.
 */
export type Door = 'create' | 'update' | 'rows' | 'rowsRead' | 'byIds' | 'one'
export const faultOperations: Door[] = ['create', 'update', 'rows', 'rowsRead', 'byIds', 'one']
/** Whether a fault at this door hits a write. At `rowsRead`, a fault hits the read of the first parent's rows, before anything is written. */
export const isWrite = (door: Door) => door === 'create' || door === 'update' || door === 'rows'

/**
 * The CRM error object. `part`: the part of the CRM's JSON that `response` and `details` come from: the whole body, its first error, the entry
 * of the record, or none. Times are in ms. `upTo`: the time may be up to ten seconds less.
 */
export type NoAnswerFault = {
  code: string | null
  status: number | null
  retryable: boolean
  unanswered: boolean
  rateLimited: boolean
  retryAfterMs: Time | null
  quotaSpent: boolean
  part: 'body' | 'first' | 'item' | null
}
export type Time = number | {upTo: number}

/**
 * Result for one of two items. `said`: the CRM's answer to it. `duplicate`: our answer names the duplicate record. `absent`: the CRM has no such
 * record.
 */
export type Item = 'done' | 'absent' | {said: NoAnswerFault; duplicate?: boolean}

/** Two separate results, one answer of the CRM for both items, or a refusal before sending. `ends`: the refusal ends the connection. */
export type Expected =
  | {items: [Item, Item]}
  /** `waits`: the wait that Lading adds to the CRM's answer. */
  | {relayed: NoAnswerFault; waits?: Time}
  | {refused: 'CONNECTION_THROTTLED' | 'CONNECTION_UNAVAILABLE' | 'DAILY_ALLOWANCE_SPENT'; ends?: boolean; retryAfterMs?: Time}

export type FaultGiven = {ids: string[]; keys: string[]; org: string}
type Action = FaultAction | FaultType
export type Fault = {action: Action | ((given: FaultGiven) => Action); times?: number}

/**
 * One fault with its expected results. A result for one door takes precedence over `write` and `read`, and these over `all`. `does`: whether the
 * CRM executes the request. `calls`: number of calls; default 1, or 0 for a refusal before sending.
 */
export type Row = Partial<Record<Door | 'write' | 'read' | 'all', Expected>> & {
  fault: string
  faults: Fault[]
  does?: boolean
  calls?: number
  /** Whether the read of the other parent's rows meets the same fault. */
  lasts?: boolean
  /** Whether the quota counts as exhausted afterwards. Default: true if a 429 reported it, or if the request was refused for it. */
  spent?: boolean
  /** Requires a connection whose token was not used yet. */
  fresh?: boolean
  switches?: Partial<Switches>
}

export const silent = (status: number | null, more: Partial<NoAnswerFault> = {}): NoAnswerFault => ({
  code: null,
  status,
  retryable: true,
  unanswered: true,
  rateLimited: false,
  retryAfterMs: null,
  quotaSpent: false,
  part: null,
  ...more,
})
export const declined = (code: string | null, status: number, more: Partial<NoAnswerFault> = {}): NoAnswerFault => ({
  code,
  status,
  retryable: false,
  unanswered: false,
  rateLimited: false,
  retryAfterMs: null,
  quotaSpent: false,
  part: 'body',
  ...more,
})
export const limited = (more: Partial<NoAnswerFault> = {}) =>
  declined('TOO_MANY_REQUESTS', 429, {rateLimited: true, retryable: true, ...more})
export const spent = (more: Partial<NoAnswerFault> = {}) => limited({retryable: false, quotaSpent: true, ...more})

export const done: Expected = {items: ['done', 'done']}
export const absent: Expected = {items: ['absent', 'absent']}
const relayed = (said: NoAnswerFault): Expected => ({relayed: said})
const each = (said: NoAnswerFault): Expected => ({items: [{said}, {said}]})
const moved = {write: relayed(silent(302, {retryable: false})), read: relayed(silent(302))}
const fifth = {code: 'INTERNAL_ERROR', part: 'body'} as const

const one = (fault: string, action: Fault['action'], more: Omit<Row, 'fault' | 'faults'>): Row => ({fault, faults: [{action}], ...more})

/** Faults a–i and q–s: failures of the connection, missing or malformed answers, and answers with missing parts. */
export const missingAnswers: Row[] = [
  one('a: the call is dropped before the CRM acts', 'dropBefore', {all: relayed(silent(null)), does: false}),
  one('b: the call is dropped after the CRM acted', 'dropAfter', {all: relayed(silent(null)), does: true}),
  one('c: the answer breaks off', 'truncateAfter', {all: relayed(silent(200)), does: true}),
  one('d: 500 before the CRM acts', 'status5xxBefore', {all: relayed(silent(500, fifth)), does: false}),
  one(
    'd: 502 with an HTML page before the CRM acts',
    {type: 'status5xxBefore', status: 502, html: true},
    {all: relayed(silent(502)), does: false},
  ),
  one(
    'd: 503 with a wait before the CRM acts',
    {type: 'status5xxBefore', status: 503, retryAfter: 7},
    {all: relayed(silent(503, {...fifth, retryAfterMs: 7_000})), does: false},
  ),
  one('d: 504 before the CRM acts', {type: 'status5xxBefore', status: 504}, {all: relayed(silent(504, fifth)), does: false}),
  one('e: 500 after the CRM acted', 'status5xxAfter', {all: relayed(silent(500, fifth)), does: true}),
  one('e: 502 after the CRM acted', {type: 'status5xxAfter', status: 502}, {all: relayed(silent(502, fifth)), does: true}),
  one(
    'e: 503 with an HTML page and a wait after the CRM acted',
    {type: 'status5xxAfter', status: 503, html: true, retryAfter: 0.4},
    {all: relayed(silent(503, {retryAfterMs: 400})), does: true},
  ),
  one(
    'e: 504 with an HTML page after the CRM acted',
    {type: 'status5xxAfter', status: 504, html: true},
    {all: relayed(silent(504)), does: true},
  ),
  one('f: an HTML page instead of JSON', 'nonJson', {all: relayed(silent(200)), does: true}),
  one('g: 200 without a body', 'emptyBody', {all: relayed(silent(200)), does: true}),
  one('g: 201 without a body', {type: 'emptyBody', status: 201}, {all: relayed(silent(201)), does: true}),
  one('g: 204', {type: 'emptyBody', status: 204}, {write: relayed(silent(204)), read: absent, does: true}),
  one('h: success without record ids', 'successNoId', {all: done, does: true, create: each(silent(201, {code: 'SUCCESS', part: 'item'}))}),
  one(
    'h: success without the id of one record',
    {type: 'successNoId', index: 1},
    {all: done, does: true, create: {items: ['done', {said: silent(201, {code: 'SUCCESS', part: 'item'})}]}},
  ),
  one('i: an answer with one entry missing', 'shortData', {
    write: each(silent(200, {part: 'body'})),
    create: each(silent(201, {part: 'body'})),
    read: absent,
    does: true,
    // The CRM lists the newest record first, so the older one is missing.
    byIds: {items: ['absent', 'done']},
  }),
  one(
    'i: an answer without entries',
    {type: 'shortData', by: 2},
    {write: each(silent(200, {part: 'body'})), create: each(silent(201, {part: 'body'})), read: absent, does: true},
  ),
  // Nothing shows that entries of a create are reordered. Those of an update name other records than were sent at their position.
  one('i: an answer with reordered entries', 'shuffleData', {
    write: each(silent(200, {part: 'body'})),
    create: done,
    read: done,
    does: true,
  }),
  one('q: slower than the timeout, before the CRM acts', {type: 'slow', ms: 4_200}, {all: relayed(silent(null)), does: true}),
  one(
    'q: slower than the timeout, after the CRM acted',
    {type: 'slow', ms: 4_200, when: 'after'},
    {all: relayed(silent(null)), does: true},
  ),
  one('q: slow but within the timeout', {type: 'slow', ms: 80, when: 'after'}, {all: done}),
  one('r: held before the CRM acts, released later', 'hold', {all: relayed(silent(null)), does: true}),
  one('r: held after the CRM acted, released later', {type: 'hold', when: 'after'}, {all: relayed(silent(null)), does: true}),
  one('s: redirected before the CRM acts', 'redirect', {...moved, does: false}),
  one('s: redirected after the CRM acted', {type: 'redirect', when: 'after'}, {...moved, does: true}),
]

const foreignName = 'Somebody else’s'
const taken = ({org, keys}: FaultGiven): FaultAction => ({
  type: 'foreignCreate',
  org,
  module: 'Accounts',
  record: {Account_Name: foreignName, Account_Number: keys[0]},
})
const changed = ({org, ids}: FaultGiven): FaultAction => ({
  type: 'foreignCreate',
  org,
  module: 'Accounts',
  record: {id: ids[0], Billing_City: 'Elsewhere'},
})
const added = ({org, ids}: FaultGiven): FaultAction => ({
  type: 'foreignCreate',
  org,
  module: 'Orders',
  record: {id: ids[0], Order_Lines: [{Product: 'Foreign'}]},
})

/** Faults t and u: changes by other users of the CRM, and a wrong clock of the CRM. */
export const meanwhile: Row[] = [
  one('t: another user takes the unique value', taken, {
    all: done,
    create: {items: [{said: declined('DUPLICATE_DATA', 207, {part: 'item'}), duplicate: true}, 'done']},
  }),
  one('t: another user changes the record', changed, {create: done, update: done, byIds: done, one: done}),
  one('t: another user adds a row', added, {rows: done, rowsRead: done}),
  one('u: the CRM’s clock an hour behind', {type: 'clockSkew', seconds: -3_600}, {all: done}),
  one('u: the CRM’s clock an hour ahead', {type: 'clockSkew', seconds: 3_600}, {all: done}),
]
