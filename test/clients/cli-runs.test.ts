import test from 'ava'
import {listHosts} from '../../shared/crm/hosts.ts'
import {openHome, shownBy} from '../support/cli-process.ts'
import {companies, openCompanies} from '../support/companies.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Org
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks']})
  const opened = await openCompanies(house)
  org = opened.org
  home = openHome({LADING_URL: house.url, LADING_TOKEN: opened.secret})
})

test('a watched run ends with the most frequent reasons for unwritten rows, each with its rows', async t => {
  const path = home.put('reasons.csv', `${accountRows(3, 'W-')}\n,W-8,x\n,W-9,y\n`)
  const watched = await home.run(['import', path, '-t', 'Companies', '--watch'])
  t.is(watched.code, 2, watched.err)
  t.regex(watched.out, /\nWhy rows were not written:\n {2}2 {2}.*\(?MANDATORY_NOT_FOUND\)?.*, first in row 4\nNext:\n/)
  const [run] = /run_\w+/.exec(watched.out)!
  const shown = await home.run(['runs', run])
  t.regex(shown.out, /\nWhy rows were not written:\n {2}2 /)
  const again = await home.run(['watch', run, '--json'])
  const end = JSON.parse(again.out.trim().split('\n').at(-1)!)
  t.like(end, {event: 'end', exit: 2, reasons: [{code: 'MANDATORY_NOT_FOUND', rows: 2, firstRow: 4}]})
})

test('rows whose values people changed in the CRM are no reason to fail', async t => {
  const flow = {...companies.flows[0]!, match: {...companies.flows[0]!.match, onEdited: 'keep', unchanged: 'skip'}}
  home.put('keep.json', JSON.stringify(flow))
  const first = home.put('first.csv', 'name,number,city\nFirm,K-1,Bern\n')
  t.is((await home.run(['import', first, '--flow', 'keep.json', '--watch'])).code, 0)
  const record = house.crm.records('example', 'Accounts').find(({Account_Number}: any) => Account_Number === 'K-1') as any
  house.crm.update('example', 'Accounts', [{id: record.id, Billing_City: 'Basel'}])
  const same = home.put('second.csv', 'name,number,city\nFirm,K-1,Bern\n')
  const {code, out} = await home.run(['import', same, '--flow', 'keep.json', '--fail-on', 'skipped'])
  t.is(code, 0, out)
  t.regex(out, /1 value that people changed in the CRM was kept/)
})

test('the failed rows as JSON are those of failed.csv, and neither they nor the failed log entries include unchanged rows', async t => {
  const flow = {...companies.flows[0]!, match: {...companies.flows[0]!.match, unchanged: 'skip'}}
  home.put('unchanged.json', JSON.stringify(flow))
  const rows = ['Firm,J-1,Bern', ',J-2,x', 'Firm,J-3,Bern,more', 'Firm,J-4,Bern']
  const importRows = (name: string, lines: string[]) =>
    home.run(['import', home.put(name, `name,number,city\n${lines.join('\n')}\n`), '--flow', 'unchanged.json', '--watch'])
  t.is((await importRows('known.csv', [rows[0]!])).code, 0)
  const {out} = await importRows('again.csv', rows)
  const [run] = /run_\w+/.exec(out)!
  const csv = (await home.run(['results', run, '--failed'])).out
  t.regex(csv, /^[^\n]+\n2,[^\n]+\n$/)
  const numbersOf = (text: string) =>
    text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).rowNumber)
  t.deepEqual(numbersOf((await home.run(['results', run, '--failed', '--json'])).out), [2])
  t.deepEqual(numbersOf((await home.run(['results', run, '--json'])).out), [1, 2, 3, 4])
  t.deepEqual(numbersOf((await home.run(['logs', run, '--failed', '--json'])).out).toSorted(), [2, 3])
})

