import test from 'ava'
import {admit, settle} from '../../sql/ledger.ts'
import {listUnknownRows} from '../../sql/undo.ts'
import {beginRun, intent, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>

test.before(async t => {
  here = await openLedger(t.title)
})
test.after.always(() => here?.close())

test('a question keeps the time of its first batch, and the deadline by which the CRM has finished', async t => {
  const {run, fence} = await beginRun(here)
  const when = async () =>
    (await here.hot.query(`select sent_at, deadline_at, ended from unsettled where chain_no = $1`, [run])).rows[0] as {
      sent_at: Date
      deadline_at: Date
      ended: boolean
    }
  const sendOf = async (batch: number) =>
    (await here.hot.query(`select sent_at, deadline_at from sends where run_no = $1 and batch_no = $2`, [run, batch])).rows[0] as object
  const opened = [{module: 1, key: 'f.1', flow: 1, number: 1, kind: 0, target: null, hasUniqueKey: false, attempt: 1}]
  await admit(here.hot, intent({run, fence}, 1, 1, 1))
  const first = await sendOf(1)
  await settle(here.hot, settlement({run, fence}, 1, {batches: [1], opened}))
  t.like(await when(), {...first, ended: false})
  await admit(here.hot, intent({run, fence}, 2, 1, 1))
  const second = (await sendOf(2)) as {sent_at: Date; deadline_at: Date}
  await settle(here.hot, settlement({run, fence}, 2, {batches: [2], opened: [{...opened[0]!, attempt: 2, doneSeconds: 3}]}))
  t.like(await when(), {...first, deadline_at: new Date(second.sent_at.getTime() + 3_000)})
  const before = await when()
  await settle(here.hot, settlement({run, fence}, 3, {opened: [{...opened[0]!, attempt: 2, ended: true}]}))
  t.deepEqual(await when(), {...before, ended: true}, 'nothing was sent')
})

test('an undo lists a lost create, unless the run has a record of the row', async t => {
  const {run, fence} = await beginRun(here)
  const entry = {module: 1, flow: 1, target: '7', hasUniqueKey: false, attempt: 1, creates: 1}
  const opened = [
    {...entry, key: 'f.1', number: 1, kind: 2, ended: true},
    {...entry, key: 'f.2', number: 2, kind: 2, ended: true},
    {...entry, key: 'f.3', number: 3, kind: 0, target: null},
  ]
  const kept = [2, 3].map(n => ({module: 1, key: `f.${n}`, recordId: `8${n}`, how: 1, matchKey: null}))
  await settle(here.hot, settlement({run, fence}, 1, {opened, kept}))
  const listed = await listUnknownRows(here.db, {chain: run, run, after: {module: 0, key: ''}, limit: 10})
  t.deepEqual(
    listed.map(({key}) => key),
    ['f.1', 'f.3'],
  )
})
