import test from 'ava'
import {readRetryAfter, restAfter, waitAfter} from '../../../shared/notifications/attempts.ts'

test('ten attempts follow the intervals of Standard Webhooks, plus up to a tenth', t => {
  const recommended = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
  for (const [at, seconds] of recommended.entries())
    for (let n = 0; n < 50; n++) {
      const wait = waitAfter('post', at + 1)!
      t.true(wait >= seconds && wait <= seconds * 1.1, `${at + 1}: ${wait}`)
    }
  t.is(waitAfter('post', 10), null)
  t.is(waitAfter('mail', 5), null)
  t.is(new Set(Array.from({length: 20}, () => waitAfter('post', 5))).size > 1, true)
})

test('Retry-After delays an attempt by at most a day, and never makes it earlier', t => {
  t.is(waitAfter('post', 1, 600), 600)
  t.true(waitAfter('post', 2, 1)! >= 300)
  t.is(waitAfter('post', 1, 40 * 86_400), 86_400)
  t.is(waitAfter('post', 10, 600), null)
})

test('Retry-After is read as seconds or a date, for 429 and 503 only', t => {
  const now = Date.parse('2026-05-01T12:00:00Z')
  t.is(readRetryAfter(429, '120', now), 120)
  t.is(readRetryAfter(503, 'Fri, 01 May 2026 12:10:00 GMT', now), 600)
  t.is(readRetryAfter(503, 'Fri, 01 May 2026 11:00:00 GMT', now), 0)
  t.is(readRetryAfter(503, 'soon', now), 0)
  t.is(readRetryAfter(500, '120', now), 0)
  t.is(readRetryAfter(429, undefined, now), 0)
})

test('an overloaded endpoint gets no requests for a while', t => {
  t.is(restAfter(429, 120), 120)
  for (const status of [429, 502, 503, 504]) t.is(restAfter(status, 0), 30)
  t.is(restAfter(429, 40 * 86_400), 86_400)
  for (const status of [200, 400, 404, 500, null]) t.is(restAfter(status, 0), 0)
})
