import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {PassThrough} from 'node:stream'
import test from 'ava'
import {csv, openCorrections} from '../support/corrections.ts'
import {leads, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {type Cell, writeWorkbook} from '../support/workbook.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(here)
})

const {correct, failedOf, retry} = openCorrections(() => org)

const short = 'Short,Row'
const long = 'Long,Row,long@rows.example,1,2'
const fileOf = (staff: string, ...uneven: string[]) =>
  `name,company,mail,staff\nOne,First,one@rows.example,${staff}\n${uneven.join('\n')}\n`

test.serial('rows with too few or too many cells prevent no correction of other rows', async t => {
  const {path, run} = await runImport(org, {csv: fileOf('many', short, long), flow: leads})
  t.like(run.counts.Leads, {failed: 3})
  const failed = await failedOf(path, run)
  t.is(failed.trim().split('\r\n').length, 2, 'failed.csv leaves them out')
  t.like(await ok(correct(path, run, failed.replace('many', '7')), 200), {rows: 1, cells: 1, matchedBy: 'row'})
  t.like(await ok(correct(path, run, fileOf('8', short, long)), 200), {rows: 1, cells: 1, matchedBy: 'order'})
  t.like(await ok(correct(path, run, fileOf('9', `${short},,`, long)), 200), {rows: 1, cells: 1}, 'a spreadsheet fills short rows')
  const earlier = `${failed.replace('many', '10')}2,,${short}\r\n3,,${long}\r\n`
  t.like(await ok(correct(path, run, earlier), 200), {rows: 1, cells: 1}, 'failed.csv of an earlier build')
  const refused: [body: string, row: number, said: RegExp][] = [
    [fileOf('8', 'Short,Other', long), 2, /more or fewer cells than the header/],
    [fileOf('8', `${short},short@rows.example,4`, long), 2, /cannot be corrected one by one/],
    [fileOf('8', short, long.replace('Row', 'Other')), 3, /more or fewer cells than the header/],
  ]
  for (const [body, row, said] of refused) {
    const {code, row: of, error} = await ok(correct(path, run, body), 422)
    t.deepEqual([code, of], ['CORRECTION_UNFIT', row])
    t.regex(error, said)
  }
  t.like((await retry(path, run)).counts.Leads, {created: 1, failed: 2})
})

const openQuoted = (staff: string) =>
  `name,company,mail,staff\nOne,"First\nand "Co",one@quote.example,1\nTwo,Second,two@quote.example,${staff}\nSix,Sixth,six@quote.example,6\n`

test.serial('rows with an open quote that a person accepts after the run are written by a retry, beside corrected rows', async t => {
  const {path, source, run} = await runImport(org, {csv: openQuoted('many'), flow: leads})
  t.like(run.counts.Leads, {created: 1, failed: 2})
  const set = (openQuotes: string) => ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {openQuotes}}), 200)
  await set('keep')
  t.like(await ok(correct(path, run, openQuoted('2')), 200), {rows: 1, cells: 1, matchedBy: 'order'})
  const second = await retry(path, run)
  t.like(second.counts.Leads, {created: 2, inherited: 1, failed: 0})
  await set('refuse')
  t.is((await ok(org.call('POST', `${path}/runs`, {retryOf: second.id}), 409)).code, 'SNAPSHOT_CHANGED')
  await set('keep')
  t.like((await retry(path, second)).counts.Leads, {created: 0, inherited: 3})
})

test.serial('a corrected file may contain the open quote of a file that an earlier build read', async t => {
  const {path, source} = await prepareImport(org, {csv: openQuoted('many').replaceAll('@quote', '@older'), flow: leads})
  await here.hot.query(`update sources set reader = reader - 'openQuotes' where id = $1`, [source.id])
  const {run: started} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const run = await untilEnded(org.call, `${path}/runs/${started.id}`)
  t.like(run.counts.Leads, {created: 2, failed: 1})
  t.like(await ok(correct(path, run, openQuoted('2').replaceAll('@quote', '@older')), 200), {rows: 1, cells: 1, matchedBy: 'order'})
})