test('written rows are read back on request, and the end of the run tells what was found', async t => {
  const path = home.put('verified.csv', accountRows(3, 'RB-'))
  const {code, out, err} = await home.run(['import', path, '-t', 'Companies', '--verify', 'all', '--watch'])
  t.is(code, 0, err)
  t.regex(out, /\n {2}3 written rows read back, all as sent\.\n/)
  const [run] = /run_\w+/.exec(out)!
  t.regex((await home.run(['runs', run])).out, /3 written rows read back, all as sent/)
})

test('an import is named by its name wherever its id can be used, and a name of several imports is refused with their ids', async t => {
  const path = home.put('named.csv', accountRows(2, 'N-'))
  const name = 'Companies of the fair'
  t.is((await home.run(['import', path, '-t', 'Companies', '--name', name, '--no-run'])).code, 0)
  t.is((await home.run(['checks', name])).code, 0)
  const ran = await home.run(['run', name, '--watch'])
  t.is(ran.code, 0, ran.err)
  t.regex((await home.run(['runs', name])).out, /^RUN\tKIND.*\nrun_\w+\trun\t.*\tImported\t2 created\n$/)
  t.is((await home.run(['results', name])).out.trim().split('\n').length, 3)
  const listed = await home.run(['imports', '--json'])
  t.like(
    JSON.parse(listed.out).imports.find((one: any) => one.name === name),
    {lastRun: {state: 'ended'}},
  )
  t.regex((await home.run(['runs'])).out, new RegExp(`^RUN\\tIMPORT\\tKIND(.*\\n)+run_\\w+\\t${name}\\trun\\t`))

  t.is((await home.run(['import', path, '-t', 'Companies', '--name', name, '--no-run', '--fresh'])).code, 0)
  const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)
  const unclear = await home.run(['retry', name])
  t.is(unclear.code, 4)
  t.regex(unclear.err, /^Error: 2 imports are named Companies of the fair\nUse the id:\n {2}imp_\w+ {2}created \d{4}-\d\d-\d\dT[\d:.]+Z\n/)
  for (const {id} of imports.filter((one: any) => one.name === name)) t.true(unclear.err.includes(id))
  const unknown = await home.run(['watch', 'Nothing of this name', '--json'])
  t.like(JSON.parse(unknown.err), {code: 'IMPORT_NOT_FOUND', exit: 7})
})

test('a terminal shows the times of jobs and of imports of one name in the date format of the org', async t => {
  const {call, org: id, connector} = org
  await ok(call('PATCH', `/orgs/${id}/config/settings`, {dateFormat: 'dd.MM.yyyy'}), 200)
  const {job} = await ok(call('POST', `/orgs/${id}/discovery/run`, {connectorId: connector}), 202)
  for (const name of ['Twice', 'Twice']) await ok(call('POST', `/orgs/${id}/imports`, {name, connectorId: connector}), 201)
  const show = async (args: string[]) => shownBy((await home.run(args, {columns: 100})).out)
  t.regex(await show(['jobs', 'show', job.id]), /started \d\d\.\d\d\.\d{4} \d\d:\d\d/)
  t.regex(await show(['runs', 'Twice']), /created \d\d\.\d\d\.\d{4} \d\d:\d\d/)
})

test('an import whose name begins like an id is found by its name, and so is an archived import', async t => {
  for (const name of ['imp_accounts.csv', 'run_accounts.csv']) {
    const path = home.put(name, accountRows(1, `${name}-`))
    t.is((await home.run(['import', path, '-t', 'Companies', '--watch'])).code, 0)
    t.regex((await home.run(['runs', name])).out, /\tImported\t1 created\n$/)
    t.is((await home.run(['watch', name])).code, 0)
  }
  const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)
  const {id} = imports.find(({name}: any) => name === 'imp_accounts.csv')
  await ok(org.call('PATCH', `/orgs/${org.org}/imports/${id}`, {archived: true}), 200)
  t.is((await home.run(['runs', 'imp_accounts.csv'])).code, 0)
  const again = home.put('imp_accounts.csv', accountRows(2, 'imp-again-'))
  t.is((await home.run(['import', again, '-t', 'Companies', '--watch'])).code, 0)
  t.regex((await home.run(['runs', 'imp_accounts.csv'])).out, /\t2 created\n$/, 'the archived import does not make the name unclear')
})

