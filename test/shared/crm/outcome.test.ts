import test from 'ava'
import type {CrmResponse, NoResponse} from '../../../shared/crm/client.ts'
import {type CrmProblem, describeProblem, errorsOf} from '../../../shared/crm/error.ts'
import {readProblem, readWrite} from '../../../shared/crm/outcome.ts'

const answer = (status: number, json: unknown, more: Partial<CrmResponse> = {}): CrmResponse => ({
  status,
  json,
  retryAfterMs: null,
  creditsRemaining: null,
  clockOffsetMs: 0,
  ...more,
})
const success = (id: string) => ({code: 'SUCCESS', status: 'success', message: 'record added', details: {id}})
const refusal = (code: string, details: object = {}) => ({code, status: 'error', message: `said ${code}`, details})
const data = (...items: unknown[]) => ({data: items})
const duplicate = (id: string, more: object = {}) =>
  refusal('DUPLICATE_DATA', {api_name: 'Email', more_records: false, duplicate_record: {id}, ...more})

type Row = {
  row: string
  answer: CrmResponse | NoResponse
  count?: number
  ids?: string[]
  /** Per record: its id, or the fields of the problem that the case specifies. */
  says: (string | Partial<CrmProblem & {duplicateOf: string | null}>)[]
}
const silent = (status: number | null, more: Partial<CrmProblem> = {}) => ({
  code: null,
  status,
  retryable: true,
  unanswered: true,
  retryAfterMs: null,
  quotaSpent: false,
  ...more,
})
const declined = (code: string | null, status: number, more: object = {}) => ({
  code,
  status,
  retryable: false,
  unanswered: false,
  rateLimited: false,
  retryAfterMs: null,
  quotaSpent: false,
  duplicateOf: null,
  ...more,
})
const limited = (code: string | null, status: number, more: object = {}) =>
  declined(code, status, {retryable: true, rateLimited: true, ...more})