test.serial('failed.csv is refused if a choice changed its numbers since the run', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Book', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const rows = [
    ['name', 'company', 'share', 'staff'],
    ['One', 'Shares', {v: 0.5, s: 1}, 3],
    ['Two', 'Shares', {v: 0.25, s: 1}, 'many'],
  ]
  const workbook = await writeWorkbook({sheets: [{name: 'Leads', rows}], formats: ['0%']})
  const {source} = await ok(org.call('POST', `${path}/sources?name=leads.xlsx`, workbook), 201)
  const fields = [...leads.fields.filter(({field}) => field !== 'Email'), {field: 'Annual_Revenue', mode: 'column', source: 'share'}]
  await ok(org.call('PUT', `${path}/flows`, [{...leads, id: 'f', sourceId: source.id, fields}]), 200)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(run.counts.Leads, {created: 1, failed: 1})
  const corrected = (await failedOf(path, run)).replace('many', '4')
  t.regex(corrected, /Two,Shares,25,4/)
  const choose = (numbers: string) => ok(org.call('PATCH', `${path}/sources/${source.id}`, {choices: {share: {numbers}}}), 200)
  await choose('stored')
  const refused = await ok(correct(path, run, corrected), 409)
  t.is(refused.code, 'SNAPSHOT_CHANGED')
  t.regex(refused.error, /"share"/)
  await choose('displayed')
  t.like(await ok(correct(path, run, corrected), 200), {rows: 1, cells: 1}, 'a choice that reads the same numbers')
  await choose('stored')
  t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 1})
  const revenues = here.crm.records('example', 'Leads').filter(({Company}) => Company === 'Shares')
  t.deepEqual(revenues.map(({Annual_Revenue}) => Annual_Revenue).toSorted(), [0.25, 50], 'the retry reads the number as chosen')
})

test.serial('a correction that is too long is refused with its row and column, and changes nothing', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf('many'), flow: leads})
  const refused = await ok(correct(path, run, (await failedOf(path, run)).replace('First', 'x'.repeat(10_001))), 400)
  t.like(refused, {code: 'INVALID', row: 1})
  t.regex(refused.error, /column "company": an edited cell can have at most 10,000 characters/)
  t.deepEqual((await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source.cleaning, [])
})

test.serial('a corrected workbook is refused if a changed cell has no value, and its numbers keep their decimal mark', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Book', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const bookOf = (revenue: Cell, staff: Cell) =>
    writeWorkbook({
      sheets: [
        {
          name: 'Leads',
          rows: [
            ['name', 'company', 'revenue', 'staff'],
            ['One', 'Marks', {v: '1.125'}, 3],
            ['Two', 'Marks', revenue, staff],
          ],
        },
      ],
    })
  const {source} = await ok(org.call('POST', `${path}/sources?name=leads.xlsx`, await bookOf('2,5', 'many')), 201)
  await ok(org.call('PATCH', `${path}/sources/${source.id}`, {choices: {revenue: {decimalMark: 'comma'}}}), 200)
  const fields = [...leads.fields.filter(({field}) => field !== 'Email'), {field: 'Annual_Revenue', mode: 'column', source: 'revenue'}]
  await ok(org.call('PUT', `${path}/flows`, [{...leads, id: 'f', sourceId: source.id, fields}]), 200)
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  t.like(run.counts.Leads, {created: 1, failed: 1})
  const send = async (revenue: Cell, staff: Cell) =>
    org.call('POST', `${path}/runs/${run.id}/corrections`, await bookOf(revenue, staff), {
      'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    })
  for (const [cell, said] of [
    [{t: 'e', v: '#N/A', f: 'NA()'}, /Row 2 of the corrected file, column "revenue": .*spreadsheet error/],
    [{f: 'C2*2'}, /Row 2 of the corrected file, column "revenue": .*without a saved value/],
  ] as const) {
    const {code, row, error} = await ok(send(cell, 4), 422)
    t.deepEqual([code, row], ['CORRECTION_UNFIT', 2])
    t.regex(error, said)
  }
  t.like(await ok(send({v: '1.234'}, 4), 200), {rows: 1, cells: 2})
  t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 1})
  const revenues = here.crm.records('example', 'Leads').filter(({Company}) => Company === 'Marks')
  t.deepEqual(revenues.map(({Annual_Revenue}) => Annual_Revenue).toSorted(), [1.13, 1.23])
})

test.serial('a long decimal that a corrected workbook keeps is no edit, whether or not the run shortened it', async t => {
  const bookOf = (stored: string, staff: Cell) =>
    writeWorkbook({
      sheets: [
        {
          name: 'Leads',
          rows: [
            ['name', 'company', 'staff'],
            ['One', {v: stored}, staff],
          ],
        },
      ],
    })
  const cases = ['1.1000000000000001', '7.0000000000000007E-2'].flatMap(stored => ['shortest', null].map(decimals => ({stored, decimals})))
  for (const {stored, decimals} of cases) {
    const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Book', connectorId: org.connector}), 201)
    const path = `/orgs/${org.org}/imports/${made.id}`
    const {source} = await ok(org.call('POST', `${path}/sources?name=leads.xlsx`, await bookOf(stored, 'many')), 201)
    await ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {decimals}}), 200)
    const fields = leads.fields.filter(({field}) => field !== 'Email')
    await ok(org.call('PUT', `${path}/flows`, [{...leads, id: 'f', sourceId: source.id, fields}]), 200)
    const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    const run = await untilEnded(org.call, `${path}/runs/${begun.id}`)
    t.like(run.counts.Leads, {failed: 1})
    const type = {'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'}
    const corrected = org.call('POST', `${path}/runs/${run.id}/corrections`, await bookOf(stored, 4), type)
    t.like(await ok(corrected, 200), {rows: 1, cells: 1})
    t.like((await retry(path, run)).counts.Leads, {created: 1, failed: 0})
  }
  const companies = here.crm.records('example', 'Leads').map(({Company}) => Company)
  for (const company of ['1.1', '1.1000000000000001', '0.07', '0.070000000000000007']) t.true(companies.includes(company), company)
})

