import {randomUUID} from 'node:crypto'
import test from 'ava'
import pg from 'pg'
import {z} from 'zod'
import {
  cutBudget,
  deleteShare,
  insertShares,
  lockBudget,
  notifyHolders,
  type ShareRow,
  shareChannel,
  takeShares,
} from '../../sql/budgets.ts'
import {sql} from '../../sql/database.ts'
import {openLedger} from '../support/running.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('budgets')
})
test.after.always(() => here?.close())

const newOrg = () => ({dc: 'us', crmOrgId: randomUUID()})
type Org = ReturnType<typeof newOrg>

let ahead = 0
/** Advances the clock of all tests in this file. */
const pass = (seconds: number) => {
  ahead += seconds
  return here.db.query(sql.unsafe`
    insert into clock_offset (ahead) values (make_interval(secs => ${ahead})) on conflict (only_row) do update set ahead = excluded.ahead`)
}

const look = (org: Org, cap: number) => here.db.transaction(async tx => (await lockBudget(tx, org, cap)).total)
const cut = (org: Org) => cutBudget(here.db, org)

test.serial('a slot pool starts at its cap, and follows the cap until it is cut', async t => {
  const org = newOrg()
  t.is(await look(org, 10), 10)
  t.is(await look(org, 20), 20)
  t.is(await look(org, 5), 5)
  t.is(await look(newOrg(), 7), 7, 'another org has its own')
})

test.serial('a cut takes three tenths of a slot pool, at most every two seconds and never the last slot', async t => {
  const org = newOrg()
  await look(org, 10)
  t.deepEqual([await cut(org), await cut(org), await look(org, 10)], [7, null, 7])
  for (const total of [4, 2, 1, 1]) {
    await pass(2)
    t.is(await cut(org), total)
  }
  t.is(await cut(newOrg()), null, 'nobody has used this one')
})

test.serial('fifty simultaneous rate limits cut a slot pool once', async t => {
  const org = newOrg()
  await look(org, 10)
  const cuts = await Promise.all(Array.from({length: 50}, () => cut(org)))
  t.deepEqual(
    cuts.filter(total => total !== null),
    [7],
  )
})

test.serial('a slot pool grows by one slot for every ten seconds without a cut, up to its cap', async t => {
  const org = newOrg()
  await look(org, 10)
  await cut(org)
  await pass(9)
  t.is(await look(org, 10), 7)
  await pass(2)
  t.is(await look(org, 10), 8)
  t.is(await look(org, 10), 8, 'looking again grows nothing')
  await pass(9.5)
  t.is(await look(org, 10), 9, 'what was left of the ten seconds counts')
  await cut(org)
  await pass(25)
  t.is(await look(org, 10), 8, 'nobody looked for a while')
  await pass(1_000)
  t.is(await look(org, 10), 10)
})

test.serial('a lowered cap reduces a slot pool, and a raised cap does not enlarge a cut pool', async t => {
  const org = newOrg()
  await look(org, 20)
  await cut(org)
  t.is(await look(org, 25), 14)
  t.is(await look(org, 10), 10)
  t.is(await look(org, 25), 10, 'a process with a higher cap does not undo the cut')
})

test.serial('a turn lasts two seconds', async t => {
  const org = newOrg()
  const turnOf = () => here.db.transaction(async tx => (await lockBudget(tx, org, 1)).turn)
  const turn = await turnOf()
  await pass(2)
  const next = await turnOf()
  t.true(next === turn + 1 || next === turn + 2)
})

const share = (holder: string, got: number): ShareRow & {inUse: number} => ({
  holder,
  share: 1,
  run: 7,
  want: 12,
  wantLarge: 10,
  got,
  gotLarge: got,
  inUse: got,
})
const renew = (org: Org, holder: string, shares: (ShareRow & {inUse: number})[], takenOver: number[] = []) =>
  here.db.transaction(async tx => {
    await lockBudget(tx, org, 10)
    const before = await takeShares(tx, org, {holder, takenOver})
    await insertShares(tx, org, shares)
    return before.filter(({replaced}) => !replaced)
  })

