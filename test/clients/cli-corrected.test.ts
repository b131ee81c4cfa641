import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {openCompanies} from '../support/companies.ts'
import {accountRows, accounts, type Org, ok} from '../support/importing.ts'
import {type FileHost, makeSchedule, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let host: FileHost
let org: Org
let home: ReturnType<typeof openHome>

test.before(async t => {
  host = await startFileHost()
  const environment = {PRIVATE_HOSTS: host.place, SOURCE_HOSTS: '127.0.0.1,*.example'}
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'schedules'], environment})
  const opened = await openCompanies(house)
  org = opened.org
  home = openHome({LADING_URL: house.url, LADING_TOKEN: opened.secret})
})
test.after.always(() => host.stop())

const made = (prefix: string) =>
  house.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith(prefix))

test.serial('failed.csv is corrected, sent back and retried, and no row is written twice', async t => {
  const path = home.put('companies.csv', `${accountRows(3, 'Co-')},Co-8,x\n,Co-9,y\n`)
  const first = await home.run(['import', path, '-t', 'Companies', '--watch'])
  t.is(first.code, 2, first.err)
  const [run] = /run_\w+/.exec(first.out)!
  t.is(made('Co-').length, 3)
  t.is((await home.run(['results', run, '--failed', '-o', 'failed.csv'])).code, 0)
  const file = join(home.here, 'failed.csv')
  const lines = readFileSync(file, 'utf8').trimEnd().split(/\r?\n/)
  const corrected = lines.map((line, at) => (at === 0 ? line : line.replace(/,,(Co-\d)/, ',Firm $1,$1')))
  writeFileSync(file, `${corrected.join('\n')}\n`)
  const retried = await home.run(['retry', run, '--corrected', 'failed.csv', '--watch'])
  t.is(retried.code, 0, retried.err + retried.out)
  t.regex(retried.out, /2 rows corrected, 2 cells changed/)
  t.deepEqual(
    made('Co-')
      .map(({Account_Number}) => Account_Number)
      .toSorted(),
    ['Co-1', 'Co-2', 'Co-3', 'Co-8', 'Co-9'],
  )
})

test.serial('`retry --corrected --json` without `--watch` prints one JSON document', async t => {
  const first = await home.run([
    'import',
    home.put('gap.csv', accountRows(1, 'Gap-').replace(/^[^,\n]*(?=,Gap-)/m, '')),
    '-t',
    'Companies',
    '--watch',
  ])
  const [run] = /run_\w+/.exec(first.out)!
  t.is((await home.run(['results', run, '--failed', '-o', 'gap-failed.csv'])).code, 0)
  const file = join(home.here, 'gap-failed.csv')
  writeFileSync(file, readFileSync(file, 'utf8').replace(',Gap-1', 'Firm,Gap-1'))
  const retried = await home.run(['retry', run, '--corrected', 'gap-failed.csv', '--json'])
  t.is(retried.code, 0, retried.err)
  t.is((await home.run(['watch', JSON.parse(retried.out).run.id])).code, 0)
})

test.serial('failed.csv corrects the file of the run that its header names, and a whole file needs `--source`', async t => {
  const slots = ['east', 'west']
  const template = {
    name: 'Both',
    sources: slots.map(slot => ({slot, label: slot, columns: ['name', 'number', 'city']})),
    flows: slots.map(slot => ({...accounts, id: slot, sourceId: slot})),
  }
  await ok(org.call('POST', `/orgs/${org.org}/templates`, template), 201)
  const put = (slot: string, ...names: string[]) => {
    const rows = names.map((name, at) => `${name},Two-${slot}-${at},x\n`)
    return home.put(`${slot}.csv`, `name,number,city\n${rows.join('')}`)
  }
  const files = slots.map(slot => `${slot}=${put(slot, 'Firm', '', '')}`)
  const first = await home.run(['import', ...files, '-t', 'Both', '--watch'])
  t.is(first.code, 2, first.err)
  const [run] = /run_\w+/.exec(first.out)!
  const unnamed = JSON.parse((await home.run(['results', run, '--failed', '-o', 'west-failed.csv', '--json'])).err)
  const [, west] = unnamed.sources
  t.is((await home.run(['results', run, '--failed', '--source', west.id, '-o', 'west-failed.csv'])).code, 0)
  const failed = join(home.here, 'west-failed.csv')
  writeFileSync(failed, readFileSync(failed, 'utf8').replace(',Two-west-1', 'Corrected,Two-west-1'))
  const retried = await home.run(['retry', run, '--corrected', 'west-failed.csv', '--watch'])
  t.regex(retried.out, /1 row corrected, 1 cell changed/, retried.err)
  const whole = put('west', 'Firm', 'Corrected', 'Whole')
  const refused = await home.run(['retry', run, '--corrected', whole, '--json'])
  t.deepEqual([refused.code, JSON.parse(refused.err).code], [7, 'SOURCE_REQUIRED'], refused.out)
  t.is((await home.run(['retry', run, '--source', west.id])).code, 4)
  const [last] = /run_\w+/.exec(retried.out)!
  const second = await home.run(['retry', last, '--corrected', whole, '--source', west.id, '--watch'])
  t.regex(second.out, /1 row corrected, 1 cell changed/, second.err)
  t.deepEqual(
    made('Two-')
      .map(({Account_Name, Account_Number}) => `${Account_Number} ${Account_Name}`)
      .toSorted(),
    ['Two-east-0 Firm', 'Two-west-0 Firm', 'Two-west-1 Corrected', 'Two-west-2 Whole'],
  )
})

test.serial('a file that is no correction of the run is refused, and nothing is retried', async t => {
  const path = home.put('more.csv', `${accountRows(2, 'Mo-')},Mo-8,x\n`)
  const first = await home.run(['import', path, '-t', 'Companies', '--watch'])
  const [run] = /run_\w+/.exec(first.out)!
  home.put('other.csv', 'fruit\napple\n')
  const refused = await home.run(['retry', run, '--corrected', 'other.csv', '--json'])
  t.is(refused.code, 7, refused.out)
  t.is(JSON.parse(refused.err).code, 'CORRECTION_UNFIT')
  t.is((await home.run(['retry', run, '--corrected', 'nowhere.csv'])).code, 4)
  const {runs} = await ok(org.call('GET', `/orgs/${org.org}/runs?limit=1`), 200)
  t.is(runs[0].id, run)
})

test.serial('a test fetch shows the file of a schedule, and tells by its exit code whether it can be imported', async t => {
  const {schedule} = await makeSchedule(org, host, {enabled: false})
  const fetchTest = () => home.run(['schedules', 'test', schedule.name])
  host.serve(accountRows(12, 'seen-'))
  const fits = await fetchTest()
  t.is(fits.code, 0, fits.err)
  t.regex(fits.out, /^orders\.csv: 12 rows, 3 columns, .*\nThe columns are those of the template\nNext: lading schedules fire /)
  host.serve('name,number,fax\nA,1,2\n')
  const differs = await fetchTest()
  t.is(differs.code, 8, differs.out)
  t.regex(differs.err, /does not fit the template: .*city/)
  host.fail(404)
  t.is((await fetchTest()).code, 7)
})
