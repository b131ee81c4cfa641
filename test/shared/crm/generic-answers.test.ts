import test from 'ava'
import {CrmError, findDuplicateOf} from '../../../shared/crm/error.ts'
import {problemOf, READ_RESULTS, readResults, WRITE_RESULTS} from '../../../shared/crm/generic-answers.ts'

const answerOf = (status: number, json: unknown) => ({status, json, retryAfterMs: null, creditsRemaining: null, clockOffsetMs: null})

test('an accepted write without results leaves its records unanswered, whatever its body says', t => {
  const bodies = [
    {code: 'ACCEPTED', message: 'queued'},
    {code: 202},
    {status: 'error'},
    {error: {code: 'X'}},
    {code: 'TOO_MANY_REQUESTS'},
    {results: {}},
    undefined,
  ]
  for (const status of [200, 201, 202, 204])
    for (const json of bodies) {
      const problem = problemOf(answerOf(status, json), {key: WRITE_RESULTS, renews: true})
      t.like(problem, {unanswered: true, code: null, status, quotaSpent: false}, `${status} ${JSON.stringify(json)}`)
    }
  t.like(problemOf(answerOf(302, {code: 'MOVED'}), {key: WRITE_RESULTS, renews: false}), {unanswered: true, retryable: false})
  t.is(problemOf(answerOf(202, {results: []}), {key: WRITE_RESULTS, renews: false}), null)
})

test('a 4xx answer to a write, and any read that names a code, is refused', t => {
  for (const [key, status] of [
    [WRITE_RESULTS, 400],
    [READ_RESULTS, 200],
  ] as const)
    t.like(problemOf(answerOf(status, {code: 'NO'}), {key, renews: false}), {unanswered: false, code: 'NO', status})
})

test('a duplicate may be named by a number', t => {
  const readOne = (id: unknown) =>
    readResults(answerOf(201, {results: [{error: {code: 'DUPLICATE_DATA', details: {id, api_name: 'key'}}}]}), {count: 1})[0]!
  const one = readOne(42)
  t.like(one, {ok: false, duplicateOf: '42', crm: {details: {id: 42}}})
  t.is(one.ok || !one.sent ? null : findDuplicateOf(one.crm, 'key'), '42')
  t.like(readOne(2 ** 60), {ok: false, duplicateOf: null})
})

test('an exhausted quota that renews at a fixed time is described without the words of another CRM', t => {
  const crm = problemOf(answerOf(429, {}), {key: WRITE_RESULTS, renews: true})!
  t.true(crm.quotaSpent)
  t.is(new CrmError(crm, {renews: true}).message, 'The daily quota of this destination is exhausted. Try again after it renews')
})
