import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import test, {type ExecutionContext} from 'ava'
import fc from 'fast-check'
import {z} from 'zod'
import {type Balance, holdCurrent} from '../../../../shared/billing/credits/balance.ts'
import {grantCredits} from '../../../../shared/billing/credits/grant.ts'
import {releaseCredits, reserveCredits, reservedSeconds, settleCredits} from '../../../../shared/billing/credits/reserve.ts'
import {Refusal} from '../../../../shared/errors.ts'
import {jobs} from '../../../../shared/jobs.ts'
import {openQueue, type Queue} from '../../../../shared/queue.ts'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {insertReservation, postEntry} from '../../../../sql/ai-credits.ts'
import {type Pool, sql} from '../../../../sql/database.ts'
import {makeOrg, setAhead, sumUp} from '../../../support/ai-credits.ts'
import {openLedger} from '../../../support/running.ts'

let opened: Awaited<ReturnType<typeof openLedger>>
let db: Pool
let queue: Queue
test.before(async t => {
  opened = await openLedger(t.title)
  db = opened.db
  queue = await openQueue(opened.url, jobs, {log: openLog('test', 'silent'), upkeep: false, connections: 1})
})
test.after.always(async () => {
  await queue?.stop({graceful: false})
  await opened?.close()
})

const feature = 'formula'
const day = 86_400
const balanceOf = async (org: string): Promise<Balance> => (await db.transaction(tx => holdCurrent(tx, org))).balance
const reserve = (org: string, ref: string, amount: number) => db.transaction(tx => reserveCredits(tx, queue, {org, feature, amount, ref}))
const settle = (org: string, ref: string, amount: number) => db.transaction(tx => settleCredits(tx, queue, {org, ref, amount}))
const release = (org: string, ref: string) => db.transaction(tx => releaseCredits(tx, {org, ref}))
const inDays = (days: number) => new Date(Date.now() + days * day * 1000).toISOString()

type GrantInput = {pool?: 'included' | 'purchased'; expiresAt?: string | null}
const grant = (org: string, ref: string, credits: number, {pool = 'purchased', expiresAt = null}: GrantInput = {}) =>
  db.transaction(tx => grantCredits(tx, {org, ref, pool, credits, expiresAt}))

const assertWhole = async (t: ExecutionContext, org: string, told = '') => {
  const {account, entries, grants, holds, open} = await sumUp(db, org)
  t.deepEqual(entries, account, `entries after ${told}`)
  t.deepEqual(grants, account, `grants after ${told}`)
  const [included, purchased, reserved] = account as [number, number, number]
  t.deepEqual([holds, open], [reserved, reserved], `what is held after ${told}`)
  t.true(reserved <= included + purchased)
}

const which = fc.nat(5)
const operation = fc.oneof(
  fc.record({
    kind: fc.constant('grant' as const),
    pool: fc.constantFrom('included', 'purchased'),
    credits: fc.oneof(
      fc.integer({min: 1, max: 12}),
      fc.integer({min: 1, max: 5_000_000}).map(millionths => millionths / 1e6),
    ),
    days: fc.constantFrom(0, 1, 5, 20),
  }),
  fc.record({kind: fc.constant('reserve' as const), of: which, amount: fc.integer({min: 1, max: 12})}),
  fc.record({kind: fc.constant('settle' as const), of: which, amount: fc.nat(14)}),
  fc.record({kind: fc.constant('release' as const), of: which}),
  fc.record({kind: fc.constant('wait' as const), seconds: fc.constantFrom(60, 1_200, 2 * day, 8 * day, 40 * day)}),
)
type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never

const refusedOrUnknown = (error: unknown) => {
  if (!(error instanceof Refusal) && !/No credits were reserved/.test(String(error))) throw error
}

/** Performs one operation and returns the new offset of the clock in seconds. Throws if a reservation is settled at two prices. */
const perform = async (org: string, op: Operation, {n, ahead, spent}: {n: number; ahead: number; spent: Map<number, number>}) => {
  if (op.kind === 'wait') {
    await setAhead(db, ahead + op.seconds)
    return ahead + op.seconds
  }
  if (op.kind === 'grant') {
    const expiresAt = op.days === 0 ? null : inDays(op.days + ahead / day)
    await grant(org, `g${n}`, op.credits, {pool: op.pool as 'included', expiresAt})
  } else if (op.kind === 'reserve') await reserve(org, `r${op.of}`, op.amount).catch(refusedOrUnknown)
  else if (op.kind === 'release') await release(org, `r${op.of}`).catch(refusedOrUnknown)
  else {
    const settled = await settle(org, `r${op.of}`, op.amount).catch(refusedOrUnknown)
    if (settled && (spent.get(op.of) ?? settled.spent) !== settled.spent)
      throw new Error(`${op.of} was settled again, for ${settled.spent}`)
    if (settled) spent.set(op.of, settled.spent)
  }
  return ahead
}

