import test from 'ava'
import {openHome, shownBy} from '../support/cli-process.ts'
import {companies, openCompanies} from '../support/companies.ts'
import {accountRows, type Org, ok} from '../support/importing.ts'
import {openStallingProxy, type StallingProxy} from '../support/stalling-proxy.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let org: Org
let wire: StallingProxy
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  const companies = await openCompanies(house)
  org = companies.org
  wire = await openStallingProxy(house.url)
  endAfterTests(wire.close)
  home = openHome({LADING_URL: wire.url, LADING_TOKEN: companies.secret})
})

const endOf = (out: string) => JSON.parse(out.trim().split('\n').at(-1)!)

const megabyte = 1024 ** 2
const rows = 120
/** Builds a file of few rows with many bytes, which is uploaded in three parts. */
const largeFile = (prefix: string) => {
  const note = 'n'.repeat(80_000)
  const lines = Array.from({length: rows}, (_, n) => `Company ${n + 1},${prefix}${n + 1},Town,${note}`)
  return home.put(`${prefix}large.csv`, `name,number,city,note\n${lines.join('\n')}\n`)
}

test.serial('an upload whose process is killed is resumed by the same command, and every row exists once', async t => {
  const path = largeFile('K-')
  const args = ['import', path, '-t', 'Companies', '--watch', '--json']
  wire.stallAfter(6 * megabyte)
  const first = home.start(args)
  const begun = wire.passed()
  await until(wire.passed, passed => passed - begun >= 6 * megabyte)
  first.child.kill('SIGKILL')
  t.is((await first.ended).code, null)

  wire.cut()
  wire.letGo()
  const before = wire.passed()
  const again = await home.run([...args.filter(arg => arg !== '--json'), '--verify', 'all'])
  t.is(again.code, 0, again.err)
  t.regex(again.err, /Resuming imp_\w+/)
  t.true(wire.passed() - before < 7 * megabyte, 'what was kept is not sent again')
  t.regex(again.out, new RegExp(`Accounts: ${rows} created`))
  t.regex(again.out, /120 written rows read back/, 'the run gets the options of the command that starts it')
  t.is(house.crm.records('example', 'Accounts').filter(({Account_Number}: any) => String(Account_Number).startsWith('K-')).length, rows)
  const none = await home.run([...args, '--resume'])
  t.is(none.code, 4, none.out)
  t.regex(none.err, /There is no interrupted import of these files/)
})

test.serial('a command with another encoding starts anew, and the interrupted one can still be resumed', async t => {
  const words = ['import', largeFile('E-'), '-t', 'Companies', '--no-run', '--encoding']
  wire.stallAfter(6 * megabyte)
  const first = home.start([...words, 'windows-1252'])
  const begun = wire.passed()
  await until(wire.passed, passed => passed - begun >= 6 * megabyte)
  first.child.kill('SIGKILL')
  await first.ended
  wire.cut()
  wire.letGo()
  const other = await home.run([...words, 'windows-1250'])
  t.is(other.code, 0, other.err)
  t.notRegex(other.err, /Resuming/)
  const same = await home.run([...words, 'windows-1252'])
  t.is(same.code, 0, same.err)
  t.regex(same.err, /Resuming imp_\w+/)
})

test.serial('an upload whose connection breaks is resumed automatically', async t => {
  const path = largeFile('B-')
  wire.stallAfter(3 * megabyte)
  const started = home.start(['import', path, '-t', 'Companies', '--watch', '--json'])
  const begun = wire.passed()
  await until(wire.passed, passed => passed - begun >= 3 * megabyte)
  wire.cut()
  wire.letGo()
  const {code, out, err} = await started.ended
  t.is(code, 0, err)
  t.is(endOf(out).run.counts.Accounts.created, rows)
})

test.serial('Ctrl-C during an upload tells that the same command resumes it', async t => {
  const path = largeFile('I-')
  const args = ['import', path, '-t', 'Companies', '--dry-run', '--watch']
  wire.stallAfter(5 * megabyte)
  const first = home.start(args, {columns: 80})
  const begun = wire.passed()
  await until(wire.passed, passed => passed - begun >= 5 * megabyte)
  first.child.stdin!.write('\x03')
  const {code, out} = await first.ended
  t.is(code, 130, out)
  t.regex(shownBy(out), /Interrupted during the upload\n.*Run the same command again to resume/)
  wire.letGo()
  const again = await home.run([...args, '--resume', '--json'])
  t.is(again.code, 0, again.err)
  t.is(endOf(again.out).run.counts.Accounts.planned, rows)
})

