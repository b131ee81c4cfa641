import {execFile} from 'node:child_process'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import test from 'ava'
import {listen} from '../../api/listen.ts'
import {switchMaintenance} from '../../api/maintenance-switch.ts'
import {openCalls} from '../support/client.ts'
import {openCutOff} from '../support/cut-off.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const refused = [503, 'MAINTENANCE']
const isOn = async ({as}: TestDeployment) => (await as(null)('GET', '/auth/me')).body.code === 'MAINTENANCE'

const switchTo = async (house: TestDeployment, to: 'on' | 'off') => {
  await switchMaintenance(house.db, to)
  await until(
    () => isOn(house),
    on => on === (to === 'on'),
  )
}

test('during maintenance the operator may delete a person; every other request is refused', async t => {
  const house = await startTestDeployment(t)
  const {person, token, org} = await house.makeOrg()
  const staff = await house.makeStaff()
  const {secret} = (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  await switchTo(house, 'on')
  const path = `/staff/people/${person}/delete`
  for (const bearer of [null, 'garbage', token, secret, staff.token, `${house.adminToken}x`]) {
    const answer = await house.as(bearer)('POST', path)
    t.deepEqual(outcomeOf(answer), refused, String(bearer))
    t.is(answer.headers.get('retry-after'), '300')
  }
  const operator = house.as(house.adminToken)
  t.deepEqual(outcomeOf(await operator('GET', path)), refused)
  t.deepEqual(outcomeOf(await operator('POST', `${path}/more`)), refused)
  t.deepEqual(outcomeOf(await operator('POST', `/staff/people/${person}/ban`, {reason: 'x'})), refused)
  t.deepEqual(outcomeOf(await operator('GET', '/staff/people')), refused)
  t.deepEqual(outcomeOf(await house.as(null)('POST', path, undefined, {authorization: `Basic ${house.adminToken}`})), refused)
  t.deepEqual((await operator('POST', path, {reason: 'Their right'})).body, {deleted: true, heirs: []})
  t.deepEqual(outcomeOf(await operator('POST', path)), [404, 'NOT_FOUND'])
  await switchTo(house, 'off')
  t.deepEqual(outcomeOf(await house.as(token)('GET', '/auth/me')), [401, 'MEMBERSHIP_GONE'])
})

test('without ADMIN_TOKEN every request is refused during maintenance', async t => {
  const house = await startTestDeployment(t, {environment: {ADMIN_TOKEN: '', MAINTENANCE: '1'}})
  for (const bearer of [house.adminToken, '', 'undefined'])
    t.deepEqual(outcomeOf(await house.as(bearer)('POST', '/staff/people/per_1/delete')), refused)
})

test('one switch closes every API process of the deployment, on any machine', async t => {
  const house = await startTestDeployment(t)
  const STORAGE_DIR = await mkdtemp(join(tmpdir(), 'lading-elsewhere-'))
  t.teardown(() => rm(STORAGE_DIR, {recursive: true}))
  const other = await listen({...house.tools, config: {...house.config, STORAGE_DIR}})
  t.teardown(other.drain)
  const ask = (url: string) => openCalls(url)(null)('GET', '/auth/me')
  for (const [to, code] of [
    ['on', 'MAINTENANCE'],
    ['off', 'AUTH_REQUIRED'],
  ] as const) {
    await switchMaintenance(house.db, to)
    const switchedAt = Date.now()
    for (const url of [house.url, other.url])
      await until(
        () => ask(url),
        ({body}) => body.code === code,
      )
    t.true(Date.now() - switchedAt < 10_000)
  }
  await switchMaintenance(house.db, 'on')
  const late = await listen(house.tools)
  t.teardown(late.drain)
  t.is((await ask(late.url)).body.code, 'MAINTENANCE', 'a process that starts knows it before its first request')
})

test('the maintenance state stays as it was while the database is unreachable', async t => {
  const {api, tools, proxy} = await openCutOff(t)
  const codeNow = async () => (await openCalls(api.url)(null)('GET', '/auth/me')).body.code
  await switchMaintenance(tools.db, 'on')
  await until(codeNow, code => code === 'MAINTENANCE')
  proxy.cut()
  await t.throwsAsync(tools.hot.query('select 1'))
  for (const end = Date.now() + 2500; Date.now() < end; ) t.is(await codeNow(), 'MAINTENANCE')
  proxy.restore()
  await until(
    async () => {
      await switchMaintenance(tools.db, 'off').catch(() => {})
      return codeNow()
    },
    code => code === 'AUTH_REQUIRED',
  )
})

test('a command switches maintenance, and says if the environment keeps it on', async t => {
  const house = await startTestDeployment(t)
  const run = (to: string, environment = {}) =>
    promisify(execFile)(process.execPath, ['api/maintenance-switch.ts', to], {
      cwd: root,
      env: {...process.env, DATABASE_URL: house.config.DATABASE_URL, MAINTENANCE: '', ...environment},
    })
  t.is((await run('on')).stdout, 'Maintenance is on\n')
  await until(
    () => isOn(house),
    on => on,
  )
  await run('on')
  t.is((await run('off')).stdout, 'Maintenance is off\n')
  await until(
    () => isOn(house),
    on => !on,
  )
  t.regex((await run('off', {MAINTENANCE: '1'})).stdout, /keeps it on/)
  await t.throwsAsync(run('maybe'), {message: /Pass `on` or `off`/})
})
