import test from 'ava'
import {type Org, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderOf, orderSheet, orders} from '../support/subforms.ts'
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
const count = 60

for (const [seed, point] of ['after_intent:2', 'after_send:3', 'before_settle:2'].entries()) {
  test.serial(`after a kill at ${point}, each record has its earlier subform rows once, and edited rows are kept`, async t => {
    const codes = Array.from({length: count}, (_, n) => `K${seed}-${n}`)
    const old = [{Product: 'Old', Note: 'n'}, {Product: 'Older'}]
    for (const code of codes) here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: old}])
    const rowsOf = (code: string) => here.crm.record('example', 'Orders', orderOf(here, code).id)!.Order_Lines as any[]
    const valuesOf = (code: string) => rowsOf(code).map(({Product, Note}) => ({Product, Note}))
    const before = new Map(codes.map(code => [code, valuesOf(code)]))
    const files = {orders: orderSheet(codes), lines: lineSheet(codes.flatMap(code => [[code, 'A'] as const, [code, 'B'] as const]))}
    const {path} = await prepareFiles(org, files, [orders(), lines()])
    const start = async (at: string) => `${path}/runs/${(await ok(org.call('POST', `${path}/runs${at}`, {}), 202)).run.id}`
    const first = startWorker()
    const imported = await start('')
    t.like((await untilEnded(org.call, imported)).counts.Order_Lines, {updated: 2 * count})
    await endWorker(first)
    here.crm.clock.advance(60_000)
    const edited = codes.filter((_, n) => n % 5 === 0)
    for (const code of edited) {
      const {id} = orderOf(here, code)
      here.crm.update('example', 'Orders', [{id, Order_Lines: [{id: rowsOf(code)[0].id, Note: 'Mine'}]}], {as: 'ben@example.org'})
      before.set(code, valuesOf(code))
    }
    const undo = await start(`/${imported.split('/').at(-1)}/undo`)
    await killAt(startWorker, point)
    const last = startWorker()
    const ended = await untilEnded(org.call, undo)
    await endWorker(last)
    t.deepEqual(new Map(codes.map(code => [code, valuesOf(code)])), before)
    const [kept, restored] = [2 * edited.length, 2 * (count - edited.length)]
    t.like(ended.counts.Order_Lines, {updated: restored, skipped: kept, refused: 0, unanswered: 0})
    const ends = (await readLog(org.call, undo)).filter(
      ({phase, outcome, module}) => phase === 'write' && outcome !== 'unanswered' && module === 'Order_Lines',
    )
    t.deepEqual([ends.length, new Set(ends.map(({rowKey}) => rowKey)).size], [2 * count, 2 * count])
  })
}
