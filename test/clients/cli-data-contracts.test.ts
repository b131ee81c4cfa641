import {existsSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {ok, openOrg} from '../support/importing.ts'
import {type FileHost, fire, listFirings, makeSchedule, startFileHost, untilOver} from '../support/schedules.ts'
import {makeTemplate, openTemplates} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let host: FileHost

test.before(async t => {
  host = await startFileHost()
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place}})
})
test.after.always(() => host.stop())

test.serial(
  'a contract is set from a file, holds a file, and the held file is shown, discarded and accepted by the name of its schedule',
  async t => {
    const org = await openOrg(house)
    const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.session})
    const {path} = await makeSchedule(org, host)
    const contract = {sources: [{slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}]}
    writeFileSync(join(home.here, 'contract.json'), JSON.stringify(contract))
    const set = await home.run(['templates', 'contract', 'Companies of the night', '--set', 'contract.json'])
    t.is(set.code, 0, set.err)
    t.like(JSON.parse((await home.run(['templates', 'contract', 'Companies of the night'])).out), contract)
    t.is((await home.run(['schedules', 'held', 'Nightly'])).code, 7)

    host.serve('name,number,city\nA,cli-1,Oslo\n')
    await fire(org, path)
    const held = await home.run(['schedules', 'held', 'Nightly'])
    t.regex(held.out, /1 expectation broken\n {2}Companies, column "city": 1 cell with a value that is not allowed, first in row 1\n/)
    t.is((await home.run(['schedules', 'discard', 'Nightly'])).code, 0)
    t.is((await home.run(['schedules', 'held', 'Nightly'])).code, 7)

    host.serve('name,number,city\nA,cli-2,Oslo\n')
    const second = await fire(org, path)
    host.serve('name,number,city\nA,cli-3,Oslo\n')
    const third = await fire(org, path)
    await ok(org.call('DELETE', `/orgs/${org.org}/imports/${third.importId}`), 200)
    t.like((await listFirings(org, path))[0], {id: third.id, importId: null})
    const accepted = await home.run(['schedules', 'accept', 'Nightly', '--adapt'])
    t.regex(accepted.out, /^Accepted the file of Nightly: run_\w+\n {2}not adapted, state the value yourself: Companies/)
    t.like(await untilOver(org, path, second.id), {outcome: 'done', counts: {rowsWritten: 1}})
    await ok(org.call('POST', `${path}/firings/${third.id}/discard`), 200)
    t.like(await fire(org, path), {outcome: 'unchanged', reason: {code: 'DISCARDED'}})
    t.is((await home.run(['templates', 'contract', 'Companies of the night', '--learn', '-o', 'learnt.json'])).code, 0)
    const learnt = JSON.parse(readFileSync(join(home.here, 'learnt.json'), 'utf8'))
    t.like(learnt, {sources: [{slot: 'companies', columns: [{name: 'name'}, {name: 'number'}, {name: 'city'}]}]})
  },
)

test.serial('firing a schedule with --wait follows the further tries of a fetch to their end, also beside many newer firings', async t => {
  const org = await openOrg(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.session})
  const {path} = await makeSchedule(org, host, {name: 'Retried'})
  host.fail(404)
  const fired = home.run(['schedules', 'fire', 'Retried', '--wait'])
  const [{id}] = await until(
    () => listFirings(org, path),
    firings => firings.length === 1,
  )
  await house.hot.query(
    `insert into firings (id, schedule_id, org_id, due_at, by, state, outcome, ended_at)
      select id || n, schedule_id, org_id, due_at + make_interval(secs => n), 'clock', 'ended', 'skipped', lading_now()
      from firings, generate_series(1, 25) n where id = $1`,
    [id],
  )
  for (const tries of [1, 2]) {
    await untilOver(org, path, id, one => one.state === 'due' && one.tries === tries)
    await house.hot.query(`update firings set lease_until = lading_now() - interval '3 seconds' where id = $1`, [id])
  }
  const {code, out, err} = await fired
  t.is(code, 7, out)
  t.regex(err, /Retried did not start a run: failed \(NOT_FOUND\)/)
})