test('the results of a dry run and the plan of a run are refused as JSON too', async t => {
  const runOf = async (...more: string[]) => {
    const {out} = await home.run(['import', home.put('kinds.csv', accountRows(1, 'Kinds-')), '-t', 'Companies', '--watch', ...more])
    return /run_\w+/.exec(out)![0]
  }
  const dry = await runOf('--dry-run')
  const real = await runOf()
  for (const [args, code] of [
    [[dry], 'DRY_RUN'],
    [[dry, '--failed'], 'DRY_RUN'],
    [[real, '--plan'], 'NOT_A_DRY_RUN'],
  ] as const) {
    const {code: exit, out, err} = await home.run(['results', ...args, '--json'])
    t.deepEqual([exit, out], [7, ''], code)
    t.like(JSON.parse(err), {code})
    t.regex(JSON.parse(err).next, /lading results RUN/)
  }
  t.is(JSON.parse((await home.run(['results', dry, '--plan', '--json'])).out).rowNumber, 1)
})

test('the help of the sign-in lists every region of the CRM', async t => {
  const {out} = await home.run(['login', '--help'])
  const [, regions] = /data centre of the CRM: ([\w,\s]+?)\n\s+-/.exec(out)!
  t.deepEqual(
    regions!.split(',').map(one => one.trim()),
    listHosts({CRM_STANDIN_URL: undefined, CRM_HOSTS: []}).map(({dc}) => dc),
  )
})

