import test from 'ava'
import {accountRows, accounts, openOrg, readLog, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const opened = startTestDeployment
let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await opened(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

test.serial('every row of a file is created once, logged once and listed in the results', async t => {
  const {run, path} = await runImport(org, {csv: accountRows(350), flow: accounts})
  t.like(run.counts.Accounts, {created: 350, updated: 0, refused: 0, unanswered: 0, failed: 0})
  t.like(run, {state: 'ended', stop: null, rowsWritten: 350})
  const log = await readLog(org.call, `${path}/runs/${run.id}`, 100)
  t.deepEqual(
    log.map(({seq}) => seq),
    Array.from({length: 350}, (_, n) => n + 1),
  )
  t.true(log.every(({outcome, recordId, attempt, phase}) => outcome === 'created' && recordId && attempt === 1 && phase === 'write'))
  const results = await org.call('GET', `${path}/results.csv?run=${run.id}`)
  t.is(results.status, 200)
  const lines = results.text.trim().split('\r\n')
  t.is(lines[0], 'name,number,city,Result,Accounts record,Error')
  t.is(lines.length, 351)
  t.regex(lines[7]!, /^Company 7,A-7,Town 6,Written,\d+,$/)
})

test.serial('importing the same file again creates nothing and updates every row', async t => {
  const {run} = await runImport(org, {csv: accountRows(350), flow: accounts})
  t.like(run.counts.Accounts, {created: 0, updated: 350, refused: 0, unanswered: 0})
})