/** Opens an org with a shared template, and a folder for its configuration. `file`: the template's file after a pull into `crm`. */
const openShared = async () => {
  const org = await openTemplates(house)
  const template = await makeTemplate(org.call, org.org, {name: 'Leads'})
  await ok(org.call('POST', org.path(template.id, '/share'), {}), 200)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  const file = join(home.here, 'crm/templates/leads.json')
  return {org, template, home, file}
}

test.serial('a contract is a part of its template in the configuration as files', async t => {
  const {org, template, home, file} = await openShared()
  t.is((await home.run(['config', 'pull', 'crm'])).code, 0)
  t.true(existsSync(file))
  const pulled = JSON.parse(readFileSync(file, 'utf8'))
  t.false('contract' in pulled)
  const contract = {sources: [{slot: 'leads', columns: [{name: 'mail', type: 'email', unique: true}]}]}
  writeFileSync(file, JSON.stringify({...pulled, contract}))
  const pushed = await home.run(['config', 'push', 'crm'])
  t.is(pushed.code, 0, pushed.err)
  const stored = async () => (await ok(org.call('GET', org.path(template.id, '/contract')), 200)).contract
  t.like(await stored(), {version: 1, ...contract})
  t.is((await home.run(['config', 'pull', 'crm', '--force'])).code, 0)
  t.like(JSON.parse(readFileSync(file, 'utf8')).contract, contract)
  t.is((await home.run(['config', 'diff', 'crm'])).code, 0)
  t.is((await org.call('POST', org.at('bundle'), {templates: [pulled]})).status, 200)
  t.like(await stored(), {version: 1}, 'a template without a contract keeps the stored one')
  writeFileSync(file, JSON.stringify(pulled))
  const removed = await home.run(['config', 'push', 'crm'])
  t.is(removed.code, 0, removed.err)
  t.like(await stored(), {version: 2, sources: []}, 'a file without a contract removes it')
  t.is((await home.run(['config', 'diff', 'crm'])).code, 0)
})

test.serial('verify is a part of its template in the configuration as files, and a file without it means off', async t => {
  const {org, template, home, file} = await openShared()
  const run = async (...args: string[]) => {
    const {code, err} = await home.run(args)
    t.is(code, 0, err)
  }
  const stored = async () => (await ok(org.call('GET', org.path(template.id)), 200)).template
  await run('config', 'pull', 'crm')
  const pulled = JSON.parse(readFileSync(file, 'utf8'))
  t.false('verify' in pulled, 'files of before stay equal')

  writeFileSync(file, JSON.stringify({...pulled, verify: 'all'}))
  await run('config', 'push', 'crm')
  t.like(await stored(), {verify: 'all', version: template.version})
  await run('config', 'diff', 'crm')
  await run('config', 'pull', 'crm', '--force')
  t.is(JSON.parse(readFileSync(file, 'utf8')).verify, 'all')
  t.is((await org.call('POST', org.at('bundle'), {templates: [pulled]})).status, 200)
  t.is((await stored()).verify, 'all', 'a client that does not know the setting leaves it unchanged')

  writeFileSync(file, JSON.stringify(pulled))
  t.regex((await home.run(['config', 'diff', 'crm'])).out, /"verify": "all"/)
  await run('config', 'push', 'crm')
  t.is((await stored()).verify, 'off')

  await run('templates', 'export', 'Leads', '-o', 'leads.json')
  const exported = JSON.parse(readFileSync(join(home.here, 'leads.json'), 'utf8'))
  t.is(exported.verify, 'off')
  writeFileSync(join(home.here, 'leads.json'), JSON.stringify({...exported, verify: 'sample'}))
  await run('templates', 'import', 'leads.json')
  t.is((await stored()).verify, 'sample')
})
