import test from 'ava'
import {z} from 'zod'
import {replaceCheck} from '../../sql/checks.ts'
import {sql, type Tx} from '../../sql/database.ts'
import {assertLike, checkFile, checkImport, column, kindsOf, ofKind, orders, readChecks} from '../support/import-checks.ts'
import {accountRows, accounts, ok, openOrg, prepareImport} from '../support/importing.ts'
import {meanwhile} from '../support/meanwhile.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['checks', 'discovery']})
  org = await openOrg(here)
})

test.serial('a check of a file that fits reports no problem and makes no CRM call', async t => {
  const calls = here.crm.journal().length
  const {job, checks, problems, path} = await checkFile(org, accountRows(1_200), accounts)
  t.deepEqual(problems, [])
  t.like(job, {name: 'import.check', state: 'done', result: {rows: 1_200, errors: 0, warnings: 0}})
  t.deepEqual(job.progress, {done: 1_200, total: 1_200, unit: 'rows'})
  t.like(checks, {state: 'done', rows: 1_200, stale: false})
  t.true(checks.startedAt <= checks.endedAt)
  t.is(here.crm.journal().length, calls)
  t.is((await ok(org.call('GET', path), 200)).import.state, 'ready')
})

test.serial('a check that ends late does not replace a check that started after it', async t => {
  const {path, checks} = await checkFile(org, accountRows(3), accounts)
  const importNo = await here.db.oneFirst(
    sql.type(z.object({no: z.number()}))`select import_no as no from imports where id = ${path.split('/').at(-1)!}`,
  )
  const late = {importNo, rows: 9, ground: 'x', discovery: 'dsc_x', problems: []}
  const replace = (startedAt: string) => here.db.transaction(tx => replaceCheck(tx, {...late, startedAt}))
  await replace('2020-01-01T00:00:00Z')
  t.deepEqual(await readChecks(org.call, path), {checks, problems: []})
  await replace('2100-01-01T00:00:00Z')
  t.is((await readChecks(org.call, path)).checks.rows, 9)
})

test.serial('an import has no check result before its first check, and a check without Prefer answers with its job', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(1), flow: accounts})
  t.deepEqual(await ok(org.call('GET', `${path}/checks`), 200), {
    checks: {state: 'none', startedAt: null, endedAt: null, rows: null, stale: false},
    problems: [],
    nextCursor: null,
  })
  const {job} = await ok(org.call('POST', `${path}/checks`), 202)
  t.is(job.name, 'import.check')
})

test.serial('a check reports each field that cannot be filled, by code, with its rows and the cells as in the file', async t => {
  const csv =
    'name,short,status,qty,mail,day\n' +
    'Good,ok,New,1,a@b.example,2026-01-02\n' +
    `One,${'x'.repeat(11)},Odd,many,nobody,soon\n` +
    ` Two ,${'y'.repeat(12)}, odd ,1,a@b.example,2026-01-02\n`
  const {path, source} = await prepareImport(org, {
    csv,
    flow: orders(
      column('Short', 'short'),
      column('Status', 'status'),
      column('Quantity', 'qty'),
      column('Contact_Email', 'mail'),
      column('Order_Date', 'day'),
    ),
  })
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: [{step: 'trim'}]}), 200)
  const {problems, checks} = await checkImport(org, path)
  t.deepEqual(kindsOf(problems), [
    'error invalid_value',
    'error invalid_value',
    'error invalid_value',
    'error too_long',
    'error not_in_picklist',
  ])
  t.deepEqual(
    problems.map(({field}) => field),
    ['Contact_Email', 'Order_Date', 'Quantity', 'Short', 'Status'],
  )
  const [tooLong] = ofKind(problems, 'too_long')
  t.like(tooLong, {source: source.id, flow: 'f', module: 'Orders', column: 'short', count: 2, rows: [2, 3], place: null})
  t.deepEqual(tooLong.samples, ['x'.repeat(11), 'y'.repeat(12)])
  t.is(tooLong.message, 'Short takes at most 10 characters; this cell has 11')
  t.deepEqual(ofKind(problems, 'not_in_picklist')[0].samples, ['Odd', ' odd '])
  t.true(problems.every(({fix}) => fix.length > 10))
  t.is(checks.rows, 3)
})

test.serial('a problem lists its first twenty rows and five cells, and counts all of them', async t => {
  const rows = Array.from({length: 1_300}, (_, n) => `Order ${n},${n % 2 ? n : `no ${n}`}`)
  const {problems} = await checkFile(org, `name,qty\n${rows.join('\n')}\n`, orders(column('Quantity', 'qty')))
  t.is(problems.length, 1)
  t.like(problems[0], {kind: 'invalid_value', count: 650, samples: ['no 0', 'no 2', 'no 4', 'no 6', 'no 8']})
  t.deepEqual(
    problems[0].rows,
    Array.from({length: 20}, (_, n) => 2 * n + 1),
  )
})