test.serial('ledger, grants and balance agree at every commit, for any sequence of operations and delays', async t => {
  let performed = 0
  const sequences = fc.array(operation, {minLength: 6, maxLength: 16})
  await fc.assert(
    fc.asyncProperty(sequences, async sequence => {
      await setAhead(db, 0)
      const org = await makeOrg(db, {aiCredits: 10})
      let ahead = 0
      const spent = new Map<number, number>()
      await balanceOf(org)
      for (const [n, op] of sequence.entries()) {
        ahead = await perform(org, op, {n, ahead, spent})
        if (op.kind === 'wait') await balanceOf(org)
        await assertWhole(t, org, JSON.stringify(sequence.slice(0, n + 1)))
        performed++
      }
    }),
    {numRuns: 25},
  )
  await setAhead(db, 0)
  t.true(performed >= 100)
})

test.serial('of 200 concurrent reservations against 10 credits exactly 10 succeed', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  const asked = await Promise.allSettled(Array.from({length: 200}, (_, n) => reserve(org, `p${n}`, 1)))
  t.is(asked.filter(({status}) => status === 'fulfilled').length, 10)
  const refusals = asked.flatMap(one => (one.status === 'rejected' ? [one.reason as Refusal] : []))
  t.true(refusals.every(({code, status}) => code === 'CREDITS_EXHAUSTED' && status === 402))
  t.true(refusals.every(({extra}) => (extra.balance as Balance).available === 0 && Array.isArray(extra.lift) && extra.lift.length > 0))
  t.like(await balanceOf(org), {included: 10, reserved: 10, available: 0})
  await assertWhole(t, org)
})

test.serial('credits reserved by a killed process become available again', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  const script = fileURLToPath(new URL('reserve-and-wait.ts', import.meta.url))
  const child = spawn(process.execPath, [script, opened.url, org, 'call'], {stdio: ['ignore', 'pipe', 'inherit']})
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  t.like(await balanceOf(org), {reserved: 6, available: 4})
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.like(await balanceOf(org), {reserved: 6, available: 4}, 'the call may still be under way')
  await setAhead(db, reservedSeconds + 1)
  t.teardown(() => setAhead(db, 0))
  t.like(await balanceOf(org), {included: 10, reserved: 0, available: 10})
  await assertWhole(t, org)
})

test.serial('included credits are spent before purchased ones, and earlier expiry before later', async t => {
  const org = await makeOrg(db, {aiCredits: 5})
  await grant(org, 'lasting', 5)
  await grant(org, 'later', 5, {expiresAt: inDays(60)})
  await grant(org, 'sooner', 5, {expiresAt: inDays(50)})
  await reserve(org, 'a', 12)
  t.like((await settle(org, 'a', 12)).balance, {included: 0, purchased: 8, reserved: 0, available: 8})
  const left = await db.any(
    sql.type(
      z.object({ref: z.string(), remaining: z.number()}),
    )`select ref, remaining from credit_grants where org_id = ${org} and remaining > 0 order by ref`,
  )
  t.deepEqual(
    left.map(({ref, remaining}) => [ref, remaining]),
    [
      ['lasting', 5],
      ['later', 3],
    ],
  )
})

test.serial('fractions of credits add up without loss and are spent in the order of all grants', async t => {
  const org = await makeOrg(db, {aiCredits: 0})
  await grant(org, 'half', 0.5, {pool: 'included'})
  t.like(await balanceOf(org), {included: 0.5, purchased: 0, available: 0.5})
  await t.throwsAsync(reserve(org, 'early', 1), {message: /0\.5 are left/})
  for (const n of [1, 2, 3]) await grant(org, `tenth${n}`, 0.1)
  await grant(org, 'rest', 1.200001)
  t.like(await balanceOf(org), {included: 0.5, purchased: 1.500001, available: 2.000001}, '0.1 three times is 0.3')
  await reserve(org, 'a', 1)
  t.like(await balanceOf(org), {included: 0.5, reserved: 1, available: 1.000001})
  t.like((await settle(org, 'a', 1)).balance, {included: 0, purchased: 1.000001, reserved: 0, available: 1.000001})
  await reserve(org, 'b', 1)
  await assertWhole(t, org)
  t.like(await release(org, 'b'), {purchased: 1.000001, available: 1.000001})
  await assertWhole(t, org)
})

test.serial('the previous build, which knows whole credits only, can spend beside fractions', async t => {
  const org = await makeOrg(db, {aiCredits: 0})
  for (const ref of ['a', 'b']) await grant(org, ref, 1.75)
  await reserve(org, 'new', 2)
  // Of the 1.5 free credits, the previous build sees one whole credit of `b`, and spends it with its own statements.
  const free = sql.type(z.object({free: z.number()}))`select sum(remaining - held)::int8 as free from credit_grants where org_id = ${org}`
  t.is(Number((await db.one(free)).free), 1)
  await db.query(sql.unsafe`update credit_grants set held = held + 1 where org_id = ${org} and ref = 'b'`)
  await db.query(sql.unsafe`update credit_accounts set reserved = reserved + 1 where org_id = ${org}`)
  await db.query(sql.unsafe`update credit_grants set remaining = remaining - 1, held = held - 1 where org_id = ${org} and ref = 'b'`)
  await db.query(sql.unsafe`update credit_accounts set purchased = purchased - 1, reserved = reserved - 1 where org_id = ${org}`)
  await db.query(sql.unsafe`insert into credit_entries (org_id, kind, purchased) values (${org}, 'settle', -1)`)
  await assertWhole(t, org)
  t.like((await settle(org, 'new', 2)).balance, {purchased: 0.5, reserved: 0, available: 0.5})
  await assertWhole(t, org)
})