const table: Row[] = [
  {row: '1 dropped', answer: {lost: 'ECONNRESET', status: null}, says: [silent(null)]},
  {row: '1 every record of the batch', answer: {lost: 'ECONNRESET', status: null}, count: 2, says: [silent(null), silent(null)]},
  {row: '1 cut after the headers', answer: {lost: 'UND_ERR_SOCKET', status: 201}, says: [silent(201)]},
  {row: '2 500 with JSON', answer: answer(500, refusal('INTERNAL_ERROR')), says: [silent(500, {code: 'INTERNAL_ERROR', details: {}})]},
  {row: '2 502 without', answer: answer(502, undefined), says: [silent(502, {response: null})]},
  {row: '2 503 with Retry-After', answer: answer(503, undefined, {retryAfterMs: 7000}), says: [silent(503, {retryAfterMs: 7000})]},
  {row: '2 500 that wraps', answer: answer(500, data(refusal('INTERNAL_ERROR'))), says: [silent(500, {code: 'INTERNAL_ERROR'})]},
  {row: '2 500 never holds successes', answer: answer(500, data(success('1'))), says: [silent(500)]},
  {
    row: '2 a failure in one record of a 207',
    answer: answer(207, data(success('1'), refusal('INTERNAL_ERROR'))),
    count: 2,
    says: ['1', silent(207, {code: 'INTERNAL_ERROR', details: {}})],
  },
  {row: '3 200 not JSON', answer: answer(200, undefined), says: [silent(200, {response: null})]},
  {row: '3 204 on a write', answer: answer(204, undefined), says: [silent(204)]},
  {row: '3 200 without data', answer: answer(200, {status: 'success'}), says: [silent(200)]},
  {row: '3 200 with a bare refusal', answer: answer(200, refusal('INVALID_DATA')), says: [silent(200)]},
  {row: '3 200 whose data is an object', answer: answer(200, {data: {}}), says: [silent(200)]},
  {row: '4 success without an id', answer: answer(201, data({...success('1'), details: {}})), says: [silent(201, {code: 'SUCCESS'})]},
  {
    row: '4 success with a number for an id',
    answer: answer(201, data({...success('1'), details: {id: 7}})),
    says: [silent(201, {code: 'SUCCESS'})],
  },
  {row: '4 an update knows its id', answer: answer(200, data({...success('1'), details: {}})), ids: ['44'], says: ['44']},
  {row: '5 fewer entries', answer: answer(201, data(success('1'))), count: 2, says: [silent(201), silent(201)]},
  {row: '5 two entries name one record', answer: answer(201, data(success('1'), success('1'))), count: 2, says: [silent(201), silent(201)]},
  {
    row: '5 fewer entries, and not in order',
    answer: answer(207, data(success('1'), refusal('INVALID_DATA', {json_path: '$.data[2].Email'}))),
    count: 3,
    says: [silent(207), silent(207), silent(207)],
  },
  {row: '5 more entries than records', answer: answer(201, data(success('1'), success('2'))), says: [silent(201)]},
  {
    row: '5 an update answers another id',
    answer: answer(200, data(success('2'), success('1'))),
    ids: ['1', '2'],
    says: [silent(200), silent(200)],
  },
  {row: '5 no entries', answer: answer(201, data()), says: [silent(201)]},
  {row: '5 an entry that is nothing', answer: answer(201, data(null)), says: [silent(201)]},
  {row: '5 an entry that says neither', answer: answer(201, data({status: 'queued'})), says: [silent(201)]},
  {
    row: '6 207 mixed',
    answer: answer(207, data(success('1'), refusal('MANDATORY_NOT_FOUND', {api_name: 'Last_Name', json_path: '$.data[1].Last_Name'}))),
    count: 2,
    says: ['1', declined('MANDATORY_NOT_FOUND', 207, {details: {api_name: 'Last_Name', json_path: '$.data[1].Last_Name'}})],
  },
  {row: '6 400 in data', answer: answer(400, data(refusal('INVALID_DATA'))), says: [declined('INVALID_DATA', 400)]},
  {row: '6 202 of old versions', answer: answer(202, data(refusal('INVALID_DATA'))), says: [declined('INVALID_DATA', 202)]},
  {row: '6 a success inside a 400', answer: answer(400, data(success('1'), refusal('X'))), count: 2, says: ['1', declined('X', 400)]},
  {
    row: '6 a locked record',
    answer: answer(400, data(refusal('RECORD_LOCKED'))),
    says: [declined('RECORD_LOCKED', 400, {retryable: true})],
  },
  {row: '6 one not approved', answer: answer(207, data(refusal('NOT_APPROVED'))), says: [declined('NOT_APPROVED', 207, {retryable: true})]},
  {row: '7 a duplicate', answer: answer(400, data(duplicate('9'))), says: [declined('DUPLICATE_DATA', 400, {duplicateOf: '9'})]},
  {
    row: '7 under id alone',
    answer: answer(400, data(refusal('DUPLICATE_DATA', {id: '9'}))),
    says: [declined('DUPLICATE_DATA', 400, {duplicateOf: '9'})],
  },
  {
    row: '7 more than one holds it',
    answer: answer(400, data(duplicate('9', {more_records: true}))),
    says: [declined('DUPLICATE_DATA', 400)],
  },
  {row: '7 names nobody', answer: answer(400, data(refusal('DUPLICATE_DATA'))), says: [declined('DUPLICATE_DATA', 400)]},
  {
    row: '7 nested, one record',
    answer: answer(400, data(refusal('MULTIPLE_OR_MULTI_ERRORS', {errors: [duplicate('9'), duplicate('9'), refusal('INVALID_DATA')]}))),
    says: [declined('MULTIPLE_OR_MULTI_ERRORS', 400, {duplicateOf: '9'})],
  },
  {
    row: '7 nested, two records',
    answer: answer(400, data(refusal('MULTIPLE_OR_MULTI_ERRORS', {errors: [duplicate('9'), duplicate('8')]}))),
    says: [declined('MULTIPLE_OR_MULTI_ERRORS', 400)],
  },
  {
    row: '7 nested, one of them not alone',
    answer: answer(207, data(refusal('MULTIPLE_OR_MULTI_ERRORS', {errors: [duplicate('9'), duplicate('9', {more_records: true})]}))),
    says: [declined('MULTIPLE_OR_MULTI_ERRORS', 207)],
  },
  {
    row: '7 nested, none a duplicate',
    answer: answer(400, data(refusal('MULTIPLE_OR_MULTI_ERRORS', {errors: [refusal('INVALID_DATA')]}))),
    says: [declined('MULTIPLE_OR_MULTI_ERRORS', 400)],
  },
  {
    row: '8 bare',
    answer: answer(400, refusal('INVALID_MODULE')),
    count: 2,
    says: [declined('INVALID_MODULE', 400), declined('INVALID_MODULE', 400)],
  },
  {
    row: '8 one refusal, wrapped, for two records',
    answer: answer(400, data(refusal('INVALID_MODULE'))),
    count: 2,
    says: [declined('INVALID_MODULE', 400), declined('INVALID_MODULE', 400)],
  },
  {row: '8 404', answer: answer(404, refusal('INVALID_URL_PATTERN')), says: [declined('INVALID_URL_PATTERN', 404)]},
  {row: '8 412', answer: answer(412, data(refusal('ALREADY_MODIFIED'))), says: [declined('ALREADY_MODIFIED', 412)]},
  {row: '8 413 as a page', answer: answer(413, undefined), says: [declined(null, 413, {response: null})]},
  {row: '9 a second 401', answer: answer(401, refusal('INVALID_TOKEN')), says: [declined('INVALID_TOKEN', 401)]},
  {row: '11 scope', answer: answer(401, refusal('OAUTH_SCOPE_MISMATCH')), says: [declined('OAUTH_SCOPE_MISMATCH', 401)]},
  {row: '11 permission', answer: answer(403, refusal('NO_PERMISSION', {permissions: ['x']})), says: [declined('NO_PERMISSION', 403)]},
  {
    row: '12 the day is spent',
    answer: answer(429, refusal('TOO_MANY_REQUESTS'), {creditsRemaining: 0}),
    says: [limited('TOO_MANY_REQUESTS', 429, {retryable: false, quotaSpent: true})],
  },
  {row: '13 no header', answer: answer(429, refusal('TOO_MANY_REQUESTS')), says: [limited('TOO_MANY_REQUESTS', 429)]},
  {
    row: '13 credits left',
    answer: answer(429, refusal('TOO_MANY_REQUESTS'), {creditsRemaining: 5}),
    says: [limited('TOO_MANY_REQUESTS', 429)],
  },
  {
    row: '13 asks to wait',
    answer: answer(429, refusal('TOO_MANY_REQUESTS'), {retryAfterMs: 1500}),
    says: [limited('TOO_MANY_REQUESTS', 429, {retryAfterMs: 1500})],
  },
  {row: '13 a page', answer: answer(429, undefined), says: [limited(null, 429)]},
  {row: '13 wrapped', answer: answer(429, data(refusal('TOO_MANY_REQUESTS'))), says: [limited('TOO_MANY_REQUESTS', 429)]},
  {
    row: '13 the older shape',
    answer: answer(429, {code: 429, error: 'TOO_MANY_REQUESTS', details: []}),
    says: [limited('TOO_MANY_REQUESTS', 429)],
  },
  {row: '14 at another status', answer: answer(400, refusal('TOO_MANY_REQUESTS')), says: [limited('TOO_MANY_REQUESTS', 400)]},
  {row: '14 a number for a code', answer: answer(400, {code: 429, status: 'error'}), says: [limited('429', 400)]},
  {
    row: '14 of one record',
    answer: answer(207, data(success('1'), refusal('TOO_MANY_REQUESTS')), {creditsRemaining: 0}),
    count: 2,
    says: ['1', limited('TOO_MANY_REQUESTS', 207, {retryable: false, quotaSpent: true})],
  },
  {row: '2 408', answer: answer(408, undefined), says: [silent(408)]},
  {row: '15 moved', answer: answer(302, undefined), says: [silent(302, {retryable: false})]},
  {row: '15 304 on a write', answer: answer(304, undefined), says: [silent(304, {retryable: false})]},
  {
    row: '17 unknown codes pass',
    answer: answer(400, data(refusal('NEVER_SEEN', {a: 1}))),
    says: [declined('NEVER_SEEN', 400, {details: {a: 1}})],
  },
]

