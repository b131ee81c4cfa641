import {buffer} from 'node:stream/consumers'
import test from 'ava'
import {accountRows, accounts, ok, runImport} from '../support/importing.ts'
import {archived, countAll, keysOf, openRetaining, refusal} from '../support/retention.ts'

test('values that differ are stored sealed, and are gone with the records of their run', async t => {
  const place = await openRetaining(t)
  const {here, org, night} = place
  const verifyKeys = async () => (await keysOf(here)).filter(key => key.includes('/verify-'))
  here.crm.setSwitches({rewrites: [{module: 'Accounts', how: 'cut', field: 'Account_Name', length: 5}]})
  const csv = accountRows(3).replaceAll('Company', 'Secret Company')
  const {path, run} = await runImport(org, {csv, flow: accounts, start: {verify: 'all'}})
  t.like(run.verify, {rows: 3, coerced: 3})
  const [key, ...others] = await verifyKeys()
  t.deepEqual(others, [])
  const stored = await buffer(await here.storage.read(key!))
  for (const text of ['Secret', 'Compa', 'Account_Name']) t.false(stored.includes(text), text)
  const tables = ['verify_queue', 'verify_keys', 'run_verified']
  t.deepEqual(await countAll(here, tables), {verify_keys: 1, run_verified: 3})
  const {differences} = await ok(org.call('GET', `${path}/runs/${run.id}/verify`), 200)
  t.is(differences[0].sent, 'Secret Company 1')

  await archived(here)
  await here.ahead('40 days')
  await night()
  await here.ahead('80 days')
  await night()
  t.deepEqual(await verifyKeys(), [])
  t.deepEqual(await countAll(here, ['verify_queue', 'verify_keys']), {})
  const [status] = await refusal(org.call('GET', `${path}/runs/${run.id}/verify`))
  t.true(status === 404 || status === 410, `${status}`)
})
