import test from 'ava'
import {csv, openCorrections} from '../support/corrections.ts'
import {leads, ok, openOrg, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

const heads = 'name,company,mail,staff'
/** Returns the lines of ten leads. The rows in `wrong` have a number of employees that cannot be read. */
const linesOf = (prefix: string, wrong: number[]) =>
  Array.from({length: 10}, (_, n) => `Person ${n},Company ${n},${prefix}${n}@fix.example,${wrong.includes(n) ? 'many' : 10 + n}`)
const fileOf = (lines: string[]) => `${heads}\n${lines.join('\n')}\n`

const held = (prefix: string) =>
  here.crm.records('example', 'Leads').filter(({Email}) => new RegExp(`^${prefix}\\d@fix`).test(String(Email)))
const {correct, failedOf, retry} = openCorrections(() => org)

test.serial('corrected rows of failed.csv are written by a retry of their run, each once', async t => {
  const {path, source, run: first} = await runImport(org, {csv: fileOf(linesOf('a', [4, 7])), flow: leads})
  t.like(first.counts.Leads, {created: 8, failed: 2})
  const corrected = (await failedOf(path, first)).replaceAll('many', '77')
  const answer = await ok(correct(path, first, corrected), 200)
  t.deepEqual(answer, {run: first.id, source: source.id, rows: 2, cells: 2, kept: 0, matchedBy: 'row'})
  const second = await retry(path, first)
  t.like(second.counts.Leads, {created: 2, inherited: 8, failed: 0})
  t.deepEqual([held('a').length, held('a').filter(({No_of_Employees}) => No_of_Employees === 77).length], [10, 2])
  t.like(await ok(correct(path, first, corrected), 200), {run: second.id, cells: 0}, 'the same correction again changes nothing')
  const late = await ok(correct(path, first, corrected.replaceAll('77', '78')), 422)
  t.regex(late.error, /already imported/, 'the rows were written by the retry')
})

test.serial(
  'failed.csv is refused as a new file while its run can be retried, so that a retry and an import do not write a row twice',
  async t => {
    const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('b', [2])), flow: leads})
    const corrected = (await failedOf(path, run)).replaceAll('many', '77')
    const {import: other} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Rest', connectorId: org.connector}), 201)
    for (const place of [`/orgs/${org.org}/imports/${other.id}`, path]) {
      const refused = await ok(org.call('POST', `${place}/sources?name=failed.csv`, corrected, csv), 409)
      t.like(refused, {code: 'FAILED_FILE', correctedImport: path.split('/').at(-1), correctedRun: run.id, correctedSource: source.id})
    }
    await ok(correct(path, run, corrected), 200)
    t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 9})
    t.is(held('b').length, 10)
    await ok(org.call('DELETE', path), 200)
    await ok(org.call('POST', `/orgs/${org.org}/imports/${other.id}/sources?name=failed.csv`, corrected, csv), 201)
  },
)

test.serial('failed.csv in another sheet of an uploaded workbook is refused too', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('s', [2])), flow: leads})
  const plain = [['name'], ['Person 3']]
  const failed = [
    [`lading: row of ${run.id} ${source.id}`, 'lading: error', 'name'],
    ['3', 'Wrong', 'Person 3'],
  ]
  const workbook = await writeWorkbook({
    sheets: [
      {name: 'plain', rows: plain},
      {name: 'failed', rows: failed},
      {name: 'more', rows: plain},
    ],
  })
  const {source: added} = await ok(org.call('POST', `${path}/sources?name=book.xlsx`, workbook), 201)
  const own = `${path}/sources/${added.id}`
  const other = (sheet: string) => org.call('POST', `${path}/sources`, {fromSource: added.id, sheet})
  t.is((await ok(other('failed'), 409)).code, 'FAILED_FILE')
  t.is((await ok(org.call('PATCH', own, {reader: {sheet: 'failed'}}), 409)).code, 'FAILED_FILE')
  await ok(other('more'), 201)
  await ok(org.call('PATCH', own, {reader: {sheet: 'more'}}), 200)
})

