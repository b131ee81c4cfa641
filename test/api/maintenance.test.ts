import {execFile} from 'node:child_process'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import test from 'ava'
import {switchMaintenance} from '../../api/maintenance-switch.ts'
import {until} from '../until.ts'
import {type World, world} from '../world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const refused = [503, 'MAINTENANCE']
const isOn = async ({as}: World) => (await as(null)('GET', '/auth/me')).body.code === 'MAINTENANCE'

const switchTo = async (house: World, to: 'on' | 'off') => {
  await switchMaintenance(house.config, to)
  await until(
    () => isOn(house),
    on => on === (to === 'on'),
  )
}

test('the operator may delete a person during maintenance; nobody else may, and the operator nothing else', async t => {
  const house = await world(t)
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

test('where no ADMIN_TOKEN is set nothing passes', async t => {
  const house = await world(t, {environment: {ADMIN_TOKEN: '', MAINTENANCE: '1'}})
  for (const bearer of [house.adminToken, '', 'undefined'])
    t.deepEqual(outcomeOf(await house.as(bearer)('POST', '/staff/people/per_1/delete')), refused)
})

test('the operator switches maintenance on and off by a command, and is told when the environment holds it on', async t => {
  const house = await world(t)
  const run = (to: string, environment = {}) =>
    promisify(execFile)(process.execPath, ['api/maintenance-switch.ts', to], {
      cwd: root,
      env: {...process.env, STORAGE_DIR: house.config.STORAGE_DIR, MAINTENANCE: '', ...environment},
    })
  t.is((await run('on')).stdout, 'Maintenance is switched on\n')
  await until(
    () => isOn(house),
    on => on,
  )
  await run('on')
  t.is((await run('off')).stdout, 'Maintenance is switched off\n')
  await until(
    () => isOn(house),
    on => !on,
  )
  t.regex((await run('off', {MAINTENANCE: '1'})).stdout, /keeps it on/)
  await t.throwsAsync(run('maybe'), {message: /Say `on` or `off`/})
})
