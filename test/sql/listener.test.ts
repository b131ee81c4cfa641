import test from 'ava'
import pg from 'pg'
import {openListener} from '../../sql/listener.ts'
import {freePort} from '../stack/port.ts'
import {createDatabase, type Database} from '../support/database.ts'
import {until} from '../support/until.ts'

let database: Database
let admin: pg.Client

test.before(async () => {
  database = await createDatabase('listener')
  admin = new pg.Client(database.url)
  await admin.connect()
})
test.after.always(async () => {
  await admin?.end()
  await database?.drop()
})

const open = (t: {teardown(end: () => Promise<void>): void}, url = database.url, channel = 'test_channel') => {
  const seen = {messages: [] as string[], begun: 0, ended: [] as string[]}
  const listener = openListener({
    url,
    channel,
    onMessage: payload => seen.messages.push(payload),
    onBegin: () => seen.begun++,
    onEnd: ({message}) => seen.ended.push(message),
  })
  t.teardown(listener.close)
  return {...listener, seen}
}

const countListeners = async () => {
  const {rows} = await admin.query(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'lading-listener'`,
  )
  return rows[0].count as number
}

test.serial('a listener receives the notifications of its channel in order, and none after it was closed', async t => {
  const {seen, isListening, close} = open(t)
  t.false(isListening())
  await until(isListening, Boolean)
  await admin.query(`select pg_notify('other_channel', 'x'), pg_notify('test_channel', 'one'), pg_notify('test_channel', 'two')`)
  await until(
    () => seen.messages.length,
    count => count === 2,
  )
  t.deepEqual([seen.messages, seen.begun, seen.ended], [['one', 'two'], 1, []])
  await close()
  t.false(isListening())
  await until(countListeners, count => count === 0)
  t.deepEqual(seen.ended, [], 'a closed listener reports no end')
})

test.serial('a listener whose connection is killed connects again', async t => {
  const {seen, isListening} = open(t)
  await until(isListening, Boolean)
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lading-listener'`,
  )
  await until(
    () => seen.begun,
    count => count === 2,
  )
  t.is(seen.ended.length, 1)
  t.true(isListening())
  await admin.query(`notify test_channel, 'again'`)
  await until(
    () => seen.messages,
    messages => messages.includes('again'),
  )
})

test.serial('a listener that cannot connect tries again until it is closed', async t => {
  const {seen, isListening, close} = open(t, `postgres://user@127.0.0.1:${await freePort()}/none`)
  await until(
    () => seen.ended.length,
    count => count >= 3,
  )
  t.false(isListening())
  t.is(seen.begun, 0)
  await close()
})