test.serial('ragged and empty rows are errors; excluded, filtered and guarded rows are reported as information', async t => {
  const csv = 'name,qty\nA,1\nB\n,\nC,3\nD,4\nE,5\n'
  const {path, source} = await prepareImport(org, {
    csv,
    flow: {...orders(column('Quantity', 'qty')), filter: 'row.name !== "D"', guard: 'row.name !== "E"'},
  })
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: [{step: 'strikeRows', rows: [{from: 4, to: 4}]}]}), 200)
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    problems.map(({severity, kind, rows, count}) => [severity, kind, rows, count]),
    [
      ['error', 'empty', [3], 1],
      ['error', 'ragged', [2], 1],
      ['info', 'struck', [4], 1],
      ['info', 'filtered', [5], 1],
      ['info', 'guarded', [6], 1],
    ],
  )
})

test.serial('an empty required field is an error where a record is created, and a warning where a record may match', async t => {
  const csv = 'name,code\n,c-1\nB,c-2\n\\N,c-3\n'
  const made = await checkFile(org, csv, orders(column('Code', 'code')))
  assertLike(t, made.problems, [{severity: 'error', kind: 'required', field: 'Name', column: 'name', count: 2, rows: [1, 3]}])
  const met = await checkFile(org, csv, {...orders(column('Code', 'code')), match: {by: ['Code']}})
  assertLike(t, met.problems, [
    {severity: 'error', kind: 'required', rows: [3]},
    {severity: 'warning', kind: 'required', rows: [1]},
  ])
})

test.serial('a value repeated in a unique field is an error, and rows that match the same record are a warning', async t => {
  const csv = 'name,code,ref\nA,c-1,r-1\nB,c-2,r-2\nC,C-1 ,r-3\nD,c-3,r-1\nE,,\nF,,\n'
  const plain = await checkFile(org, csv, orders(column('Code', 'code'), column('Reference', 'ref')))
  assertLike(t, plain.problems, [
    {severity: 'error', kind: 'duplicate_value', field: 'Code', column: 'code', count: 1, rows: [3], samples: ['C-1 ']},
    {severity: 'error', kind: 'duplicate_value', field: 'Reference', rows: [4], samples: ['r-1']},
  ])
  t.regex(plain.problems[0].message, /row 1\b/)
  const matched = await checkFile(org, csv, {...orders(column('Code', 'code'), column('Reference', 'ref')), match: {by: ['Code']}})
  assertLike(t, matched.problems, [
    {severity: 'error', kind: 'duplicate_value', field: 'Reference', rows: [4]},
    {severity: 'warning', kind: 'duplicate_match', field: 'Code', rows: [3]},
  ])
  const twice = orders(column('Code', 'code'))
  const {problems} = await checkFile(org, 'name,code\nA,c-1\n', [twice, twice])
  assertLike(t, problems, [{severity: 'warning', kind: 'duplicate_value', flow: 'f2', rows: [1]}])
})

test.serial('failing expressions are reported by code, with line and column in their own source', async t => {
  const csv = 'name,qty\nA,1\nB,x\nC,y\n'
  const transform = 'value === "x" ? row.name.nothing.at :\n value === "y" ? value.nothing() : 1'
  const {problems} = await checkFile(org, csv, orders(column('Quantity', 'qty', {transform})))
  t.deepEqual(kindsOf(problems), ['error expression_thrown', 'error expression_thrown'])
  t.deepEqual(
    problems.map(({rows, place, samples}) => [rows[0], place.line, samples[0]]),
    [
      [2, 1, 'x'],
      [3, 2, 'y'],
    ],
  )
  const guarded = await checkFile(org, csv, {...orders(), guard: 'row.qty.nothing.at'})
  assertLike(t, guarded.problems, [{kind: 'expression_thrown', field: null, count: 3, rows: [1, 2, 3], place: {line: 1}}])
})

test.serial('a column that can be read in several ways is reported, as a warning only where a field depends on it', async t => {
  const csv = 'name,day,zip\nA,01.02.2026,0123\nB,03.04.2026,0456\n'
  const {problems, path, source} = await checkFile(org, csv, orders(column('Order_Date', 'day'), column('Short', 'zip')))
  t.deepEqual(
    problems.map(({severity, kind, column, field, count}) => [severity, kind, column, field, count]),
    [
      ['error', 'invalid_value', 'day', 'Order_Date', 2],
      ['warning', 'ambiguous', 'day', null, 1],
      ['info', 'ambiguous', 'zip', null, 1],
    ],
  )
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {choices: {day: {dateOrder: 'dmy'}, zip: {as: 'text'}}}), 200)
  t.true((await readChecks(org.call, path)).checks.stale)
  t.deepEqual((await checkImport(org, path)).problems, [])
  const short = await checkFile(org, 'name,day\nA,01.02.26\n', orders(column('Order_Date', 'day')))
  t.deepEqual(kindsOf(short.problems), ['error invalid_value', 'warning ambiguous'])
  const stated = await checkFile(org, 'name,day\nA,01.02.26\n', orders(column('Order_Date', 'day', {format: 'dd.MM.yy'})))
  t.deepEqual(kindsOf(stated.problems), ['info ambiguous'])
})

