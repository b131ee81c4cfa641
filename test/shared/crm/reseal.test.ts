import {spawn} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import anyTest, {type TestFn} from 'ava'
import {openAccess, openRefresh} from '../../../shared/crm/sealed.ts'
import {sql} from '../../../sql/database.ts'
import {findGrant} from '../../../sql/grants.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

const test = anyTest.serial as TestFn<{place: CrmPlace}>
const text = () => randomBytes(32).toString('base64')
const [first, second] = [`k1:${text()}`, `k2:${text()}`]
const entry = fileURLToPath(new URL('../../../shared/security/rotation.ts', import.meta.url))

test.before(async t => {
  t.context.place = await place(t, {environment: {SECRETS_KEYS: first}})
})
test.beforeEach(t => t.context.place.db.query(sql.unsafe`delete from grants`))

/** Runs the command as a deployment operator does. Returns its exit code and output. */
const reseal = async ({config}: CrmPlace, keys: string) => {
  const child = spawn(process.execPath, [entry], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {...process.env, NODE_ENV: 'test', LOG_LEVEL: 'silent', DATABASE_URL: config.DATABASE_URL!, SECRETS_KEYS: keys},
  })
  let said = ''
  child.stdout.on('data', chunk => (said += chunk))
  const [code] = await once(child, 'exit')
  return {code, said: said.trim()}
}
const ringOf = (keys: string) => keys.split(',').map(pair => ({id: pair.split(':')[0]!, key: Buffer.from(pair.split(':')[1]!, 'base64')}))

test('all secrets are encrypted again under the first key, once, and open with that key alone', async t => {
  const {place} = t.context
  const ids = await Promise.all([place.connect(), place.connect(), place.connect()])
  const before = await Promise.all(ids.map(id => findGrant(place.db, id)))
  t.deepEqual(await reseal(place, `${second},${first}`), {
    code: 0,
    said: 'Resealed with the key k2: 3. Remaining under other keys: 0.',
  })
  for (const [at, id] of ids.entries()) {
    const grant = (await findGrant(place.db, id))!
    t.is(openRefresh(ringOf(second), id, grant.refreshSealed), openRefresh(ringOf(first), id, before[at]!.refreshSealed))
    t.is(openAccess(ringOf(second), id, grant.accessSealed!), openAccess(ringOf(first), id, before[at]!.accessSealed!))
  }
  t.deepEqual(await reseal(place, `${second},${first}`), {
    code: 0,
    said: 'Resealed with the key k2: 0. Remaining under other keys: 0.',
  })
})

test('a secret that no key opens stays and is reported, and the others are done', async t => {
  const {place} = t.context
  const [lost, kept] = [await place.connect(), await place.connect()]
  await place.db.query(
    sql.unsafe`update grants set refresh_sealed = replace(refresh_sealed, 'v1.k1.', 'v1.k0.') where connector_id = ${lost}`,
  )
  t.deepEqual(await reseal(place, `${second},${first}`), {
    code: 1,
    said: 'Resealed with the key k2: 1. Remaining under other keys: 1.',
  })
  t.regex((await findGrant(place.db, kept))!.refreshSealed, /^v1\.k2\./)
})

test('a renewal in progress is waited for, and its token is kept', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  place.standIn.faults.add({match: {path: '/oauth/v2/token'}, action: {type: 'slow', ms: 1_500, when: 'before'}})
  const connection = await place.crm.open(id)
  const writing = connection.createRecords('Leads', [{Last_Name: 'Ono'}], {})
  const {code} = await reseal(place, `${second},${first}`)
  t.true((await writing).results[0]!.ok)
  t.is(code, 0)
  const grant = (await findGrant(place.db, id))!
  t.regex(grant.accessSealed!, /^v1\.k2\./)
  const other = await place.openAnother({config: {SECRETS_KEYS: ringOf(second)}})
  t.true((await (await other.open(id)).createRecords('Leads', [{Last_Name: 'Uno'}], {})).results[0]!.ok)
  t.is(await place.mintsOf(id), 1)
})
