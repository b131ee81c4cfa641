import test from 'ava'
import {type Org, ok, openOrg, untilEnded} from '../support/importing.ts'
import {column, prepareFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)
const rows = 400

for (const point of ['after_intent:2', 'after_send:2', 'before_settle:2'])
  test.serial(`a retry whose worker dies at ${point} links every row and counts each row without a link once`, async t => {
    const mark = point.replaceAll(/\W/g, '')
    const csv = `last,company\n${Array.from({length: rows}, (_, n) => `${mark}-${n},${mark} ${n % 2}`).join('\n')}\n`
    const link = {field: 'Account_Name', mode: 'search', source: 'company', onNone: 'leave'}
    const flow = {id: 'people', source: 'people', module: 'Contacts', match: null, fields: [column('Last_Name', 'last'), link]}
    const {path} = await prepareFiles(org, {people: csv}, [flow])
    const worker = startWorker()
    const {run: first} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    const ended = await untilEnded(org.call, `${path}/runs/${first.id}`)
    await endWorker(worker)
    t.deepEqual(ended.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows}])

    const [{details}] = here.crm.create('example', 'Accounts', [{Account_Name: `${mark} 0`}]) as any[]
    const {run: again} = await ok(org.call('POST', `${path}/runs`, {retryOf: first.id}), 202)
    await killAt(startWorker, point)
    startWorker()
    const retried = await untilEnded(org.call, `${path}/runs/${again.id}`, 120)
    t.like(retried, {counts: {Contacts: {inherited: rows}}, rowsWritten: 0})
    t.deepEqual(retried.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows: rows / 2}])
    const made = here.crm.records('example', 'Contacts').filter(({Last_Name}) => String(Last_Name).startsWith(`${mark}-`))
    t.deepEqual([made.length, made.filter(({Account_Name}) => (Account_Name as any)?.id === String(details.id)).length], [rows, rows / 2])
  })
