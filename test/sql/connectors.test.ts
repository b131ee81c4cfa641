import test from 'ava'
import {readConnector} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {openOrg} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a connection with a warning of a newer build can be read, without that warning', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  const {connector} = await openOrg(here)
  const warnings = [
    {code: 'fromTheFuture', modules: []},
    {code: 'notAdmin', modules: ['Leads']},
  ]
  await here.db.query(sql.unsafe`update connectors set warnings = ${JSON.stringify(warnings)}::jsonb where id = ${connector}`)
  t.deepEqual((await readConnector(here.db, connector))!.warnings, [{code: 'notAdmin', modules: ['Leads']}])
})
