import {once} from 'node:events'
import {mkdirSync, readdirSync, readFileSync} from 'node:fs'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {join} from 'node:path'
import test from 'ava'
import {cliPath, drawnBy, hasColour, hasEscapes, openHome, shownBy} from '../support/cli-process.ts'
import {companies, openCompanies} from '../support/companies.ts'
import {accountRows, accounts, type Org, ok} from '../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let org: Org
let secret: string
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks']})
  ;({org, secret} = await openCompanies(house))
  home = openHome({LADING_URL: house.url, LADING_TOKEN: secret})
})

const eventsOf = (text: string): any[] =>
  text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

/** Control characters other than line breaks and tabs. They would disturb a program that reads lines. */
const control = /[^\P{Cc}\n\t]/u

test('a piped import command goes from upload to results, and every row exists once', async t => {
  const path = home.put('whole.csv', accountRows(40, 'P-'))
  const {code, out, err} = await home.run(['import', path, '--template', 'Companies', '--watch', '--json'])
  t.is(code, 0, err)
  t.is(err, '')
  const events = eventsOf(out)
  t.deepEqual([...new Set(events.map(({event}) => event))], ['source', 'run', 'state', 'progress', 'end'])
  t.like(events[0], {source: {name: 'whole.csv', rows: 40}})
  const {exit, run} = events.at(-1)
  t.is(exit, 0)
  t.is(run.counts.Accounts.created, 40)
  t.is(house.crm.records('example', 'Accounts').filter(({Account_Number}: any) => String(Account_Number).startsWith('P-')).length, 40)

  const rows = eventsOf((await home.run(['results', run.id, '--json'])).out)
  t.deepEqual([rows.length, rows[39].rowNumber, rows[39].entries[0].outcome], [40, 40, 'created'])
  const results = await home.run(['results', run.id])
  t.is(results.code, 0)
  t.is(results.out.trim().split('\n').length, 41)
  t.regex(results.out, /^name,number,city,/)
  const log = await home.run(['logs', run.importId, '--json'])
  t.is(eventsOf(log.out).filter(({outcome}) => outcome === 'created').length, 40)
})

test('a forecast shows credits and time before anything is written', async t => {
  const path = home.put('forecast.csv', accountRows(40, 'Pf-'))
  const {code, out, err} = await home.run(['import', path, '--template', 'Companies', '--forecast'])
  t.is(code, 0, err)
  t.regex(
    out,
    /^Time: 0:0\d, at most about 0:\d\d\nCRM credits: \d+ to \d+\nFor a closer forecast, make a dry run first: --dry-run\nNext: lading run imp_\w+ --watch\n$/,
  )
  t.false(house.crm.records('example', 'Accounts').some(({Account_Number}: any) => String(Account_Number).startsWith('Pf-')))
  const json = await home.run(['import', path, '--template', 'Companies', '--forecast', '--fresh', '--json'])
  t.true(JSON.parse(json.out).forecast.credits.max >= 4)
})