test.serial('a corrected whole file is matched by order, and written rows stay as they are', async t => {
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('c', [4, 7])), flow: leads})
  t.like(await ok(correct(path, run, fileOf(linesOf('c', []))), 200), {rows: 2, cells: 2, matchedBy: 'order'})
  const second = await retry(path, run)
  t.like(second.counts.Leads, {created: 2, inherited: 8})
  t.deepEqual(
    held('c')
      .map(({No_of_Employees}) => No_of_Employees)
      .toSorted(),
    [10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
  )
})

test.serial('a corrected file that was sorted is refused, because it gives written rows the values of others', async t => {
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('d', [4])), flow: leads})
  const refused = await ok(correct(path, run, fileOf(linesOf('d', []).toReversed())), 422)
  t.like(refused, {code: 'CORRECTION_UNFIT', row: 1})
  t.regex(refused.error, /already imported/)
  t.like(await retry(path, run), {counts: {Leads: {failed: 1, inherited: 9}}})
  t.is(held('d').length, 9)
})

test.serial('rows that an earlier run of the chain wrote are settled, although the last run did not reach them', async t => {
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('g', [1, 4])), flow: leads})
  const {run: part} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id, rows: {from: 1, to: 2}}), 202)
  t.like((await untilEnded(org.call, `${path}/runs/${part.id}`)).counts.Leads, {failed: 1, inherited: 1})
  const changed = linesOf('g', []).map((line, n) => (n === 8 ? line.replace('Company 8', 'Firm') : line))
  t.like(await ok(correct(path, part, fileOf(changed)), 422), {code: 'CORRECTION_UNFIT', row: 9})
  t.like(await ok(correct(path, part, fileOf(linesOf('g', []))), 200), {rows: 2, cells: 2})
})

test.serial('rows of a file that only the last run read can be corrected', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('m', [4])), flow: leads})
  const added = fileOf(linesOf('n', [2]))
  const {source: other} = await ok(org.call('POST', `${path}/sources?name=more.csv`, added, csv), 201)
  const flows = [
    {...leads, id: 'f', sourceId: source.id},
    {...leads, id: 'g', sourceId: other.id},
  ]
  await ok(org.call('PUT', `${path}/flows`, flows), 200)
  const second = await retry(path, run)
  t.like(second.counts.Leads, {created: 9, inherited: 9, failed: 2})
  const corrected = await ok(
    org.call('POST', `${path}/runs/${second.id}/corrections?source=${other.id}`, fileOf(linesOf('n', [])), csv),
    200,
  )
  t.like(corrected, {source: other.id, rows: 1, cells: 1})
})

test.serial('a row that was written is settled, although a value that a person edited was kept', async t => {
  const flow = {...leads, match: {by: ['Email'], onOne: 'update', onMany: 'skip', onEdited: 'keep'}}
  await runImport(org, {csv: fileOf(linesOf('h', [])), flow})
  here.crm.clock.advance(60_000)
  const [edited] = held('h').filter(({Company}) => Company === 'Company 3')
  here.crm.update('example', 'Leads', [{id: edited!.id, Company: 'Mine'}], {as: 'ben@example.org'})
  const next = (wrong: number[]) => linesOf('h', wrong).map(line => line.replace('Company', 'Firm').replace('Person', 'Human'))
  const {path, run} = await runImport(org, {csv: fileOf(next([4])), flow})
  t.like(run, {keptEdits: 1, counts: {Leads: {updated: 9, failed: 1}}})
  const changed = next([]).map((line, n) => (n === 3 ? line.replace('Human', 'Other') : line))
  t.like(await ok(correct(path, run, fileOf(changed)), 422), {code: 'CORRECTION_UNFIT', row: 4})
})

test.serial('a part of the corrected file is matched by the columns that match records', async t => {
  const match = {by: ['Email'], onOne: 'update', onMany: 'skip'}
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('e', [4, 7])), flow: {...leads, match}})
  const rest = linesOf('e', []).filter((_, n) => n === 7 || n === 4)
  t.like(await ok(correct(path, run, fileOf(rest.toReversed())), 200), {rows: 2, cells: 2, matchedBy: 'key'})
  t.like((await retry(path, run)).counts.Leads, {created: 2, inherited: 8})
  t.is(held('e').length, 10)
})