for (const {row, answer, count, ids, says} of table) {
  test(`an answer is classified by the wire reference, row ${row}`, t => {
    const results = readWrite(answer, {count: count ?? 1, ...(ids && {ids, count: ids.length})})
    t.is(results.length, says.length)
    for (const [index, result] of results.entries()) {
      const said = says[index]!
      if (typeof said === 'string') t.deepEqual(result, {ok: true, recordId: said, modifiedAt: null})
      else if (result.ok || !result.sent) t.fail(`record ${index} was not answered by the CRM`)
      else t.like({...result.crm, duplicateOf: result.duplicateOf}, said)
    }
  })
}

test('`response` has the CRM’s entry unchanged', t => {
  const item = refusal('INVALID_DATA', {api_name: 'Phone', odd: [1, {deep: true}]})
  const result = readWrite(answer(400, data(item)), {count: 1})[0]!
  if (result.ok || !result.sent) return t.fail()
  t.is(result.crm.response, item)
  t.is(result.crm.details, item.details)
})

test('a read of nothing or of something unchanged is no problem', t => {
  t.is(readProblem(answer(204, undefined)), null)
  t.is(readProblem(answer(304, undefined)), null)
  t.is(readProblem(answer(200, {data: []})), null)
})

test('a failed read is classified like a failed write', t => {
  t.like(readProblem({lost: 'ECONNREFUSED', status: null}), silent(null))
  t.like(readProblem(answer(200, undefined)), silent(200))
  t.like(readProblem(answer(500, refusal('INTERNAL_ERROR'))), silent(500, {code: 'INTERNAL_ERROR'}))
  t.like(readProblem(answer(302, undefined)), silent(302))
  t.like(readProblem(answer(408, undefined)), silent(408))
  t.like(readProblem(answer(400, refusal('INVALID_QUERY'))), {code: 'INVALID_QUERY', unanswered: false})
  t.like(readProblem(answer(400, {modules: [refusal('INVALID_DATA')]})), {code: 'INVALID_DATA', status: 400})
  t.like(readProblem(answer(200, refusal('INVALID_DATA'))), {code: 'INVALID_DATA', status: 200, unanswered: false})
})