test('an import with unwritten rows exits with 2 and names the next steps, without terminal codes in a pipe', async t => {
  const TMPDIR = join(home.here, 'tmp')
  mkdirSync(TMPDIR)
  const {code, out, err} = await home.run(['import', 'companies=-', '-t', 'Companies', '--watch'], {
    input: `${accountRows(4, 'R-')},R-9,x\n`,
    env: {TMPDIR},
  })
  t.is(code, 2, err)
  t.deepEqual(readdirSync(TMPDIR), [], 'nothing of the rows is left behind')
  t.regex(out, /Accounts: 4 created, 1 refused/)
  t.regex(out, /\nNext:\n {2}lading results run_\w+ --failed/)
  t.false(control.test(out + err), out + err)
  const [run] = /run_\w+/.exec(out)!
  const failed = await home.run(['results', run, '--failed', '-o', 'failed.csv'])
  t.is(failed.out, 'Wrote failed.csv\n')
  t.regex(
    readFileSync(join(home.here, 'failed.csv'), 'utf8'),
    /^\ufefflading: row of run_\w+ src_\w+,lading: error,name,number,city\r\n5,.+\(MANDATORY_NOT_FOUND\),,R-9,x\r\n$/,
  )
  t.is((await home.run(['results', run, '-o', 'results.csv'])).out, 'Wrote results.csv\n')
  t.regex(readFileSync(join(home.here, 'results.csv'), 'utf8'), /^\ufeffname,/, 'a spreadsheet reads the saved file as UTF-8')
  t.regex((await home.run(['results', run])).out, /^name,/, 'a pipe gets no mark')
  const why = await home.run(['logs', run, '--failed'])
  t.regex(why.out, /row 5 {2}Accounts {2}refused {2}MANDATORY_NOT_FOUND/)
  const again = await home.run(['retry', run, '--fail-on', 'never', '--json'])
  t.is(again.code, 0, again.err)
  t.like(eventsOf(again.out).at(-1), {event: 'end', exit: 0, run: {counts: {Accounts: {inherited: 4, refused: 1}}}})
})

test('an import whose run is stopped exits with 3', async t => {
  const path = home.put('limit.csv', accountRows(30, 'L-'))
  const {code, out} = await home.run(['import', path, '-t', 'Companies', '--declared-rows', '5', '--watch', '--json'])
  t.is(code, 3)
  t.like(eventsOf(out).at(-1), {event: 'end', exit: 3, run: {stop: {stoppedBy: 'declaration'}}})
})

test('a terminal shows a progress bar that fits its width, then the outcome and the next step', async t => {
  const path = home.put('terminal.csv', accountRows(30, 'T-'))
  for (const columns of [80, 40]) {
    const {code, out} = await home.run(['import', path, '-t', 'Companies', '--dry-run', '--watch'], {columns})
    t.is(code, 0, out)
    const drawn = drawnBy(out)
    t.true(
      drawn.some(line => line.includes('[')),
      'a bar was drawn',
    )
    t.true(
      drawn.every(line => line.length < columns),
      drawn.join('\n'),
    )
    t.true(hasColour(out, 32), 'what is good is green')
    t.regex(shownBy(out), /Previewed after \d:\d\d\n {2}Accounts: 30 would be written\nNext:\n {2}lading results run_\w+ --plan/)
  }
  const plain = await home.run(['connections'], {columns: 40, env: {NO_COLOR: '1'}})
  t.false(hasEscapes(plain.out), 'NO_COLOR')
  t.regex(plain.out, /^NAME +Example CRM\r$/m)
})

test('an import by a flow file runs its flows, and fails if a flow does not name its file', async t => {
  const more = {...accounts, id: 'more', sourceId: 'more'}
  home.put('flows.json', JSON.stringify({flows: [{...accounts, sourceId: 'first'}, more]}))
  home.put('first.csv', accountRows(3, 'F1-'))
  home.put('second.csv', accountRows(4, 'F2-'))
  const {code, out, err} = await home.run(['import', 'first.csv', 'more=second.csv', '--flow', 'flows.json', '-w', '--json'])
  t.is(code, 0, err)
  t.is(eventsOf(out).at(-1).run.counts.Accounts.created, 7)
  const unclear = await home.run(['import', 'first.csv', 'second.csv', '--flow', 'flows.json'])
  t.is(unclear.code, 4)
  t.regex(unclear.err, /Flow more does not name one of the 2 files\nSet its "sourceId"/)
  t.false(unclear.err.includes('first.csv: '), 'it is said before anything is sent')
})

