import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import {accounts, ok, openOrg, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, startWorker} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
const started: ChildProcess[] = []

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.after.always(async () => {
  await Promise.all(started.splice(0).map(endWorker))
})

const start = (environment: Record<string, string> = {}) => {
  const worker = startWorker(here.config, environment)
  started.push(worker)
  return worker
}

const rows = 2_500
const distinct = 1_500

test.serial('a run that is taken over fills down and finds duplicates from its first row on, not from the takeover', async t => {
  const line = (n: number) => `Tk ${n},Tk-${n % distinct},${n === 0 ? 'First' : ''}`
  const csv = `name,number,city\n${Array.from({length: rows}, (_, n) => line(n)).join('\n')}\n`
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources`, csv), 201)
  const cleaning = [
    {step: 'fillDown', columns: ['city']},
    {step: 'strikeDuplicates', columns: ['number']},
  ]
  t.is((await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning}), 200)).source.struck.count, rows - distinct)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...accounts}]), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  for (const point of ['after_send:3', 'before_settle:9']) await killAt(start, point)
  start()
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.is(ended.rowsWritten, distinct)
  const written = here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('Tk-'))
  t.is(written.length, distinct)
  t.true(written.every(({Billing_City}) => Billing_City === 'First'))
  const {text} = await org.call('GET', `${path}/results.csv?run=${run.id}`)
  const lines = text.trim().split('\r\n').slice(1)
  t.is(lines.length, rows)
  t.deepEqual(
    [lines.filter(one => one.includes(',Written,')).length, lines.filter(one => one.includes(',Excluded,')).length],
    [distinct, rows - distinct],
  )
  t.true(lines.slice(distinct).every(one => one.endsWith(',,Excluded,,')))
})