test.serial('a file that fits no rows of the run is refused with its first such row, and changes nothing', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('f', [4])), flow: leads})
  const failed = await failedOf(path, run)
  const cases: [string, string][] = [
    [failed.replace(/\n5,/, '\n55,'), 'no row of the run'],
    [failed.replace(/(5,.*\r\n)/, '$1$1'), 'there twice'],
    [failed.replace('staff', 'salary'), 'no column "salary"'],
    [fileOf(linesOf('f', []).slice(0, 3)), 'no row numbers'],
    [failed.replace(/\n5,/, '\n4,'), 'already imported'],
  ]
  for (const [body, says] of cases) {
    const refused = await ok(correct(path, run, body), 422)
    t.is(refused.code, 'CORRECTION_UNFIT')
    t.true(refused.error.includes(says), `${refused.error} should say: ${says}`)
  }
  const {source: now} = await ok(org.call('GET', `${path}/sources/${source.id}`), 200)
  t.deepEqual(now.cleaning, [])
})

test.serial('a cell that the corrected file did not change keeps a later edit, and the answer counts it', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('i', [4, 7])), flow: leads})
  const failed = await failedOf(path, run)
  const own = {row: 5, column: 'name', value: 'Mine'}
  await ok(org.call('PATCH', `${path}/sources/${source.id}/cells`, {cells: [own]}), 200)
  const editsNow = async () => (await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source.cleaning[0]?.cells
  t.like(await ok(correct(path, run, failed), 200), {rows: 0, cells: 0, kept: 1})
  t.like(await ok(correct(path, run, failed.replaceAll('many', '77')), 200), {rows: 2, cells: 2, kept: 1})
  t.deepEqual(await editsNow(), [own, {row: 5, column: 'staff', value: '77'}, {row: 8, column: 'staff', value: '77'}])
  const part = failed
    .split('\r\n')
    .map(line => line.replace(/,[^,]*$/, ''))
    .join('\r\n')
  t.like(await ok(correct(path, run, part), 200), {cells: 0, kept: 1}, 'a column that the file lacks is not counted')
  t.like((await retry(path, run)).counts.Leads, {created: 2, inherited: 8})
  t.like(await ok(correct(path, run, fileOf(linesOf('i', [4, 7]))), 200), {cells: 0, kept: 0}, 'no correction of a written row is open')
})

test.serial(
  'failed.csv of a retry shows the edits of the retry, keeps later ones, and takes back an edit, also of split cells',
  async t => {
    const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('j', [4])), flow: leads})
    const cells = `${path}/sources/${source.id}/cells`
    const edit = (column: string, value: string) => ok(org.call('PATCH', cells, {cells: [{row: 5, column, value}]}), 200)
    const split = {step: 'split', column: 'name', separator: ' ', into: ['first', 'last']}
    await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning: [split]}), 200)
    t.like(await ok(correct(path, run, (await failedOf(path, run)).replace('many', 'few').replace('Person 4', 'Other 4')), 200), {cells: 3})
    const second = await retry(path, run)
    t.like(second.counts.Leads, {failed: 1})
    const shown = await failedOf(path, second)
    t.regex(shown, /Other 4,Company 4,.*,few/)
    const editsNow = async () => {
      const {source: now} = await ok(org.call('GET', `${path}/sources/${source.id}`), 200)
      return Object.fromEntries(now.cleaning[1].cells.map(({column, value}: any) => [column, value]))
    }
    await edit('staff', '7')
    t.like(await ok(correct(path, second, shown.replace('Company 4', 'Firm 4')), 200), {cells: 1, kept: 1})
    t.deepEqual(await editsNow(), {name: 'Other 4', first: 'Other', staff: '7', company: 'Firm 4'})
    t.like(await ok(correct(path, second, shown.replace('Other 4', 'Person 4')), 200), {cells: 2, kept: 2})
    t.deepEqual(await editsNow(), {staff: '7', company: 'Firm 4'}, 'the name has the value of the run’s file again')
    t.like((await retry(path, second)).counts.Leads, {created: 1, inherited: 9})
  },
)

