import test from 'ava'
import {openPaces} from '../../../shared/crm/limits/paces.ts'
import {openLog} from '../../../shared/telemetry/log.ts'
import {listPaces} from '../../../sql/crm-paces.ts'
import {openOrg} from '../../support/importing.ts'
import {startTestDeployment} from '../../support/test-deployment.ts'

test('processes share the pace of calls, and newer measurements weigh as much as all older ones', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  const {connector} = await openOrg(here)
  const log = openLog('test', 'silent')
  const measure = async (from: number) => {
    const paces = openPaces({db: here.db, log})
    for (let ms = 1; ms <= 100; ms++) paces.note({connector, operation: 'tag', ms: from + ms})
    paces.note({connector: 'con_gone', operation: 'tag', ms: 5})
    await paces.close()
  }
  const stored = async () => (await listPaces(here.db, connector)).find(({operation}) => operation === 'tag')
  await measure(0)
  t.deepEqual(await stored(), {operation: 'tag', p50Ms: 51, p95Ms: 96})
  await measure(100)
  t.deepEqual(await stored(), {operation: 'tag', p50Ms: 101, p95Ms: 146})
  t.deepEqual(await listPaces(here.db, 'con_gone'), [])
})
