import type {FaultAction, FaultType} from '../simulators/crm/faults.ts'
import type {Switches} from '../simulators/crm/switches.ts'

/**
 * What the papers say of every fault at every door, written without looking at the code: the specification's "CRM error object" and
 * Errors, its entries 3 and 4, and the wire reference's part 14, whose rows the titles of the second half name.
 */
export type Door = 'create' | 'update' | 'rows' | 'rowsRead' | 'byIds' | 'one'
export const doors: Door[] = ['create', 'update', 'rows', 'rowsRead', 'byIds', 'one']
/** A fault at `rowsRead` meets the reading of the first parent's rows, before anything of it is written. */
export const isWrite = (door: Door) => door === 'create' || door === 'update' || door === 'rows'

/**
 * The CRM error object. `part`: which of the CRM's own JSON stands in `response`, its `details` beside it: the whole body, the refusal
 * that stands first in it, the record's own entry, or none. Times in milliseconds; `upTo`: less than ten seconds below that.
 */
export type Said = {
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

/** What one of two items comes to. `duplicate`: the one record the refusal names is handed on. `absent`: the CRM has no such record. */
export type Item = 'done' | 'absent' | {said: Said; duplicate?: boolean}

/** Two items apart; one answer that was both's; or a refusal before anything was sent, which ends the connection or keeps it. */
export type Expected =
  | {items: [Item, Item]}
  | {relayed: Said}
  | {refused: 'CONNECTION_THROTTLED' | 'CONNECTION_UNAVAILABLE' | 'DAILY_ALLOWANCE_SPENT'; ends?: boolean; retryAfterMs?: Time}

export type Given = {ids: string[]; keys: string[]; org: string}
type Action = FaultAction | FaultType
export type Fault = {action: Action | ((given: Given) => Action); times?: number}

/** By the door itself, else by its kind, else `all`. `does`: whether the CRM does what it was asked to. `calls`: how often it is asked. */
export type Row = Partial<Record<Door | 'write' | 'read' | 'all', Expected>> & {
  fault: string
  faults: Fault[]
  does?: boolean
  calls?: number
  /** The reading of the other parent's rows meets the same. */
  lasts?: boolean
  /** The day is spent afterwards; by itself it is where the CRM said so with this call. */
  spent?: boolean
  /** Of a connection whose access nobody has used yet. */
  fresh?: boolean
  switches?: Partial<Switches>
}

export const silent = (status: number | null, more: Partial<Said> = {}): Said => ({
  ...{code: null, status, retryable: true, unanswered: true, rateLimited: false, retryAfterMs: null, quotaSpent: false, part: null},
  ...more,
})
export const declined = (code: string | null, status: number, more: Partial<Said> = {}): Said => ({
  ...{code, status, retryable: false, unanswered: false, rateLimited: false, retryAfterMs: null, quotaSpent: false, part: 'body'},
  ...more,
})
export const limited = (more: Partial<Said> = {}) => declined('TOO_MANY_REQUESTS', 429, {rateLimited: true, retryable: true, ...more})
export const spent = (more: Partial<Said> = {}) => limited({retryable: false, quotaSpent: true, ...more})

export const done: Expected = {items: ['done', 'done']}
export const absent: Expected = {items: ['absent', 'absent']}
const relayed = (said: Said): Expected => ({relayed: said})
const each = (said: Said): Expected => ({items: [{said}, {said}]})
const fifth = {code: 'INTERNAL_ERROR', part: 'body'} as const

const one = (fault: string, action: Fault['action'], more: Omit<Row, 'fault' | 'faults'>): Row => ({fault, faults: [{action}], ...more})

/** a–i: the connection, the answer, and what it leaves out. */
export const silences: Row[] = [
  one('a: dropped before anything is done', 'dropBefore', {all: relayed(silent(null)), does: false}),
  one('b: dropped after it is done', 'dropAfter', {all: relayed(silent(null)), does: true}),
  one('c: the answer breaks off', 'truncateAfter', {all: relayed(silent(200)), does: true}),
  one('d: 500 before', 'status5xxBefore', {all: relayed(silent(500, fifth)), does: false}),
  one('d: 502 before, a page', {type: 'status5xxBefore', status: 502, html: true}, {all: relayed(silent(502)), does: false}),
  one(
    'd: 503 before, with a wait',
    {type: 'status5xxBefore', status: 503, retryAfter: 7},
    {all: relayed(silent(503, {...fifth, retryAfterMs: 7_000})), does: false},
  ),
  one('d: 504 before', {type: 'status5xxBefore', status: 504}, {all: relayed(silent(504, fifth)), does: false}),
  one('e: 500 after', 'status5xxAfter', {all: relayed(silent(500, fifth)), does: true}),
  one('e: 502 after', {type: 'status5xxAfter', status: 502}, {all: relayed(silent(502, fifth)), does: true}),
  one(
    'e: 503 after, a page, with a wait',
    {type: 'status5xxAfter', status: 503, html: true, retryAfter: 0.4},
    {all: relayed(silent(503, {retryAfterMs: 400})), does: true},
  ),
  one('e: 504 after, a page', {type: 'status5xxAfter', status: 504, html: true}, {all: relayed(silent(504)), does: true}),
  one('f: a page instead of JSON', 'nonJson', {all: relayed(silent(200)), does: true}),
  one('g: 200 and no body', 'emptyBody', {all: relayed(silent(200)), does: true}),
  one('g: 201 and no body', {type: 'emptyBody', status: 201}, {all: relayed(silent(201)), does: true}),
  one('g: 204', {type: 'emptyBody', status: 204}, {write: relayed(silent(204)), read: absent, does: true}),
  one('h: success without saying which', 'successNoId', {
    ...{all: done, does: true},
    create: each(silent(201, {code: 'SUCCESS', part: 'item'})),
  }),
  one(
    'h: of one of two',
    {type: 'successNoId', index: 1},
    {all: done, does: true, create: {items: ['done', {said: silent(201, {code: 'SUCCESS', part: 'item'})}]}},
  ),
  one('i: one entry short', 'shortData', {
    ...{write: each(silent(200, {part: 'body'})), create: each(silent(201, {part: 'body'})), read: absent, does: true},
    // The CRM lists the newest first: it is the older one that is left out.
    byIds: {items: ['absent', 'done']},
  }),
  one(
    'i: no entry at all',
    {type: 'shortData', by: 2},
    {write: each(silent(200, {part: 'body'})), create: each(silent(201, {part: 'body'})), read: absent, does: true},
  ),
  // Nothing in a create's answer tells that its entries are turned round; an update's name other records than were sent there.
  one('i: entries turned round', 'shuffleData', {write: each(silent(200, {part: 'body'})), create: done, read: done, does: true}),
  one('q: slower than we wait, before', {type: 'slow', ms: 4_200}, {all: relayed(silent(null)), does: true}),
  one('q: slower than we wait, after', {type: 'slow', ms: 4_200, when: 'after'}, {all: relayed(silent(null)), does: true}),
  one('q: slow, and in time', {type: 'slow', ms: 80, when: 'after'}, {all: done}),
  one('r: held before, let go later', 'hold', {all: relayed(silent(null)), does: true}),
  one('r: held after, let go later', {type: 'hold', when: 'after'}, {all: relayed(silent(null)), does: true}),
  one('s: sent elsewhere, before', 'redirect', {all: relayed(silent(302, {retryable: false})), does: false}),
  one('s: sent elsewhere, after', {type: 'redirect', when: 'after'}, {all: relayed(silent(302, {retryable: false})), does: true}),
]

const foreignName = 'Somebody else’s'
const taken = ({org, keys}: Given): FaultAction => ({
  ...{type: 'foreignCreate', org, module: 'Accounts'},
  record: {Account_Name: foreignName, Account_Number: keys[0]},
})
const changed = ({org, ids}: Given): FaultAction => ({
  ...{type: 'foreignCreate', org, module: 'Accounts', record: {id: ids[0], Billing_City: 'Elsewhere'}},
})
const added = ({org, ids}: Given): FaultAction => ({
  ...{type: 'foreignCreate', org, module: 'Orders', record: {id: ids[0], Order_Lines: [{Product: 'Foreign'}]}},
})

/** t and u: the CRM's other users, and its clock. */
export const meanwhile: Row[] = [
  one('t: somebody else takes the unique value', taken, {
    ...{all: done},
    create: {items: [{said: declined('DUPLICATE_DATA', 207, {part: 'item'}), duplicate: true}, 'done']},
  }),
  one('t: somebody else changes the record', changed, {create: done, update: done, byIds: done, one: done}),
  one('t: somebody else adds a row', added, {rows: done, rowsRead: done}),
  one('u: the CRM’s clock an hour behind', {type: 'clockSkew', seconds: -3_600}, {all: done}),
  one('u: the CRM’s clock an hour ahead', {type: 'clockSkew', seconds: 3_600}, {all: done}),
]
