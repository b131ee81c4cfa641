import test from 'ava'
import {CrmError, type CrmProblem} from '../../../../shared/crm/error.ts'
import {RunPaused, RunStopped} from '../../../../workers/engine/run-endings.ts'
import {readWithRetry} from '../../../../workers/engine/send/crm-retry.ts'
import {leaseOf} from '../fixtures.ts'

type Options = {kind?: string; readsResults?: true | 'afterStop'}

/** Returns the context of a run that reads, and the state that its lease shows. */
const openRun = ({kind = 'zoho', ...more}: Options = {}) => {
  const seen = {stop: null as null | {stopped: string; message: string}, writes: 'open'}
  const slots = {take: async () => {}, give: () => {}, cut: async () => {}}
  const closing = new AbortController()
  const lease = {...leaseOf(closing.signal), stopSeen: () => seen.stop, writeStatusSeen: () => seen.writes}
  const run = {connectorKind: kind}
  const ctx = {run, lease, signal: closing.signal, slots: {...slots, large: slots, small: slots}, ...more} as unknown as Parameters<
    typeof readWithRetry
  >[0]
  return {ctx, seen, closing}
}

const limited = (retryAfterMs: number) =>
  new CrmError({code: null, status: 429, retryable: true, rateLimited: true, retryAfterMs, quotaSpent: false} as CrmProblem)
const stop = {stopped: 'CANCELLED', message: 'Cancelled'}

test('a run that was stopped, or may not write, begins no read for its rows', async t => {
  const {ctx, seen} = openRun()
  const read = async () => t.fail()
  seen.writes = 'paused'
  t.like(await t.throwsAsync(readWithRetry(ctx, read), {instanceOf: RunPaused}), {code: 'WRITES_PAUSED'})
  seen.stop = stop
  t.like(await t.throwsAsync(readWithRetry(ctx, read), {instanceOf: RunStopped}), {stop})
})

test('a stop ends the wait before the next try of a read', async t => {
  for (const options of [{}, {readsResults: true}] as const) {
    const {ctx, seen} = openRun(options)
    const read = async () => {
      seen.stop = stop
      throw limited(100)
    }
    t.like(await t.throwsAsync(readWithRetry(ctx, read), {instanceOf: RunStopped}), {stop})
  }
})

test('reads of what the run wrote go on while writes are paused, and after a stop', async t => {
  const {ctx, seen} = openRun({readsResults: true})
  seen.writes = 'paused'
  let tries = 0
  const read = async () => {
    if (++tries === 1) throw limited(10)
    return tries
  }
  t.is(await readWithRetry(ctx, read), 2)
  seen.stop = stop
  tries = 0
  t.is(await readWithRetry(ctx, read), 2)
  seen.stop = null
  seen.writes = 'ended'
  t.like(await t.throwsAsync(readWithRetry(ctx, read), {instanceOf: RunStopped}), {stop: {stopped: 'GRANT_ENDED'}})
})

test('a run waits 15 minutes for a rate limit of a generic destination, and pauses for a longer one', async t => {
  const {ctx, closing} = openRun({kind: 'generic'})
  const called = Promise.withResolvers<void>()
  const waiting = readWithRetry(ctx, async () => {
    called.resolve()
    throw limited(900_000)
  })
  await called.promise
  closing.abort()
  await t.throwsAsync(waiting, {name: 'AbortError'})
  const {ctx: other} = openRun({kind: 'generic'})
  const pause = await t.throwsAsync(
    readWithRetry(other, async () => {
      throw limited(900_001)
    }),
    {instanceOf: RunPaused},
  )
  t.is(pause!.code, 'RATE_LIMITED')
})

test('reads of results after a stop go on if the lease shows the stop only during a retry', async t => {
  const {ctx, seen} = openRun({readsResults: 'afterStop'})
  let tries = 0
  const read = async () => {
    seen.stop = stop
    if (++tries === 1) throw limited(10)
    return tries
  }
  t.is(await readWithRetry(ctx, read), 2)
})

test('a stopped run does not wait 15 minutes for a rate limit of a generic destination', async t => {
  const {ctx} = openRun({kind: 'generic', readsResults: 'afterStop'})
  const read = async () => {
    throw limited(900_000)
  }
  t.like(await t.throwsAsync(readWithRetry(ctx, read), {instanceOf: RunPaused}), {code: 'RATE_LIMITED'})
})