test.serial('a correction of a row that the cleaning excludes is refused, because no retry writes the row', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf('many', 'Two,Second,two@rows.example,few'), flow: leads})
  t.like(run.counts.Leads, {failed: 2})
  const clean = (cleaning: object[]) => ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning}), 200)
  await clean([{step: 'trim'}, {step: 'strikeRows', rows: [{from: 2, to: 2}]}])
  const failed = await failedOf(path, run)
  const both = failed.replace('many', '7').replace('few', '8')
  const refused = await ok(correct(path, run, both), 422)
  t.like(refused, {code: 'CORRECTION_UNFIT', row: 2})
  t.regex(refused.error, /excluded by the cleaning/)
  t.like(await ok(correct(path, run, failed.replace('many', '7')), 200), {rows: 1, cells: 1}, 'an unchanged row may be excluded')
  await clean([])
  t.like(await ok(correct(path, run, both), 200), {rows: 1, cells: 1})
  t.like((await retry(path, run)).counts.Leads, {created: 2, failed: 0})
})

test.serial('a corrected file that sets a cell of a written row back to the value of the first file is refused', async t => {
  const {path, source, run} = await runImport(org, {csv: fileOf('many'), flow: leads})
  await ok(correct(path, run, (await failedOf(path, run)).replace('many', 'few')), 200)
  const second = await retry(path, run)
  t.like(second.counts.Leads, {failed: 1})
  const shown = await failedOf(path, second)
  await ok(org.call('PATCH', `${path}/sources/${source.id}/cells`, {cells: [{row: 1, column: 'staff', value: '7'}]}), 200)
  t.like((await retry(path, second)).counts.Leads, {created: 1, failed: 0})
  t.like(await ok(correct(path, second, shown), 200), {rows: 0, cells: 0, kept: 0})
  t.like(await ok(correct(path, second, shown.replace('few', 'many')), 422), {code: 'CORRECTION_UNFIT', row: 1})
})

/** Sends the corrected file in two halves. Calls `change` while the first half is stored and the second half is not sent. */
const correctDuring = async (path: string, {id}: {id: string}, file: string, change: () => Promise<unknown>) => {
  const half = file.slice(0, file.length / 2)
  const body = new PassThrough()
  body.write(half)
  const answer = org.call('POST', `${path}/runs/${id}/corrections`, body, csv)
  const folder = join(here.config.STORAGE_DIR, '_temporary')
  await until(
    () => readdirSync(folder).some(name => readFileSync(join(folder, name), 'utf8') === half),
    isStored => isStored,
  )
  await change()
  body.end(file.slice(half.length))
  return answer
}

test.serial('a correction is refused if the file changed during the upload, so that no cell of another row is edited', async t => {
  const head = 'name,company,mail,staff\n'
  const rows = 'One,First,one@during.example,many\nTwo,Second,two@during.example,2\n'
  const {path, source, run} = await runImport(org, {csv: head + head + rows, flow: leads})
  t.like(run.counts.Leads, {created: 1, failed: 2})
  const corrected = (await failedOf(path, run)).replace('many', '7')
  const skipRows = (count: number) => ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {skipRows: count}}), 200)
  t.like(
    await ok(
      correctDuring(path, run, corrected, () => skipRows(1)),
      503,
    ),
    {code: 'BUSY'},
  )
  t.deepEqual((await ok(org.call('GET', path), 200)).import.sources[0].cleaning, [])
  t.like(await ok(correct(path, run, corrected), 409), {code: 'SNAPSHOT_CHANGED'})
  await skipRows(0)
  t.like(await ok(correct(path, run, corrected), 200), {rows: 1, cells: 1})
  t.like((await retry(path, run)).counts.Leads, {created: 1, inherited: 1, failed: 1})
})

test.serial('a correction is refused if its run was retried during the upload, and the next one names the retry', async t => {
  const {path, run} = await runImport(org, {csv: fileOf('many'), flow: leads})
  const corrected = (await failedOf(path, run)).replace('many', '7')
  t.like(
    await ok(
      correctDuring(path, run, corrected, () => retry(path, run)),
      503,
    ),
    {code: 'BUSY'},
  )
  const {run: last} = await ok(correct(path, run, corrected), 200)
  t.not(last, run.id)
  t.like((await retry(path, {id: last})).counts.Leads, {created: 1, failed: 0})
})
