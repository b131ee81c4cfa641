import test from 'ava'
import pg from 'pg'
import {createDatabase} from '../support/database.ts'
import {until} from '../support/until.ts'
import {watchLocks} from './upgrade-locks.ts'

test('the lock watch measures how long a release holds locks that writers need, and how long they wait', async t => {
  const ends: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const database = await createDatabase('watch')
  ends.push(database.drop)
  const open = async (application_name: string) => {
    const client = new pg.Client({connectionString: database.url, application_name})
    await client.connect()
    ends.push(() => client.end())
    return client
  }
  const [release, writer, reader] = [await open('lading-release'), await open('writer'), await open('reader')]
  const watch = await watchLocks(database.url, end => ends.push(end))
  await release.query('begin; create table brand_new (no int); alter table orgs add column watched int; select 1 from imports')
  const writing = writer.query(`update orgs set name = name`)
  const reading = reader.query('select 1 from imports')
  await reading
  await until(
    () => [watch.held.get('orgs AccessExclusiveLock') ?? 0, watch.waited.longestMs],
    ([held, waited]) => held! > 300 && waited! > 300,
  )
  await release.query('rollback')
  await writing
  t.is(watch.waited.what, 'orgs')
  t.deepEqual([...watch.held.keys()], ['orgs AccessExclusiveLock'])
})
