import test from 'ava'
import {openLimiter} from '../../../shared/concurrency/limiter.ts'
import {mapConcurrent} from '../../../shared/concurrency/map-concurrent.ts'
import {readRetryAfter} from '../../../shared/crm/client.ts'
import {readRenewal} from '../../../shared/crm/token.ts'

test('Retry-After is read as seconds or as a date, and is never negative', t => {
  const now = Date.parse('2026-03-02T10:00:00Z')
  t.is(readRetryAfter('7', now), 7000)
  t.is(readRetryAfter('0', now), 0)
  t.is(readRetryAfter('-5', now), 0)
  t.is(readRetryAfter('Mon, 02 Mar 2026 10:01:30 GMT', now), 90_000)
  t.is(readRetryAfter('Mon, 02 Mar 2026 09:00:00 GMT', now), 0)
  t.is(readRetryAfter('200000', now), 200_000_000)
  t.is(readRetryAfter('0.4', now), 400)
  t.is(readRetryAfter('1.00005', now), 1001, 'milliseconds are whole')
  t.is(readRetryAfter('soon', now), null)
  t.is(readRetryAfter('', now), null)
  t.is(readRetryAfter(undefined, now), null)
})

test('a token answer is read by its body, regardless of its status', t => {
  t.deepEqual(readRenewal({status: 200, json: {access_token: '1000.a', expires_in: 3600}}), {token: '1000.a', seconds: 3600})
  t.deepEqual(readRenewal({status: 200, json: {access_token: '1000.a', expires_in: 3_600_000}}), {token: '1000.a', seconds: 3600})
  t.deepEqual(readRenewal({status: 200, json: {access_token: '1000.a'}}), {token: '1000.a', seconds: 3600})
  for (const status of [200, 400]) {
    t.like(readRenewal({status, json: {error: 'invalid_code'}}), {refused: 'ended'})
    t.like(readRenewal({status, json: {error: 'Access Denied', status: 'failure'}}), {refused: 'throttled'})
    t.like(readRenewal({status, json: {error: 'invalid_client'}}), {refused: 'failed'})
  }
  t.like(readRenewal({status: 200, json: undefined}), {refused: 'failed'})
  t.like(readRenewal({status: 200, json: {access_token: ''}}), {refused: 'failed'})
  t.like(readRenewal({status: 503, json: undefined}), {refused: 'failed', why: "The CRM's accounts host answered status 503"})
})

test('lanes keep their width and the order, and start nothing after a failure', async t => {
  let running = 0
  let most = 0
  const begun: number[] = []
  const each = async (n: number) => {
    begun.push(n)
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    if (n === 5) throw new Error('five')
    return n * 2
  }
  t.deepEqual(await mapConcurrent([1, 2, 3, 4], 2, each), [2, 4, 6, 8])
  t.is(most, 2)
  t.deepEqual(await mapConcurrent([], 2, each), [])
  await t.throwsAsync(mapConcurrent([5, 6, 7, 8, 9], 2, each), {message: 'five'})
  t.deepEqual(begun.slice(4), [5, 6])
})

test('a gate admits its width, and continues after a failure', async t => {
  const gate = openLimiter(1)
  const order: string[] = []
  const work = (name: string) => async () => {
    order.push(`+${name}`)
    await new Promise(setImmediate)
    order.push(`-${name}`)
    if (name === 'b') throw new Error(name)
  }
  await Promise.allSettled([gate(work('a')), gate(work('b')), gate(work('c'))])
  t.deepEqual(order, ['+a', '-a', '+b', '-b', '+c', '-c'])
})
