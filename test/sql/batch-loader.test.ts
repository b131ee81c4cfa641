import {createHash} from 'node:crypto'
import test from 'ava'
import {openBatchLoader} from '../../sql/batch-loader.ts'
import {readSessionCaller, readTokenCaller} from '../../sql/callers.ts'
import {type Hot, openHot} from '../../sql/database.ts'
import {createDatabase, type Database} from '../support/database.ts'

let database: Database
let hot: Hot
test.before(async () => {
  database = await createDatabase('gathered')
  hot = openHot(database.url)
  await hot.query(`
    insert into people (id, subject, email, name) select 'per_' || n, 's' || n, n || '@example.org', 'Person ' || n from generate_series(1, 200) n;
    insert into orgs (id, name, crm_dc, crm_org_id) select 'org_' || n, 'Org ' || n, 'test', n from generate_series(1, 200) n;
    insert into members (id, org_id, person_id, role) select 'mem_' || n, 'org_' || n, 'per_' || n, 'owner' from generate_series(1, 200) n;
    insert into sessions (id, person_id, org_id, role, expires_at)
      select 'ses_' || n, 'per_' || n, 'org_' || n, 'owner', now() + interval '1 day' from generate_series(1, 200) n;
    insert into api_tokens (id, org_id, person_id, name, prefix, hash)
      select 'tok_' || n, 'org_' || n, 'per_' || n, 'Token', 'p', sha256(n::text::bytea) from generate_series(1, 200) n`)
})
test.after.always(async () => {
  await hot?.end()
  await database?.drop()
})

const hashOf = (n: number) => createHash('sha256').update(String(n)).digest()
/** Numbers from 1 to 220, several times and out of order. Those over 200 do not exist. */
const mixed = Array.from({length: 1_000}, (_, n) => 1 + ((n * 7_919) % 220))

test('concurrent lookups each return their own row', async t => {
  const found = await Promise.all(
    mixed.flatMap(n => [
      readSessionCaller(hot, `ses_${n}`).then(row => [n, row?.id, row?.email, row?.orgId] as const),
      readTokenCaller(hot, hashOf(n)).then(row => [n, row?.id.replace('tok', 'ses'), row?.email, row?.orgId] as const),
    ]),
  )
  for (const [n, ...row] of found) {
    t.deepEqual(row, n > 200 ? [undefined, undefined, undefined] : [`ses_${n}`, `${n}@example.org`, `org_${n}`])
  }
})

test('a lookup that starts after a committed change returns the changed row', async t => {
  const asking = mixed.slice(0, 400).map(n => readSessionCaller(hot, `ses_${n}`))
  await hot.query(`update people set banned_at = now() where id = 'per_7'`)
  t.true((await readSessionCaller(hot, 'ses_7'))?.banned)
  await Promise.all(asking)
})

test('a failed batch rejects its lookups only, and the next batch is queried', async t => {
  let isBroken = true
  const query = async ({values: [keys]}: {values: [string[]]}) => {
    if (isBroken) throw new Error(`broken with ${keys.length}`)
    return {rows: keys.map((key, at) => ({n: at + 1, key}))}
  }
  const find = openBatchLoader<string, {key: string}>('broken', '')
  const gate = {query} as unknown as Hot
  const ends = await Promise.allSettled(Array.from({length: 500}, (_, n) => find(gate, `${n}`)))
  t.deepEqual([...new Set(ends.map(end => (end.status === 'rejected' ? end.reason.message : 'answered')))].toSorted(), [
    'broken with 100',
    'broken with 200',
  ])
  isBroken = false
  t.is((await find(gate, 'a'))?.key, 'a')
})

test('waiting lookups fail together with the hanging batch once they have waited too long', async t => {
  const flying: (() => void)[] = []
  const query = () => new Promise((_, reject) => flying.push(() => reject(new Error('timed out'))))
  const find = openBatchLoader<string, {key: string}>('hanging', '', {patienceMs: 0})
  const gate = {query} as unknown as Hot
  let told = 0
  const asked = Array.from({length: 5_000}, (_, n) => find(gate, `${n}`).catch(() => void told++))
  await new Promise(setImmediate)
  t.is(flying.length, 2)
  flying[0]!()
  await new Promise(setImmediate)
  t.deepEqual([told, flying.length], [4_800, 2], 'nobody is left to ask for')
  flying[1]!()
  await Promise.all(asked)
})
