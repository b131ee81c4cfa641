import test from 'ava'
import {openAllowances} from '../../../shared/crm/allowance.ts'
import {readProblem} from '../../../shared/crm/outcome.ts'

const answer = (status: number, creditsRemaining: number | null, json: unknown = {data: []}) => ({
  ...{status, json, creditsRemaining, retryAfterMs: null, clockOffsetMs: 0},
})
const limit = {code: 'TOO_MANY_REQUESTS', status: 'error', details: {}, message: ''}
const open = () => {
  const allowances = openAllowances()
  const note = (outcome: Parameters<typeof readProblem>[0]) => allowances.note('us.1', outcome, readProblem(outcome))
  return {note, read: (now?: number) => allowances.read('us.1', now), other: () => allowances.read('us.2')}
}

test('nothing is known before the first answer, nor of another org', t => {
  const {note, read, other} = open()
  t.is(read(), null)
  note({lost: 'ECONNRESET', status: null})
  t.is(read(), null)
  note(answer(200, 100))
  t.is(other(), null)
})

test('the count is kept when the header is gone again, and forgotten after a day', t => {
  const {note, read} = open()
  note(answer(200, 1200))
  note(answer(200, null))
  t.like(read(), {remaining: 1200, spent: false})
  t.is(read(Date.now() + 25 * 60 * 60_000)!.remaining, null)
})

test('a refusal with none left means spent, until a call is answered as asked', t => {
  const {note, read} = open()
  note(answer(429, 0, limit))
  t.like(read(), {remaining: 0, spent: true})
  const {spentAt} = read()!
  note(answer(400, null, {...limit, code: 'INVALID_DATA'}))
  note({lost: 'ECONNRESET', status: null})
  t.like(read(), {spent: true, spentAt})
  note(answer(200, null))
  t.like(read(), {spent: false, spentAt: null})
})

test('a rate limit is not a spent day, nor is a last credit used by an answered call', t => {
  const {note, read} = open()
  note(answer(429, null, limit))
  note(answer(429, 3, limit))
  note(answer(200, 0))
  t.like(read(), {remaining: 0, spent: false})
})
