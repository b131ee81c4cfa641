import {absent, declined, done, type Expected, type Fault, limited, type NoAnswerFault, type Row, silent, spent} from './fault-table.ts'

const relayed = (said: NoAnswerFault): Expected => ({relayed: said})
const one = (fault: string, action: Fault['action'], more: Omit<Row, 'fault' | 'faults'>): Row => ({fault, faults: [{action}], ...more})

const refusal = (code: string, details: object = {}) => ({code, details, message: `${code}, said the CRM`, status: 'error'})
const answer = (status: number, body: unknown, headers?: Record<string, string>) => ({
  type: 'answer' as const,
  status,
  body,
  ...(headers && {headers}),
})
const duplicate = (id: string, more: object = {}) => ({api_name: 'Account_Number', duplicate_record: {id}, ...more})
const twice = (one: object, other: object) => ({errors: [refusal('DUPLICATE_DATA', one), refusal('DUPLICATE_DATA', other)]})

/** Returns the expectation of fault j: the CRM refuses the first record only. Reads refuse no single record. */
const ofFirst = (said: NoAnswerFault, more: {duplicate?: boolean} = {}): Partial<Row> => ({
  write: {items: [{said, ...more}, 'done']},
  read: done,
})
const refuse = (fault: string, given: {code?: string; details?: Record<string, unknown>}, said: Partial<NoAnswerFault>, more = {}) =>
  one(fault, {type: 'refuse', ...given}, ofFirst(declined(given.code ?? 'RECORD_LOCKED', 207, {part: 'item', ...said}), more))

export const refusals: Row[] = [
  refuse('j: one record is locked', {}, {retryable: true}),
  refuse('j: one record is not approved', {code: 'NOT_APPROVED'}, {retryable: true}),
  refuse('j: one record lacks a field', {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'X', json_path: '$.data[0].X'}}, {}),
  refuse('j: one record is refused with an unknown code (17)', {code: 'BRAND_NEW'}, {}),
  refuse('j: one record is rate-limited (14)', {code: 'TOO_MANY_REQUESTS'}, {rateLimited: true, retryable: true}),
  refuse('j: one record is a duplicate of another', {code: 'DUPLICATE_DATA', details: duplicate('44')}, {}, {duplicate: true}),
  refuse('j: one record is a duplicate of several', {code: 'DUPLICATE_DATA', details: duplicate('44', {more_records: true})}, {}),
  refuse(
    'j: one record is a duplicate of another in two fields (7)',
    {code: 'MULTIPLE_OR_MULTI_ERRORS', details: twice(duplicate('44'), duplicate('44', {api_name: 'Other'}))},
    {},
    {duplicate: true},
  ),
  refuse(
    'j: one record is a duplicate of two others in two fields (7)',
    {code: 'MULTIPLE_OR_MULTI_ERRORS', details: twice(duplicate('44'), duplicate('45'))},
    {},
  ),
  one(
    'j: both records are refused',
    {type: 'refuse', index: [0, 1], code: 'INVALID_DATA'},
    {
      write: {items: [{said: declined('INVALID_DATA', 400, {part: 'item'})}, {said: declined('INVALID_DATA', 400, {part: 'item'})}]},
      read: done,
      does: false,
    },
  ),
  one('j: one record is refused with the status of older versions', 'refuse', {
    ...ofFirst(declined('RECORD_LOCKED', 202, {part: 'item', retryable: true})),
    switches: {legacy202: true},
  }),
]

const declines = (fault: string, status: number, body: unknown, said: Partial<NoAnswerFault> = {}, code: string | null = codeIn(body)) =>
  one(fault, answer(status, body), {all: relayed(declined(code, status, said)), does: false})
const codeIn = (body: unknown) => (body as {code?: string; data?: {code: string}[]}).code ?? (body as any).data[0].code

/**
 * Answers without data, and answers in which the CRM declines the whole call: with a bare error, or with the list in which some versions wrap
 * it.
 */
