import test from 'ava'
import {z} from 'zod'
import {readConfig} from '../../shared/config.ts'
import {sql} from '../../sql/database.ts'
import {lockHead, takeLease} from '../../sql/run-heads.ts'
import {beginRun, expireLease, openLedger} from '../support/running.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('head')
})
test.after.always(() => here?.close())

test('an owner that sleeps while it locks the run head loses the lock after a short time', async t => {
  const {run, fence} = await beginRun(here)
  const Setting = sql.type(z.object({ms: z.number()}))
  const inDefault = await here.db.oneFirst(Setting`
    select setting::int as ms from pg_settings where name = 'idle_in_transaction_session_timeout'`)
  t.true(inDefault > 0 && inDefault <= 2 * readConfig({}).LEASE_SECONDS * 1000)
  const asleep = here.db.transaction(async tx => {
    // The default of ten seconds is too long for a test.
    await tx.query(sql.unsafe`set local idle_in_transaction_session_timeout = 200`)
    await lockHead(tx, {run, fence})
    await new Promise(() => {})
  })
  const ended = t.throwsAsync(asleep)
  await until(
    () => here.db.exists(sql.type(z.object({}))`select from pg_locks where mode = 'RowShareLock' and relation = 'run_heads'::regclass`),
    Boolean,
  )
  await expireLease(here, run)
  t.is((await takeLease(here.db, {run, owner: 'next', seconds: 60}))?.fence, fence + 1)
  await ended
})
