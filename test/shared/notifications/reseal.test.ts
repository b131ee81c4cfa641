import {randomBytes, randomUUID} from 'node:crypto'
import test from 'ava'
import {resealWebhooks} from '../../../shared/notifications/reseal.ts'
import {openSecret, sealSecret} from '../../../shared/notifications/signature.ts'
import {openLog} from '../../../shared/telemetry/log.ts'
import {openDatabase, sql} from '../../../sql/database.ts'
import {keepOrg} from '../../../sql/orgs.ts'
import {findEndpoint, insertEndpoint, listSealedElse, rotateSecret} from '../../../sql/webhooks.ts'
import {createDatabase} from '../../support/database.ts'

test('webhook secrets are encrypted again under the first key, also replaced ones; unreadable ones are counted', async t => {
  const database = await createDatabase(t.title)
  const db = await openDatabase(database.url)
  t.teardown(async () => {
    await db.end()
    await database.drop()
  })
  const keyOf = (id: string) => ({id, key: randomBytes(32)})
  const [before, after, lost] = [keyOf('k1'), keyOf('k2'), keyOf('k0')]
  const add = (id: string, key: typeof before) =>
    db.transaction(async tx => {
      const org = (await keepOrg(tx, {id: `org_${id}`, name: id, dc: 'test', crmOrgId: randomUUID()})).id
      const shape = {kind: 'json' as const, url: 'https://example.com/', description: '', events: [], schedule: null}
      await insertEndpoint(tx, {...shape, id, org, sealed: sealSecret([key], id, `first ${id}`)})
      await rotateSecret(tx, {id, sealed: sealSecret([key], id, `second ${id}`), hours: 24})
      return findEndpoint(tx, {org, id})
    })
  t.truthy((await add('whk_1', before))!.oldSecretUntil)
  await add('whk_2', lost)
  const log = openLog('test', 'silent')
  t.deepEqual(await resealWebhooks({db, ring: [after, before], log}), {resealed: 1, remaining: 1})
  t.deepEqual(await resealWebhooks({db, ring: [after, before], log}), {resealed: 0, remaining: 1})
  const [mine] = await listSealedElse(db, {start: 'v1.none.', after: '', limit: 1})
  t.is(openSecret([after], 'whk_1', mine!.secret), 'second whk_1')
  t.is(openSecret([after], 'whk_1', mine!.old!), 'first whk_1')
  t.throws(() => openSecret([after], 'whk_2', mine!.secret), undefined, 'bound to its endpoint')
  await db.query(sql.unsafe`delete from webhook_endpoints where id = 'whk_2'`)
  t.deepEqual(await resealWebhooks({db, ring: [after], log}), {resealed: 0, remaining: 0})
})
