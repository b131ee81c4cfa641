import test from 'ava'
import {settle} from '../../sql/ledger.ts'
import {findHead, recordCrash, releaseLease, takeLease} from '../../sql/run-heads.ts'
import {beginRun, created, expireLease, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('crashes')
})
test.after.always(() => here?.close())

const take = (run: number, owner = 'next') => takeLease(here.db, {run, owner, seconds: 60})

test('a release after a failure counts a crash and keeps the takeovers', async t => {
  const {run, fence} = await beginRun(here)
  await releaseLease(here.db, {run, fence, crashed: true})
  t.like(await take(run), {takeovers: 2, crashes: 1})
})

test('an orderly release counts no crash, and the crashes before it no longer count', async t => {
  const {run, fence} = await beginRun(here)
  await releaseLease(here.db, {run, fence, crashed: true})
  await take(run)
  await releaseLease(here.db, {run, fence: fence + 1, crashed: false})
  t.like(await take(run), {takeovers: 1, crashes: 0})
})

test('a settled row resets the crash count', async t => {
  const {run, fence} = await beginRun(here)
  await releaseLease(here.db, {run, fence, crashed: true})
  await take(run)
  await settle(here.hot, settlement({run, fence: fence + 1}, 1, {log: [created(1)], counts: [1]}))
  await expireLease(here, run)
  t.like(await take(run), {takeovers: 1, crashes: 0})
})

test('rows of an earlier owner that are settled as unanswered do not reset the crash count', async t => {
  const {run, fence} = await beginRun(here)
  await releaseLease(here.db, {run, fence, crashed: true})
  await take(run)
  await settle(here.hot, settlement({run, fence: fence + 1}, 1, {log: [created(1)], counts: [1], isProgress: false}))
  await expireLease(here, run)
  t.like(await take(run), {takeovers: 3, crashes: 1})
})

test('a lease that expires is a takeover and no crash, however often', async t => {
  const {run} = await beginRun(here)
  for (let n = 0; n < 110; n++) {
    await expireLease(here, run)
    await take(run)
  }
  t.like(await findHead(here.db, run), {takeovers: 100, crashes: 0, fence: 111})
})

test('a crashed process is counted, even if another process has taken the run since', async t => {
  const {run} = await beginRun(here)
  t.is(await recordCrash(here.db, run), 1)
  await expireLease(here, run)
  t.like(await take(run), {takeovers: 2, crashes: 1})
  t.is(await recordCrash(here.db, run), 2)
})

test('a crashed process is not counted once a row is settled or the run is released', async t => {
  const [settled, released] = [await beginRun(here), await beginRun(here)]
  await settle(here.hot, settlement(settled, 1, {log: [created(1)], counts: [1]}))
  await releaseLease(here.db, {...released, crashed: false})
  for (const {run} of [settled, released]) {
    t.is(await recordCrash(here.db, run), null)
    t.like(await findHead(here.db, run), {takeovers: 0, crashes: 0})
  }
})