test.serial('Ctrl-C stops watching but not the run and tells how to return, and cancel stops the run', async t => {
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
  const path = home.put('held.csv', accountRows(10, 'H-'))
  const watching = home.start(['import', path, '-t', 'Companies', '--watch'], {columns: 80})
  await until(watching.out, text => text.includes('0/10 rows'))
  watching.child.stdin!.write('\x03')
  const {code, out} = await watching.ended
  t.is(code, 130, out)
  const [, run] = /Stopped watching (run_\w+), which continues\s+Continue with: lading watch run_/.exec(shownBy(out))!
  for (const option of ['--forecast', '--no-run']) {
    const other = await home.run(['import', path, '-t', 'Companies', option])
    t.is(other.code, 4, other.out)
    t.regex(other.err, new RegExp(`Run ${run} of imp_\\w+ already imports these files`))
  }
  const changed = await home.run(['import', path, '-t', 'Companies', '--watch', '--verify', 'all', '--write', 'auto'])
  t.is(changed.code, 4, changed.out)
  t.regex(changed.err, new RegExp(`Run ${run} of imp_\\w+ already imports these files with another --verify and --write\nWatch it with`))
  const cancelled = await home.run(['cancel', run!])
  t.regex(cancelled.out, /Cancelling run_/)
  house.crm.release()
  house.crm.faults.clear()
  const back = await home.run(['watch', run!])
  t.is(back.code, 3, back.err)
  t.regex(back.out, /Cancelled after [\d:]+: .* \(CANCELLED\)\n {2}Accounts: 10 created/)
  const again = await home.run(['import', path, '-t', 'Companies', '--watch'])
  t.regex(again.err, /Resuming imp_/, 'the files are not imported a second time')
})

test.serial('SIGTERM during the upload of a correction ends with its exit code, and nothing is retried', async t => {
  const first = await home.run(['import', home.put('corrected.csv', accountRows(1, 'S-')), '-t', 'Companies', '--watch', '--json'])
  const {run} = endOf(first.out)
  const path = largeFile('S-')
  wire.stallAfter(2 * megabyte)
  const begun = wire.passed()
  const retrying = home.start(['retry', run.id, '--corrected', path, '--json'])
  await until(wire.passed, passed => passed - begun >= 2 * megabyte)
  retrying.child.kill('SIGTERM')
  const {code, err} = await retrying.ended
  wire.cut()
  wire.letGo()
  t.is(code, 143, err)
  t.like(JSON.parse(err.trim().split('\n').at(-1)!), {code: 'INTERRUPTED', exit: 143})
  const {runs} = await ok(org.call('GET', `/orgs/${org.org}/imports/${run.importId}/runs`), 200)
  t.is(runs.length, 1)
})

test.serial('a repeated import starts a run although a dry run of the import exists', async t => {
  const allowRows = (approvalAbove: number | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove}), 200)
  const args = ['import', home.put('approved.csv', accountRows(3, 'D-')), '-t', 'Companies', '--watch', '--json']
  await allowRows(1)
  const refused = await home.run(args)
  t.is(refused.code, 7, refused.err)
  const {import: id} = JSON.parse(refused.out.split('\n')[0]!)
  t.is((await home.run(['run', id, '--dry-run', '--watch'])).code, 0)
  await allowRows(null)
  const again = await home.run(args)
  t.is(again.code, 0, again.err)
  t.like(endOf(again.out).run, {importId: id, dryRun: false, counts: {Accounts: {created: 3}}})
})

test.serial('two equal commands that start at the same time import the files once, also if they resume a killed one', async t => {
  const path = largeFile('Q-')
  const args = ['import', path, '-t', 'Companies', '--watch', '--json']
  const race = async () => {
    house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
    const both = [home.start(args), home.start(args)]
    const refused = await Promise.race(both.map(({ended}) => ended))
    t.is(refused.code, 4, refused.err)
    t.regex(refused.err, /The same command is already running: process \d+ of \S+ imports these files as/)
    const other = both.find(({child}) => child.exitCode === null)!
    await until(other.out, text => text.includes('"event":"progress"'))
    return other
  }
  const killed = await race()
  killed.child.kill('SIGKILL')
  await killed.ended
  const resuming = await race()
  house.crm.release()
  house.crm.faults.clear()
  const {code, out, err} = await resuming.ended
  t.is(code, 0, err)
  t.is(endOf(out).run.counts.Accounts.created, rows)
})