test.serial('after the end of a run, one slot is reserved for a quarter of a second', async t => {
  const org = newOrg()
  /** Moves `freed_at` to `ago` seconds ago, unless it is null, and returns what is left of the reservation. */
  const reservedMs = (ago: number) =>
    here.db.transaction(async tx => {
      await tx.query(sql.type(z.object({}))`
        update crm_budgets set freed_at = lading_now() - make_interval(secs => ${ago}) where crm_org_id = ${org.crmOrgId} and freed_at is not null`)
      return (await lockBudget(tx, org, 10)).reservedMs
    })
  await renew(org, 'a', [share('a', 4), {...share('a', 2), share: 2, run: null}])
  await deleteShare(here.db, org, {holder: 'a', share: 2})
  t.is(await reservedMs(0), 0, 'no run had this share')
  await deleteShare(here.db, org, {holder: 'a', share: 3})
  t.is(await reservedMs(0), 0, 'there is no such share')
  await deleteShare(here.db, org, {holder: 'a', share: 1})
  t.true((await reservedMs(0)) > 0)
  t.is(await reservedMs(0.25), 0)
  t.is(await reservedMs(-30), 0, 'the clock was set back since')
})

test.serial('a holder replaces its own shares and sees those of others until they expire', async t => {
  const org = newOrg()
  t.deepEqual(await renew(org, 'a', [share('a', 4)]), [])
  const [seen] = await renew(org, 'b', [share('b', 6)])
  const {inUse: _, ...kept} = share('a', 4)
  t.deepEqual(seen, {...kept, replaced: false})
  await pass(14)
  t.is((await renew(org, 'b', [share('b', 6)])).length, 1)
  await pass(1)
  t.is((await renew(org, 'b', [share('b', 6)])).length, 0, 'fifteen seconds after its last renewal')
  t.is((await renew(org, 'a', []))[0]?.got, 6)
  const left = await here.db.oneFirst(sql.type(z.object({count: z.number()}))`
    select count(*) from crm_shares where crm_org_id = ${org.crmOrgId}`)
  t.is(left, 1)
})

test.serial("a run's new owner takes over the share of its previous owner and no other", async t => {
  const org = newOrg()
  await renew(org, 'dead', [share('dead', 4)])
  await renew(org, 'other', [{...share('other', 3), run: 8}])
  await renew(org, 'reader', [{...share('reader', 1), run: null}])
  const others = await renew(org, 'new', [], [7])
  t.deepEqual(others.map(({holder}) => holder).sort(), ['other', 'reader'])
})

test.serial('a cut notifies every holder of the org, and a deleted share the other holders', async t => {
  const listener = new pg.Client(here.url)
  await listener.connect()
  t.teardown(() => listener.end())
  const seen: string[] = []
  listener.on('notification', ({payload}) => seen.push(payload!))
  await listener.query(`listen ${shareChannel}`)
  const [org, foreign] = [newOrg(), newOrg()]
  const to = (holder: string) => `${holder} us.${org.crmOrgId}`
  for (const holder of ['a', 'b']) await renew(org, holder, [share(holder, 4)])
  await renew(foreign, 'c', [share('c', 4)])
  /** Returns the notifications since the last call. They arrive in the order of the commits, so all earlier ones have arrived with `mark`. */
  const readSeen = async () => {
    await here.db.transaction(tx => notifyHolders(tx, org, ['mark']))
    await until(
      () => seen.at(-1),
      last => last === to('mark'),
    )
    return seen.splice(0).slice(0, -1).sort()
  }
  t.deepEqual(await readSeen(), [], 'storing shares sends no notification')
  await cut(org)
  await cut(org)
  t.deepEqual(await readSeen(), [to('a'), to('b')], 'only the first of two cuts counts')
  await deleteShare(here.db, org, {holder: 'a', share: 1})
  await deleteShare(here.db, org, {holder: 'a', share: 1})
  t.deepEqual(await readSeen(), [to('b')])
  await t.throwsAsync(
    here.db.transaction(async tx => {
      await notifyHolders(tx, org, ['b'])
      throw new Error('rolled back')
    }),
  )
  t.deepEqual(await readSeen(), [])
})