test.serial('credits expire at their end, and the ledger records it', async t => {
  const org = await makeOrg(db, {aiCredits: 0})
  const ending = {expiresAt: inDays(1)}
  await grant(org, 'ending', 4, ending)
  await grant(org, 'lasting', 2)
  t.like(await balanceOf(org), {included: 0, purchased: 6})
  t.teardown(() => setAhead(db, 0))
  await setAhead(db, 2 * day)
  t.like(await balanceOf(org), {purchased: 2, available: 2})
  const {before, after} = await grant(org, 'ending', 4, ending)
  t.is(after, before, 'the same request again changes nothing')
  t.like(await t.throwsAsync(grant(org, 'late', 4, ending)), {code: 'INVALID'})
  await assertWhole(t, org)
})

test.serial('credits that expire between the balance check and the reservation are still reserved and spent', async t => {
  const org = await makeOrg(db, {aiCredits: 0})
  await grant(org, 'ending', 4, {expiresAt: inDays(1)})
  t.teardown(() => setAhead(db, 0))
  await db.transaction(async tx => {
    await holdCurrent(tx, org)
    await setAhead(tx, 2 * day)
    await insertReservation(tx, {org, ref: 'a', feature, amount: 3, seconds: 900})
    await postEntry(tx, {org, kind: 'reserve', ref: 'a', feature, reserved: 3})
  })
  await assertWhole(t, org)
  t.like(await settle(org, 'a', 3), {spent: 3, balance: {purchased: 0, reserved: 0}})
  await assertWhole(t, org)
})

test.serial('settling for less returns the rest, releasing returns all, and each applies once', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  await reserve(org, 'a', 6)
  await reserve(org, 'a', 6)
  t.like(await balanceOf(org), {available: 4}, 'one reservation, however often it is asked for')
  t.like(await settle(org, 'a', 2), {spent: 2, balance: {included: 8, reserved: 0, available: 8}})
  t.like(await settle(org, 'a', 5), {spent: 2, balance: {available: 8}})
  t.like(await release(org, 'a'), {available: 8})
  await reserve(org, 'b', 8)
  t.like(await release(org, 'b'), {available: 8})
  t.like(await settle(org, 'b', 8), {spent: 0, balance: {available: 8}})
  await t.throwsAsync(settle(org, 'never', 1), {message: /No credits were reserved/})
  await t.throwsAsync(reserve(org, 'c', 0.5), {instanceOf: RangeError})
})

test.serial('a repeated grant answers as the first, even after its credits expired', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  const expiresAt = inDays(1)
  t.like((await grant(org, 'gift', 5, {expiresAt})).after, {purchased: 5})
  await setAhead(db, 2 * day)
  t.teardown(() => setAhead(db, 0))
  const {before, after} = await grant(org, 'gift', 5, {expiresAt})
  t.like(after, {included: 10, purchased: 0})
  t.is(before, after)
  await t.throwsAsync(grant(org, 'other', 5, {expiresAt}), {message: /expired already/})
})

test.serial('a late settlement is paid from the credits still available', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  await reserve(org, 'slow', 6)
  await setAhead(db, reservedSeconds + 1)
  t.teardown(() => setAhead(db, 0))
  await reserve(org, 'next', 7)
  t.like(await settle(org, 'slow', 6), {spent: 3, balance: {included: 7, reserved: 7, available: 0}})
  await assertWhole(t, org)
})

test.serial('each period gets its included credits once; purchased credits stay, and reserved ones do not expire', async t => {
  const org = await makeOrg(db, {aiCredits: 10})
  await grant(org, 'bought', 4)
  await grant(org, 'bought', 4)
  await reserve(org, 'spent', 3)
  await settle(org, 'spent', 3)
  await Promise.all(Array.from({length: 5}, () => balanceOf(org)))
  const first = await balanceOf(org)
  t.like(first, {included: 7, purchased: 4, available: 11})
  t.teardown(() => setAhead(db, 0))
  // Two periods later, without any access in between.
  await setAhead(db, (Date.parse(first.periodEnd) - Date.now()) / 1000 + 32 * day)
  const third = await balanceOf(org)
  t.like(third, {included: 10, purchased: 4, available: 14})
  t.true(third.periodStart > first.periodEnd)
  await db.transaction(tx => reserveCredits(tx, queue, {org, feature, amount: 14, ref: 'long', seconds: 90 * day}))
  await setAhead(db, (Date.parse(third.periodEnd) - Date.now()) / 1000 + day)
  t.like(await balanceOf(org), {included: 20, purchased: 4, reserved: 14, available: 10}, 'held over the end of the period')
  t.like(await release(org, 'long'), {included: 10, purchased: 4, available: 14}, 'and expired once nothing holds it')
  await assertWhole(t, org)
})