test('an undo is previewed, deletes what the run created, keeps what a colleague changed, and can be undone once', async t => {
  const ran = await home.run(['import', home.put('undo.csv', accountRows(3, 'V-')), '-t', 'Companies', '--watch'])
  const [run] = /run_\w+/.exec(ran.out)!
  const left = () => (house.crm.records('example', 'Accounts') as any[]).filter(({Account_Number: number}) => /^V-/.test(number))
  const [edited] = left()
  house.crm.update('example', 'Accounts', [{id: edited.id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const previewed = await home.run(['undo', run, '--dry-run', '--watch', '--json'])
  t.is(previewed.code, 0, previewed.err)
  t.like(JSON.parse(previewed.out.trim().split('\n').at(-1)!).run, {undoOf: run, undo: {restored: 0, deleted: 2, changedSince: 1}})
  t.is(left().length, 3)
  const undone = await home.run(['undo', run, '--watch'])
  t.is(undone.code, 0, undone.err)
  t.regex(undone.out, /\n {2}Rows: 0 restored, 2 deleted, 1 kept\n/)
  t.deepEqual(
    left().map(({id}) => id),
    [edited.id],
  )
  const [imported] = /imp_\w+/.exec(ran.out)!
  for (const named of [run, imported]) t.regex((await home.run(['undo', named])).err, /UNDO_DONE/, 'a repeated undo is no redo')
  const [undo] = /run_\w+/.exec(undone.out)!
  t.true(undone.out.includes(`lading undo ${undo} --watch`), undone.out)
  const redone = await home.run(['undo', undo, '--watch'])
  t.is(redone.code, 0, redone.err)
  const [redo] = /run_\w+/.exec(redone.out)!
  for (const {out} of [redone, await home.run(['runs', redo])]) {
    t.true(out.includes(`lading logs ${redo}`), out)
    t.notRegex(out, /lading undo/, 'the API refuses the undo of an undo of an undo')
  }
})

test('the undo of a retried run is refused, and the refusal names the retry to undo first', async t => {
  const ran = await home.run(['import', home.put('again.csv', accountRows(1, 'W-')), '-t', 'Companies', '--watch'])
  const [run] = /run_\w+/.exec(ran.out)!
  const retried = await home.run(['retry', run, '--watch'])
  const [later] = /run_\w+/.exec(retried.out)!
  const refused = await home.run(['undo', run, '--json'])
  t.is(refused.code, 7)
  t.like(JSON.parse(refused.err), {code: 'RUN_RETRIED', next: `Undo the later run: lading undo ${later}`})
})

test('a run that deletes starts only with the number of deletes that its dry run shows', async t => {
  const made = await home.run(['import', home.put('delete-me.csv', accountRows(2, 'Z-')), '-t', 'Companies', '--watch'])
  t.is(made.code, 0, made.err)
  const [field] = companies.flows[0]!.fields.filter(({field}: any) => field === 'Account_Number')
  const flow = {module: 'Accounts', action: 'delete', match: {by: ['Account_Number']}, fields: [field]}
  home.put('delete.json', JSON.stringify(flow))
  const left = () => (house.crm.records('example', 'Accounts') as any[]).filter(({Account_Number: number}) => /^Z-/.test(number)).length
  const path = home.put('deletes.csv', accountRows(1, 'Z-'))
  const prepared = await home.run(['import', path, '--flow', 'delete.json', '--no-run', '--name', 'Deletes'])
  t.is(prepared.code, 0, prepared.err)
  t.regex((await home.run(['run', 'Deletes'])).err, /DELETES_UNCONFIRMED/)
  t.is((await home.run(['run', 'Deletes', '--dry-run', '--watch'])).code, 0)
  t.regex((await home.run(['run', 'Deletes', '--confirm-deletes', '2'])).err, /would delete 1 record/)
  t.is(left(), 2)
  const ran = await home.run(['run', 'Deletes', '--confirm-deletes', '1', '--watch'])
  t.is(ran.code, 0, ran.err)
  t.is(left(), 1)
})

test('the advice for an external run names commands that work for it', async t => {
  const authorise = async (more: object): Promise<string> =>
    (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, ...more}), 200)).runId
  const {path} = await prepareImport(org, {csv: accountRows(1, 'X-'), flow: accounts})
  const ended = await authorise({importId: path.split('/').at(-1)})
  const entry = {rowKey: 'a', module: 'Accounts', outcome: 'failed', code: 'TOO_LONG', message: 'Too long'}
  await ok(org.call('POST', `/entitlements/runs/${ended}/entries`, {entries: [entry]}), 200)
  await ok(org.call('POST', `/entitlements/runs/${ended}/progress`, {done: true}), 200)
  const shown = await home.run(['runs', ended])
  t.is(shown.err, '')
  t.true(shown.out.endsWith(`\nNext:\n  lading logs ${ended} --failed  # why, row by row\n`), shown.out)
  t.regex((await home.run(['logs', ended, '--failed'])).out, /TOO_LONG/)
  const active = await authorise({connectorId: org.connector})
  for (const command of ['runs', 'cancel'])
    t.true((await home.run([command, active])).out.endsWith(`\nNext: lading logs ${active} --follow\n`), command)
})

test('a list has as many items as asked for, also beyond one page of the API', async t => {
  const {call, org: id, connector} = await openOrg(house, 'zoe@other.example')
  const {secret} = await ok(call('POST', `/orgs/${id}/tokens`, {name: 'ci'}), 201)
  for (let n = 0; n < 103; n++) await ok(call('POST', `/orgs/${id}/imports`, {name: `Many ${n}`, connectorId: connector}), 201)
  const {out} = await openHome({LADING_URL: house.url, LADING_TOKEN: secret}).run(['imports', '-n', '102', '--json'])
  const names = JSON.parse(out).imports.map(({name}: any) => name)
  t.deepEqual(
    names,
    Array.from({length: 102}, (_, n) => `Many ${102 - n}`),
  )
})
