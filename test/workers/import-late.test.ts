import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
const started: ChildProcess[] = []

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '8'}})
  org = await openOrg(here)
})
test.afterEach.always(async () => {
  here.crm.faults.clear()
  await Promise.all(started.splice(0).map(endWorker))
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const tokens = {path: '/oauth/v2/token'}
/** A delay in ms that exceeds the time within which a request must leave after its intent. */
const slowMs = 5_500

const plain = {...accounts, match: undefined}

const begin = async (prefix: string, rows = 100, flow: object = plain) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows}))}
  }
}
const work = () => started.push(startWorker(here.config))
const statuses = () => here.crm.journal(creates).map(({status}) => status)
const intentsOf = (id: string) =>
  here.db.oneFirst(sql.type(z.object({intents: z.number()}))`
    select next_batch - 1 as intents from run_heads join runs using (run_no) where id = ${id}`)

/** A flow without a unique field. The run reads nothing before its first create, so this create renews the access token. */
const numberAsName = {...plain, fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}

test.serial('a batch whose access token arrives too late is put back, and sent once', async t => {
  await here.db.query(sql.unsafe`update grants set access_expires_at = lading_now() - interval '1 minute'`)
  here.crm.faults.add({match: tokens, times: 1, action: {type: 'slow', ms: slowMs}})
  here.crm.clearJournal()
  const end = await begin('La-', 100, numberAsName)
  work()
  const {outcomes, log, run} = await end()
  t.deepEqual([outcomes, log.length], [{created: 100}, 100])
  t.is(await intentsOf(run.id), 2)
  t.deepEqual(statuses(), [201])
  t.is(here.crm.records('example', 'Accounts').filter(({Account_Name: name}) => String(name).startsWith('La-')).length, 100)
})

test.serial('a batch refused for its access token is not sent again if the new token arrives too late', async t => {
  here.crm.faults.add({match: creates, times: 1, action: 'expireToken'})
  here.crm.faults.add({match: tokens, times: 1, action: {type: 'slow', ms: slowMs}})
  here.crm.clearJournal()
  const end = await begin('Lb-')
  work()
  const {outcomes, log, finals, run} = await end()
  t.deepEqual([outcomes, log.length], [{created: 100}, 100])
  t.is(await intentsOf(run.id), 2)
  t.deepEqual(statuses(), [401, 201])
  assertOnce(here.crm, 'Lb-', finals)
})

for (const [name, hours] of [
  ['behind', -1],
  ['ahead', 1],
] as const) {
  test.serial(`a lost create is claimed and an older record is not, when the CRM's clock is an hour ${name}`, async t => {
    here.crm.clock.advance(hours * 3600_000)
    const prefix = `C${hours}-`
    // Advancing the clock by an hour expires the access token; this call renews it.
    await (await here.tools.crm.open(org.connector)).currentUser()
    here.crm.create('example', 'Accounts', [{Account_Name: 'Older', Account_Number: `${prefix}7`}], {as: 'ana@example.org'})
    here.crm.clock.advance(60_000)
    here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
    const end = await begin(prefix)
    work()
    const {finals, outcomes} = await end()
    here.crm.clock.advance(-hours * 3600_000 - 60_000)
    t.deepEqual(outcomes, {created: 99, refused: 1})
    for (const [number, {code, message}] of finals) {
      if (number === 7) t.regex(message, /created before this import began/)
      else t.is(code, 'MADE_EARLIER')
    }
  })
}

const hours = 2
/** Code that is preloaded in a worker. On SIGUSR2, it sets the worker's clock back, as a time server would do. */
const settable = `const now = Date.now; process.on('SIGUSR2', () => { Date.now = () => now() - ${hours * 3_600_000}; console.log('set') })`

test.serial("a lost create is claimed when the worker's clock is set back during the run", async t => {
  here.crm.faults.add({match: creates, times: 1, action: [{type: 'hold', when: 'after'}, 'dropAfter']})
  const end = await begin('Js-')
  const worker = startWorker(here.config, {
    LOG_LEVEL: 'warn',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(settable)}`,
  })
  started.push(worker)
  await until(here.crm.held, held => held === 1)
  worker.kill('SIGUSR2')
  for await (const line of createInterface(worker.stdout!)) if (line === 'set') break
  here.crm.release()
  const {finals, outcomes} = await end()
  t.deepEqual(outcomes, {created: 100})
  t.true([...finals.values()].every(({code}) => code === 'MADE_EARLIER'))
})

test.serial("after an unseen jump of the CRM's clock, newer records may belong to lost creates and older ones do not", async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Older', Account_Number: 'Ju-7'}], {as: 'ana@example.org'})
  here.crm.clock.advance(60_000)
  here.crm.faults.add({match: creates, times: 1, action: [{type: 'clockJump', seconds: -3_600}, 'dropAfter']})
  here.crm.faults.add({match: creates, times: 1, action: {type: 'clockJump', seconds: 3_600}})
  const end = await begin('Ju-')
  work()
  const {finals, outcomes} = await end()
  t.deepEqual(outcomes, {unanswered: 99, refused: 1})
  t.regex(finals.get(7)!.message, /created before this import began/)
})
