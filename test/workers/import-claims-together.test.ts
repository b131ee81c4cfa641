import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const flow = {...accounts, match: undefined}

test('two runs whose lost creates are answered as duplicates together claim their records at once', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '30'}})
  const org = await openOrg(here)
  const begin = async (prefix: string) => {
    const {path} = await prepareImport(org, {csv: accountRows(100, prefix), flow})
    return {path, prefix}
  }
  const imports = [await begin('Ca-'), await begin('Cb-')]
  here.crm.faults.add({match: creates, times: 2, action: 'dropAfter'})
  here.crm.faults.add({match: creates, action: {type: 'slow', ms: 1_500}})
  const runs = await Promise.all(imports.map(async ({path}) => (await ok(org.call('POST', `${path}/runs`, {}), 202)).run.id as string))
  for (const [at, {path, prefix}] of imports.entries()) {
    const run = await untilEnded(org.call, `${path}/runs/${runs[at]}`)
    const {outcomes, log, finals} = await assertAccounted(here, {org, path, run, rows: 100})
    t.deepEqual(outcomes, {created: 100})
    t.is(log.length, 300, 'each row is logged as unanswered, refused and created')
    assertOnce(here.crm, prefix, finals)
  }
})