export const wholes: Row[] = [
  declines('8: 400 INVALID_MODULE', 400, refusal('INVALID_MODULE', {resource_path_index: 0})),
  declines('8: 400 AUTHORIZATION_FAILED', 400, refusal('AUTHORIZATION_FAILED')),
  declines('8: 404 INVALID_URL_PATTERN', 404, refusal('INVALID_URL_PATTERN')),
  declines('8: 405', 405, refusal('INVALID_REQUEST_METHOD')),
  declines('8: 412, wrapped', 412, {data: [refusal('ALREADY_MODIFIED')]}, {part: 'first'}),
  one(
    '8: 413 with an HTML page',
    {type: 'answer', status: 413, text: '<h1>Too large</h1>'},
    {all: relayed(declined(null, 413, {part: null})), does: false},
  ),
  declines('8: 415 with an unknown code', 415, refusal('BRAND_NEW', {why: ['this', {and: 'that'}]})),
  declines('11: 401 OAUTH_SCOPE_MISMATCH', 401, refusal('OAUTH_SCOPE_MISMATCH')),
  declines('11: 403 NO_PERMISSION', 403, refusal('NO_PERMISSION', {permissions: ['Crm_Implied_Edit']})),
  declines('11: 403 NO_PERMISSION, wrapped', 403, {data: [refusal('NO_PERMISSION')]}, {part: 'first'}),
  one(
    '3: 200 without data',
    {...answer(200, {status: 'success'}), when: 'after'},
    {
      all: relayed(silent(200, {part: 'body'})),
      does: true,
    },
  ),
  one('15 and 16: 304', {type: 'answer', status: 304}, {write: relayed(silent(304, {retryable: false})), read: absent, does: false}),
]

/** Faults k and l: 429, and other answers with TOO_MANY_REQUESTS. */
export const limits: Row[] = [
  one('k: 429 without a wait', 'rateLimit', {all: relayed(limited()), does: false}),
  one('k: 429 with a wait in seconds', {type: 'rateLimit', retryAfter: 3}, {all: relayed(limited({retryAfterMs: 3_000})), does: false}),
  one(
    'k: 429 with a wait and credits left',
    {type: 'rateLimit', retryAfter: 61, credits: 500},
    {all: relayed(limited({retryAfterMs: 61_000})), does: false},
  ),
  one(
    'k: 429 with a date',
    {type: 'rateLimit', retryAfter: 'date:40'},
    {all: relayed(limited({retryAfterMs: {upTo: 40_000}})), does: false},
  ),
  one('k: 429 in the older format', {type: 'rateLimit', legacy: true}, {all: relayed(limited()), does: false}),
  one('l: the daily quota is exhausted', {type: 'allowanceSpent', forSeconds: 3_600}, {all: relayed(spent()), does: false}),
  one('12: 429 with no credits left', {type: 'rateLimit', credits: 0}, {all: relayed(spent()), does: false}),
  one(
    '12: 429 with negative credits, and a wait that is not passed on',
    {type: 'rateLimit', credits: -3, retryAfter: 60},
    {all: relayed(spent({retryAfterMs: 60_000})), does: false},
  ),
  one('14: TOO_MANY_REQUESTS on 400, with a wait', answer(400, refusal('TOO_MANY_REQUESTS'), {'retry-after': '2'}), {
    all: relayed(limited({status: 400, retryAfterMs: 2_000})),
    does: false,
  }),
  // The answer reports an exhausted quota. The quota is recorded as exhausted only for a 429.
  one('14: TOO_MANY_REQUESTS on 400, no credits left', answer(400, refusal('TOO_MANY_REQUESTS'), {'x-api-credits-remaining': '0'}), {
    all: relayed(spent({status: 400})),
    does: false,
  }),
]

/** Faults m and n: the CRM finds the access token or the grant invalid. */
export const tokens: Row[] = [
  one('m: the token has expired', 'expireToken', {all: done, calls: 2}),
  one('9: 401 AUTHENTICATION_FAILURE', answer(401, refusal('AUTHENTICATION_FAILURE')), {all: done, calls: 2}),
  one('9: 401 INVALID_TOKEN, wrapped', answer(401, {data: [refusal('INVALID_TOKEN')]}), {all: done, calls: 2}),
  {
    fault: '9: the renewed token is refused too',
    faults: [{action: 'expireToken', times: 2}],
    fresh: true,
    all: relayed(declined('INVALID_TOKEN', 401)),
    does: false,
    calls: 2,
  },
  one('n: the grant is revoked', 'revokeGrant', {all: {refused: 'CONNECTION_UNAVAILABLE', ends: true}, does: false, calls: 1, fresh: true}),
]