test('an import that changes during its check is checked again', async t => {
  home.put('moving.csv', accountRows(2, 'M-'))
  const sent = JSON.parse((await home.run(['import', 'moving.csv', '-t', 'Companies', '--no-run', '--json'])).out)
  const other = await house.hot.connect()
  try {
    await other.query('begin')
    await other.query('lock table checks in share mode')
    const [{pid}] = (await other.query('select pg_backend_pid() as pid')).rows
    const running = home.run(['checks', sent.import, '--json'])
    // The check has read its inputs and waits for the lock, to store what it found.
    const isHeld = async () => (await house.hot.query('select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [pid])).rowCount
    await until(isHeld, Boolean)
    const sources = 'update sources set version = version + 1 where import_no = (select import_no from imports where id = $1)'
    await other.query(sources, [sent.import])
    await other.query('commit')
    const {code, out} = await running
    t.is(code, 0, out)
    t.like(JSON.parse(out).checks, {rows: 2, stale: false})
  } finally {
    other.release()
  }
})

test('an import can be uploaded alone, checked, and run later', async t => {
  home.put('checked.csv', `${accountRows(3, 'C-')}Company,C-4,${'x'.repeat(300)}\n`)
  const sent = JSON.parse((await home.run(['import', 'checked.csv', '-t', 'Companies', '--no-run', '--json'])).out)
  t.is(sent.run, undefined)
  const {code, out} = await home.run(['checks', sent.import])
  t.is(code, 2, out)
  t.regex(out, /^error\t1\t4\tAccounts\.Billing_City\t/m)
  const some = await home.run(['run', sent.import, '--rows', '1-3', '--watch'])
  t.is(some.code, 0, some.err)
  t.regex(some.out, /Accounts: 3 created/)
})

test('a file that did not fit is imported anew once the template was corrected', async t => {
  const slots = (columns: string[]) => ({...companies, name: 'Mended', sources: [{slot: 'companies', label: 'Companies', columns}]})
  const wrong = {
    ...slots(['title']),
    flows: [{...companies.flows[0], fields: [{field: 'Account_Name', mode: 'column', source: 'title'}], match: undefined}],
  }
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, wrong), 201)
  const args = ['import', home.put('mended.csv', accountRows(2, 'M-')), '-t', 'Mended', '--watch']
  t.is((await home.run(args)).code, 7)
  await ok(org.call('PUT', `/orgs/${org.org}/templates/${template.id}`, slots(['name', 'number', 'city'])), 200)
  const {code, err} = await home.run(args, {env: {XDG_STATE_HOME: '/dev/null/nowhere'}})
  t.is(code, 0, err)
  t.regex(
    err,
    /^Warning: Could not write to \/dev\/null\/nowhere\S+ [^\n]*\nmended\.csv: /,
    'and a home that cannot be written to is no hindrance',
  )
  t.is((await home.run(args)).code, 0)
})

test('a results command whose reader closes the pipe ends quietly', async t => {
  const path = home.put('piped.csv', accountRows(3_000, 'Q-'))
  const {code, out} = await home.run(['import', path, '-t', 'Companies', '--dry-run', '--watch', '--json'])
  t.is(code, 0)
  const {run} = eventsOf(out).at(-1)
  const {out: piped, err} = await home.run(
    ['-c', `"${process.execPath}" "$0" logs ${run.id} | head -n 1; echo "$\{PIPESTATUS[0]}"`, cliPath],
    {command: ['bash']},
  )
  t.is(err, '')
  t.regex(piped, /planned.*\n141\n$/)
})