test('nested refusals are listed with field and record', t => {
  const crm = {code: 'MULTIPLE_OR_MULTI_ERRORS', details: {errors: [duplicate('9'), refusal('MANDATORY_NOT_FOUND', {api_name: 'Name'})]}}
  t.deepEqual(errorsOf(crm), [
    {code: 'DUPLICATE_DATA', field: 'Email', recordId: '9', moreRecords: false},
    {code: 'MANDATORY_NOT_FOUND', field: 'Name', recordId: null, moreRecords: false},
  ])
})

test('a problem is described in plain words', t => {
  const say = (outcome: CrmResponse | NoResponse) => describeProblem(readProblem(outcome)!)
  t.is(say({lost: 'ECONNRESET', status: null}), 'The CRM did not answer')
  t.is(say(answer(502, undefined)), 'The CRM answered 502 without a usable result')
  t.is(say(answer(400, refusal('INVALID_QUERY'))), 'The CRM declined with INVALID_QUERY: said INVALID_QUERY')
  t.is(say(answer(429, refusal('TOO_MANY_REQUESTS'))), 'The CRM limits the rate of calls. Try again later')
  t.is(
    say(answer(429, refusal('TOO_MANY_REQUESTS'), {creditsRemaining: 0})),
    'The CRM org has used all its API credits of the last 24 hours. Try again later',
  )
})