test.serial('corrected values pass the cleaning of the file', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf(linesOf('g', [4])), flow: leads})
  const cleaning = [{step: 'replace', columns: ['staff'], find: ' people', with: ''}]
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning}), 200)
  await ok(correct(path, run, (await failedOf(path, run)).replace('many', '77 people')), 200)
  t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 9})
  t.true(held('g').some(({No_of_Employees}) => No_of_Employees === 77))
})

test.serial('failed.csv with the line that a spreadsheet adds is matched by row numbers', async t => {
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('h', [4])), flow: leads})
  const failed = (await failedOf(path, run)).replace('many', '77')
  const body = `sep=,\r\n${failed.replace('\ufeff', '')}`
  t.like(await ok(correct(path, run, body), 200), {rows: 1, cells: 1, matchedBy: 'row'})
})

test.serial('a corrected file in an uncertain encoding is refused, and read once its encoding is named', async t => {
  const {path, run} = await runImport(org, {csv: fileOf(linesOf('j', [4])), flow: leads})
  const [before, after] = (await failedOf(path, run)).replace('many', '77').split('Person 4')
  const name = Buffer.from([0x5a, 0x61, 0xbf, 0xf3, 0xb3, 0xe6])
  const bytes = Buffer.concat([Buffer.from(before!.replace('\ufeff', '')), name, Buffer.from(after!)])
  const send = (type: string) => org.call('POST', `${path}/runs/${run.id}/corrections`, bytes, {'content-type': type})
  const refused = await ok(send('text/csv'), 409)
  t.is(refused.code, 'ENCODING_REQUIRED')
  t.regex(refused.error, /UTF-8/)
  t.like(await ok(send('text/csv; charset=windows-1250'), 200), {rows: 1, cells: 2})
  await retry(path, run)
  t.true(held('j').some(({Last_Name}) => Last_Name === 'Zażółć'))
})

test.serial('failed.csv of another file is refused', async t => {
  const [one, other] = [
    await runImport(org, {csv: fileOf(linesOf('k', [4])), flow: leads}),
    await runImport(org, {csv: fileOf(linesOf('l', [4])), flow: leads}),
  ]
  const refused = await ok(correct(one.path, one.run, (await failedOf(other.path, other.run)).replace('many', '77')), 422)
  t.is(refused.code, 'CORRECTION_UNFIT')
  t.true(refused.error.includes(other.source.id))
})

test.serial('a corrected workbook is read with the number rules of the run, so that shown thousands are no edits', async t => {
  const sheet = (rows: [string, string, number, string | number][]) =>
    writeWorkbook({
      sheets: [
        {
          name: 'Leads',
          rows: [['name', 'company', 'revenue', 'staff'], ...rows.map(([name, company, v, staff]) => [name, company, {v, s: 1}, staff])],
        },
      ],
      formats: ['#,##0,'],
    })
  const xlsx = {'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'}
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Book', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const wrong = await sheet([
    ['One', 'Book Ltd', 1_234_567, 3],
    ['Two', 'Book Ltd', 7_654_321, 'many'],
  ])
  const {source} = await ok(org.call('POST', `${path}/sources?name=leads.xlsx`, wrong, xlsx), 201)
  const fields = [...leads.fields.filter(({field}) => field !== 'Email'), {field: 'Annual_Revenue', mode: 'column', source: 'revenue'}]
  await ok(org.call('PUT', `${path}/flows`, [{...leads, id: 'f', sourceId: source.id, fields}]), 200)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(run.counts.Leads, {created: 1, failed: 1})
  const corrected = await sheet([
    ['One', 'Book Ltd', 1_234_567, 3],
    ['Two', 'Book Ltd', 7_654_321, 4],
  ])
  t.like(await ok(org.call('POST', `${path}/runs/${run.id}/corrections`, corrected, xlsx), 200), {rows: 1, cells: 1, matchedBy: 'order'})
  t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 1})
  const revenues = here.crm.records('example', 'Leads').filter(({Company}) => Company === 'Book Ltd')
  t.deepEqual(revenues.map(({Annual_Revenue}) => Annual_Revenue).toSorted(), [1_234_567, 7_654_321])
})
