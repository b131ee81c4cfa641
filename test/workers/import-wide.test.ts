import test from 'ava'
import {accounts, openOrg, runImport} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('rows of a megabyte are sent before their batch is full', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {CRM_SLOTS: '2'}})
  const org = await openOrg(here)
  const rows = 44
  const wide = 'x'.repeat(1_000_000)
  const csv = `name,number,city,notes\n${Array.from({length: rows}, (_, n) => `Company ${n},W-${n},Town,${wide}`).join('\n')}\n`
  here.crm.setSwitches({latencyMs: 100})
  here.crm.clearJournal()
  const {path, run} = await runImport(org, {csv, flow: {...accounts, match: undefined}})
  t.deepEqual((await assertAccounted(here, {org, path, run, rows})).outcomes, {created: rows})
  const sizes = here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).map(({body}) => body.data.length as number)
  t.true(Math.max(...sizes) <= 38, sizes.join(' '))
})