test('each error gives its cause, the next step and a separate exit code', async t => {
  const cases: [args: string[], env: Record<string, string>, code: number, says: RegExp][] = [
    [['import', 'nowhere.csv', '-t', 'Companies'], {}, 4, /^Error: File not found: nowhere\.csv\nCheck the path/],
    [['import', home.put('two.csv', 'a,b\n1,2\n'), '-t', 'Companies'], {}, 7, /\nError: .*\(INVALID\)\n .*The file has no column "name"\n/],
    [['whoami'], {LADING_TOKEN: 'lading_nonsense'}, 5, /Sign in again with: lading login/],
    [['whoami'], {LADING_TOKEN: 'lading_a\nlading_b'}, 4, /^Error: The token contains a space, a line break (?!.*lading_a)/],
    [['whoami'], {LADING_URL: 'http://127.0.0.1:1'}, 6, /^Error: Could not reach .*\nCheck the /],
    [['results', 'run_01k9m0v6f8e2r4t7w3y5z1a2b3'], {}, 7, /\(RUN_NOT_FOUND\)\nList runs with: lading runs/],
  ]
  for (const [args, env, code, says] of cases) {
    const ended = await home.run(args, {env})
    t.is(ended.code, code, `${args}: ${ended.err}`)
    t.regex(ended.err, says)
    t.is(ended.out, '')
  }
  const page = createServer((_, response) => void response.writeHead(200, {'content-type': 'text/html'}).end('<h1>It works</h1>'))
  await once(page.listen(0, '127.0.0.1'), 'listening')
  endAfterTests(async () => void page.close())
  const strange = await home.run(['connections'], {env: {LADING_URL: `http://127.0.0.1:${(page.address() as AddressInfo).port}`}})
  t.is(strange.code, 6)
  t.regex(strange.err, /^Error: The server is not a Lading server/)
  const asJson = await home.run(['runs', '--json'], {env: {LADING_TOKEN: ''}})
  t.is(asJson.code, 5)
  t.like(JSON.parse(asJson.err), {code: 'NOT_SIGNED_IN', exit: 5})
})

test('a file with an ambiguous encoding is imported only with --encoding, and is not uploaded twice', async t => {
  const path = home.put('latin.csv', Buffer.from('name,number,city\nJörg,Enc-1,Köln\n', 'latin1'))
  const words = ['import', path, '--template', 'Companies', '--watch']
  const asked = await home.run(words)
  t.is(asked.code, 7, asked.out)
  t.regex(asked.err, /encoding/)
  t.regex(asked.err, /--encoding windows-1252\s+Jörg/)
  const {code, err} = await home.run([...words, '--encoding', 'windows-1252'])
  t.is(code, 0, err)
  t.regex(err, /Resuming imp_/)
  t.deepEqual(namesOf('Enc-'), ['Jörg'])
})

test('a repeated import uploads a file again that a person removed from the import', async t => {
  const path = home.put('removed.csv', Buffer.from('name,number,city\nJörg,Gone-1,Köln\n', 'latin1'))
  const words = ['import', path, '--template', 'Companies', '--watch']
  t.is((await home.run(words)).code, 7)
  const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)
  const at = `/orgs/${org.org}/imports/${imports.find(({name}: any) => name === 'removed.csv').id}`
  const {sources} = (await ok(org.call('GET', at), 200)).import
  await ok(org.call('DELETE', `${at}/sources/${sources[0].id}`), 200)
  const {code, err} = await home.run([...words, '--encoding', 'windows-1252'])
  t.is(code, 0, err)
  t.regex(err, /Resuming imp_/)
  t.deepEqual(namesOf('Gone-'), ['Jörg'])
})

test('a file with undecodable bytes is imported only with --accept-bad-bytes', async t => {
  const bytes = Buffer.concat([
    Buffer.from('name,number,city\nMüller 東京,Byte-1,Köln\nA'),
    Buffer.from([0xe9]),
    Buffer.from('B,Byte-2,Rom\n'),
  ])
  const words = ['import', home.put('damaged.csv', bytes), '--template', 'Companies', '--watch']
  const asked = await home.run(words)
  t.is(asked.code, 7, asked.out)
  t.regex(asked.err, /row 2/)
  t.regex(asked.err, /--accept-bad-bytes/)
  t.deepEqual(namesOf('Byte-'), [])
  const {code, err} = await home.run([...words, '--accept-bad-bytes'])
  t.is(code, 0, err)
  t.deepEqual(namesOf('Byte-').toSorted(), ['A\ufffdB', 'Müller 東京'])
})

const namesOf = (prefix: string) =>
  house.crm
    .records('example', 'Accounts')
    .filter(record => String(record.Account_Number).startsWith(prefix))
    .map(record => record.Account_Name as string)