test.serial('a check requested twice at once runs once', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(5_000), flow: accounts})
  const [one, other] = await Promise.all([org.call('POST', `${path}/checks`), org.call('POST', `${path}/checks`)])
  t.is(one.status, 202)
  t.is(one.body.job.id, other.body.job.id)
  t.is((await checkImport(org, path)).checks.rows, 5_000)
})

test.serial('a file with more rows than the plan lets one run write gives a warning', async t => {
  await here.db.query(sql.unsafe`
    insert into plan_versions (id, key, version, limits)
    select 'small.1', 'small', 1, limits || '{"rowsPerRun": 2}' from plan_versions where id = 'free.1'`)
  await here.db.query(sql.unsafe`update orgs set plan_version_id = 'small.1' where id = ${org.org}`)
  const {problems} = await checkFile(org, accountRows(5), accounts)
  await here.db.query(sql.unsafe`update orgs set plan_version_id = 'free.1' where id = ${org.org}`)
  assertLike(t, problems, [{severity: 'warning', kind: 'limit', count: 3, source: null, flow: null}])
})

test.serial('check problems are paged in a stable order, and a cursor expires with its check', async t => {
  const {path} = await prepareImport(org, {
    csv: 'name,qty,mail\nA,x,y\n,x,y\n',
    flow: [1, 2, 3].map(() => orders(column('Quantity', 'qty'), column('Contact_Email', 'mail'))),
  })
  const {problems} = await checkImport(org, path, 2)
  t.is(problems.length, 9)
  t.deepEqual(problems, (await readChecks(org.call, path, 500)).problems)
  const {nextCursor} = await ok(org.call('GET', `${path}/checks?limit=2`), 200)
  await checkImport(org, path)
  t.is((await ok(org.call('GET', `${path}/checks?cursor=${nextCursor}`), 400)).code, 'INVALID_CURSOR')
})

test.serial('a check that another check replaces while it is read is read with its problems', async t => {
  const {path, problems} = await checkFile(org, 'name,qty\nA,x\n', orders(column('Quantity', 'qty')))
  t.is(problems.length, 1)
  const replace = async (tx: Tx) => {
    await tx.query(sql.unsafe`lock table check_problems in access exclusive mode`)
    await tx.query(sql.unsafe`delete from checks where import_no = (select import_no from imports where id = ${path.split('/').at(-1)!})`)
  }
  const read = await meanwhile(here, replace, () => readChecks(org.call, path))
  t.deepEqual(read.problems, problems)
})

test.serial('a check reports a missing file as a problem, and is refused when its import was deleted', async t => {
  const gone = await prepareImport(org, {csv: accountRows(3), flow: accounts})
  const key = await here.db.oneFirst(sql.unsafe`select file_key from sources where id = ${gone.source.id}`)
  await here.storage.remove(key as string)
  assertLike(t, (await checkImport(org, gone.path)).problems, [{severity: 'error', kind: 'file_gone', source: gone.source.id, flow: 'f'}])

  const {path} = await prepareImport(org, {csv: accountRows(60_000), flow: accounts})
  const {job} = await ok(org.call('POST', `${path}/checks`), 202)
  await here.db.query(sql.unsafe`delete from imports where id = ${path.split('/').at(-1)!}`)
  const ended = await ok(org.call('GET', `/orgs/${org.org}/jobs/${job.id}`), 200)
  t.truthy(ended.job ?? ended)
  const state = await waitFor(`/orgs/${org.org}/jobs/${job.id}`)
  t.like(state, {state: 'refused', error: {code: 'IMPORT_NOT_FOUND'}})
})

const waitFor = async (path: string) => {
  const look = async () => {
    const {body} = await org.call('GET', path)
    return body.job ?? body
  }
  return until(look, ({state}) => !['queued', 'running'].includes(state))
}

test.serial('a check is refused before the import has flows, and for an import of another org', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {connectorId: org.connector}), 201)
  t.is((await ok(org.call('POST', `/orgs/${org.org}/imports/${made.id}/checks`), 409)).code, 'NOT_READY')
  const other = await openOrg(here, 'zoe@other.example')
  const {path} = await checkFile(org, 'name\n\\N\n', orders())
  const id = path.split('/').at(-1)
  for (const method of ['GET', 'POST'] as const)
    t.is((await ok(other.call(method, `/orgs/${other.org}/imports/${id}/checks`), 404)).code, 'IMPORT_NOT_FOUND')
})