test.serial('a repeated command is refused after its run was undone, and imports again with --fresh', async t => {
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
  const args = ['import', home.put('undone.csv', accountRows(3, 'N-')), '-t', 'Companies', '--watch', '--json']
  const watching = home.start(args)
  const [id] = /run_\w+/.exec(await until(watching.out, text => text.includes('"event":"progress"')))!
  watching.child.kill('SIGTERM')
  await watching.ended
  house.crm.release()
  house.crm.faults.clear()
  t.is((await home.run(['watch', id])).code, 0)
  const undo = await home.run(['undo', id, '--watch'])
  t.is(undo.code, 0, undo.err)
  const again = await home.run(args)
  t.is(again.code, 4, again.out)
  t.regex(again.err, new RegExp(`Run ${id} of imp_\\w+ imported these files, and run_\\w+ undoes it`))
  t.is((await home.run([...args, '--fresh'])).code, 0)
})

test.serial('a repeated command imports with the changed template if no run began', async t => {
  const template = (fields: object[]) => ({...companies, name: 'Changing', flows: [{...companies.flows[0], fields}]})
  const {fields} = companies.flows[0]!
  const without = fields.filter(({field}: any) => field !== 'Billing_City')
  const made = await ok(org.call('POST', `/orgs/${org.org}/templates`, template(without)), 201)
  const allowRows = (approvalAbove: number | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove}), 200)
  const args = ['import', home.put('changing.csv', accountRows(3, 'Ct-')), '-t', 'Changing', '--watch', '--json']
  await allowRows(1)
  t.is((await home.run(args)).code, 7)
  await allowRows(null)
  await ok(org.call('PUT', `/orgs/${org.org}/templates/${made.template.id}`, template(fields)), 200)
  const {code, err} = await home.run(args)
  t.is(code, 0, err)
  const found = house.crm.records('example', 'Accounts').filter((one: any) => String(one.Account_Number).startsWith('Ct-'))
  t.true(found.length === 3 && found.every((one: any) => one.Billing_City))
})

test.serial('a watch whose connection breaks reconnects and reports the end of the run', async t => {
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
  const path = home.put('cut.csv', accountRows(10, 'W-'))
  const args = ['import', path, '-t', 'Companies', '--watch', '--json']
  const killed = home.start(args)
  await until(killed.out, text => text.includes('"event":"progress"'))
  const twice = await home.run(args)
  t.is(twice.code, 4)
  t.regex(twice.err, /already running: process \d+ of \S+ imports these files as imp_/)
  killed.child.kill('SIGTERM')
  t.is((await killed.ended).code, 143)

  const watching = home.start(args)
  await until(watching.out, text => text.includes('"event":"progress"'))
  wire.cut()
  house.crm.release()
  house.crm.faults.clear()
  const {code, out, err} = await watching.ended
  t.is(code, 0, err)
  t.is(endOf(out).run.counts.Accounts.created, 10)
})

test.serial('a watch whose token is revoked exits with 5, and the run continues', async t => {
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
  const {secret, token: made} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'short'}), 201)
  const path = home.put('revoked.csv', accountRows(10, 'R-'))
  const watching = home.start(['import', path, '-t', 'Companies', '--watch', '--json'], {env: {LADING_TOKEN: secret}})
  await until(watching.out, text => text.includes('"event":"progress"'))
  await ok(org.call('DELETE', `/orgs/${org.org}/tokens/${made.id}`), 200)
  // The connection is cut here; the server would end the stream only within half a minute.
  wire.cut()
  const {code, err} = await watching.ended
  t.is(code, 5, err)
  t.like(JSON.parse(err.trim().split('\n').at(-1)!), {code: 'TOKEN_REVOKED', exit: 5})
  const [, run] = /The run continues\. Follow it again with: lading watch (run_\w+)/.exec(err)!
  house.crm.release()
  house.crm.faults.clear()
  const back = await home.run(['watch', run!])
  t.is(back.code, 0, back.err)
})
