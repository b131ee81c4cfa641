import test from 'ava'
import {deletion, type Org, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)
const rows = 250

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith(prefix))

for (const [seed, point] of ['after_intent:2', 'after_send:2', 'before_settle:3', 'in_close'].entries()) {
  test.serial(`after a kill at ${point}, each record is deleted and counted once, and can be restored`, async t => {
    const prefix = `K${seed}-`
    const numbers = Array.from({length: rows}, (_, n) => `${prefix}${n + 1}`)
    here.crm.create(
      'example',
      'Accounts',
      [...numbers, `${prefix}kept`].map(number => ({Account_Name: `Firm ${number}`, Account_Number: number})),
    )
    const before = list(prefix)
      .map(({id}) => String(id))
      .sort()
    const {path} = await prepareImport(org, {csv: `number\n${numbers.join('\n')}\n`, flow: deletion})
    const start = async (body: object, at = `${path}/runs`) => `${path}/runs/${(await ok(org.call('POST', at, body), 202)).run.id}`
    const first = startWorker()
    t.is((await untilEnded(org.call, await start({dryRun: true}))).deleted, rows)
    await endWorker(first)
    const run = await start({confirmDeletes: rows})
    await killAt(startWorker, point)
    const last = startWorker()
    const ended = await untilEnded(org.call, run)
    t.like(ended, {stop: null, deleted: rows, rowsWritten: rows})
    t.like(ended.counts.Accounts, {updated: rows, unanswered: 0, refused: 0, skipped: 0})
    t.deepEqual(
      list(prefix).map(({Account_Number}) => Account_Number),
      [`${prefix}kept`],
    )
    const finals = (await readLog(org.call, run)).filter(({code}) => code === 'DELETED')
    t.deepEqual([finals.length, new Set(finals.map(({rowKey}) => rowKey)).size], [rows, rows])
    const undone = await untilEnded(org.call, await start({}, `${run}/undo`))
    await endWorker(last)
    t.like(undone.undo, {restored: rows, deleted: 0, changedSince: 0})
    t.deepEqual(
      list(prefix)
        .map(({id}) => String(id))
        .sort(),
      before,
    )
  })
}
