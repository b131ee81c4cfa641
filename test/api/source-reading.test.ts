import test from 'ava'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  org = await openOrg(await startTestDeployment(t, {workers: ['discovery', 'imports']}))
})

const newImport = async () => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  return `/orgs/${org.org}/imports/${made.id}`
}

const add = async (body: string | Uint8Array) => {
  const path = await newImport()
  const {source} = await ok(org.call('POST', `${path}/sources?name=test`, body), 201)
  return {source, at: `${path}/sources/${source.id}`}
}

const shares = () =>
  writeWorkbook({
    sheets: [
      {
        name: 'Shares',
        rows: [
          ['zip', 'share', 'total'],
          [
            {v: 501, s: 1},
            {v: 0.25, s: 2},
            {v: 1234567, s: 3},
          ],
          [
            {v: 12345, s: 1},
            {v: '7.0000000000000007E-2', s: 2},
            {v: 2345678, s: 3},
          ],
        ],
      },
    ],
    formats: ['00000', '0.0%', '#,##0,'],
  })

test('formatted numbers are read as displayed or as stored, and the source says which', async t => {
  const {source, at} = await add(await shares())
  const numbersIn = ({columns}: any) => columns.map(({numbers}: any) => numbers)
  const cells = async () => (await ok(org.call('GET', `${at}/rows`), 200)).rows.map(({values}: any) => values)
  t.deepEqual(numbersIn(source), ['displayed', 'displayed', 'stored'])
  t.like(source.columns[1], {stored: {percent: 2}, formatted: {displayed: '25', stored: '0.25'}, samples: ['25', '7']})
  t.deepEqual(
    source.problems.map(({kind, column}: any) => `${kind} ${column}`),
    ['ambiguous zip', 'ambiguous total'],
  )
  t.deepEqual(await cells(), [
    ['00501', '25', '1234567'],
    ['12345', '7', '2345678'],
  ])
  t.deepEqual((await ok(org.call('GET', `${at}/rows`), 200)).rows[0].raw, ['501', '0.25', '1234567'])

  const choices = {zip: {as: 'number'}, share: {numbers: 'stored'}, total: {numbers: 'displayed'}}
  const {source: chosen} = await ok(org.call('PATCH', at, {choices}), 200)
  t.deepEqual([chosen.choices, chosen.problems, numbersIn(chosen)], [choices, [], ['stored', 'stored', 'displayed']])
  t.like(chosen.columns[1], {samples: ['0.25', '0.07']})
  t.deepEqual((await cells())[0], ['501', '0.25', '1234.567'])

  const {source: open} = await ok(org.call('PATCH', at, {choices: {zip: null, share: null, total: {numbers: 'stored'}}}), 200)
  t.deepEqual([numbersIn(open), open.problems.length], [['displayed', 'displayed', 'stored'], 1])
  t.deepEqual((await cells())[0], ['00501', '25', '1234567'])
  t.is((await org.call('PATCH', at, {choices: {share: {numbers: 'rounded'}}})).status, 400)
})

test('if the first sheet has no rows, the next one is read and a problem says so until a sheet is chosen', async t => {
  const sheets = [
    {name: 'Cover', rows: [['Report']]},
    {name: 'Data', rows: [['id'], [1]]},
    {name: 'More', rows: [['id'], [2]]},
  ]
  const {source, at} = await add(await writeWorkbook({sheets}))
  t.like(source, {reader: {sheet: 'Data'}, sniffed: {sheet: 'Data', how: 'first with rows', passed: 'Cover'}, rows: 1})
  t.like(source.problems, [{kind: 'sheet', column: null}])
  t.regex(source.problems[0].message, /"Cover" has no rows, so the sheet "Data" is read/)
  t.regex(source.problems[0].fix, /"More"/)
  const {source: other} = await ok(org.call('PATCH', at, {reader: {sheet: 'More'}}), 200)
  t.deepEqual(other.problems, [])
  const path = await newImport()
  const named = await org.call('POST', `${path}/sources?sheet=Cover`, await writeWorkbook({sheets}))
  t.like(named.body, {code: 'FILE_NO_ROWS', sheets: sheets.map(({name}) => ({name}))})
})

test('a decimal with the error of a binary fraction is shortened, except in a file that an older build read', async t => {
  const long = {name: 'Long', rows: [['v'], [{v: '1.1000000000000001'}], [{v: '2.6749999999999998'}], [{v: '0.30000000000000004'}]]}
  const short = {name: 'Short', rows: [['v'], [{v: '1.5'}]]}
  const {source, at} = await add(await writeWorkbook({sheets: [long, short]}))
  const change = async (changes: object) => (await ok(org.call('PATCH', at, changes), 200)).source
  t.is(source.reader.decimals, 'shortest')
  t.deepEqual(source.columns[0].samples, ['1.1', '2.675', '0.30000000000000004'])
  const {rows} = await ok(org.call('GET', `${at}/rows`), 200)
  t.like(rows[0], {values: ['1.1'], raw: ['1.1000000000000001']})

  const older = await change({reader: {decimals: null}})
  t.false('decimals' in older.reader, 'as a file of an older build')
  const again = await change({cleaning: [{step: 'trim'}], reader: {sheet: 'Long'}, choices: {v: {as: 'text'}}})
  t.like(again, {reader: older.reader, columns: [{samples: ['1.1000000000000001', '2.6749999999999998', '0.30000000000000004']}]})
  t.false('decimals' in (await change({reader: {sheet: 'Short'}})).reader)
  t.is((await change({reader: {sheet: 'Long'}})).reader.decimals, 'shortest')
})

test('times with long decimals leave the reader as it is, because they are read from the stored number', async t => {
  const rows = [['at'], [{v: '0.45833333333333331', s: 1}]]
  const {source} = await add(await writeWorkbook({sheets: [{name: 'Times', rows}], formats: ['h:mm']}))
  t.deepEqual(source.columns[0].samples, ['11:00:00'])
  t.false('decimals' in source.reader)
})

test('a title above the header is reported with the reader that fixes it, and no row is skipped before', async t => {
  const rows = [['Sales report 2026'], [], ['Name', 'City', 'Amount'], ['Anna', 'Bonn', '5'], ['Boris', 'Bern', '6']]
  const files: [body: string | Uint8Array, rows: number, reader: object][] = [
    [rows.map(cells => cells.join(',')).join('\n'), 3, {skipRows: 1}],
    [await writeWorkbook({sheets: [{name: 'One', rows}]}), 4, {range: 'A3'}],
  ]
  for (const [body, read, reader] of files) {
    const {source, at} = await add(body)
    t.like(source, {rows: read, header: {title: 'Sales report 2026', columns: ['Name', 'City', 'Amount'], reader}})
    t.like(source.problems[0], {kind: 'header', column: null, reader})
    const {source: mended} = await ok(org.call('PATCH', at, {reader: source.problems[0].reader}), 200)
    t.like(mended, {rows: 2, reader, fileColumns: ['Name', 'City', 'Amount'], problems: []})
    t.is(mended.header, undefined)
  }
})

test('numbers of a workbook have a decimal point and raise no question', async t => {
  const {source} = await add(await writeWorkbook({sheets: [{name: 'One', rows: [['a'], [{v: '1.234'}], [{v: '2.345'}]]}]}))
  t.deepEqual(source.problems, [])
})

test('a change of the reader that renumbers rows removes strikeRows, unless the request states the step', async t => {
  const {at} = await add('Report\nname,city\nAcme,Bilbao\nBolt,Lyon\nTotal,2\n')
  const strike = (row: number) => ({step: 'strikeRows', rows: [{from: row, to: row}]})
  const change = async (changes: object) => (await ok(org.call('PATCH', at, changes), 200)).source.cleaning
  await change({cleaning: [{step: 'trim'}, strike(4)]})
  t.deepEqual(await change({reader: {encoding: 'windows-1252'}}), [{step: 'trim'}, strike(4)])
  t.deepEqual(await change({reader: {skipRows: 1}}), [{step: 'trim'}])
  t.deepEqual(await change({reader: {headerRow: false}, cleaning: [strike(1)]}), [strike(1)])
  t.deepEqual(await change({reader: {skipRows: 1}}), [strike(1)], 'the reader stays as it is')
})

type TopRow = {cells: string[]; header: boolean; reader: object}
const top = async (at: string): Promise<TopRow[]> => (await ok(org.call('GET', `${at}/top`), 200)).rows
const headerIn = (rows: TopRow[]) => rows.find(({header}) => header)?.cells

test('each of the first rows of a CSV file can be chosen as the header', async t => {
  const {at} = await add('Report of March\n\n"made by\nAna",x\nname,city\nAcme,Bilbao\nBolt,Lyon\n')
  const rows = await top(at)
  t.deepEqual(
    rows.map(({cells}) => cells),
    [['Report of March'], ['made by\nAna', 'x'], ['name', 'city'], ['Acme', 'Bilbao'], ['Bolt', 'Lyon']],
  )
  t.deepEqual(headerIn(rows), ['Report of March'])
  for (const {cells, reader} of rows.slice(0, -1)) {
    const {source} = await ok(org.call('PATCH', at, {reader}), 200)
    t.deepEqual(
      source.columns.map(({name}: any) => name),
      cells,
    )
    t.deepEqual(headerIn(await top(at)), cells, 'rows above the header stay in the list')
  }
  await ok(org.call('PATCH', at, {reader: {headerRow: false}}), 200)
  t.is(headerIn(await top(at)), undefined)
})

test('a line of delimiters above the header is not shown as the header', async t => {
  const {at} = await add(',\nname,city\nAcme,Bilbao\n')
  t.deepEqual(headerIn(await top(at)), ['name', 'city'])
})

test('each of the first rows of a sheet can be chosen as the header, and its range keeps its columns', async t => {
  const sheet = {name: 'Data', rows: [['', 'Report', ''], [], ['', 'name', 'city'], ['', 'Acme', 'Bilbao'], ['', 'Bolt', 'Lyon']]}
  const {at} = await add(await writeWorkbook({sheets: [sheet]}))
  await ok(org.call('PATCH', at, {reader: {range: 'B3:C5'}}), 200)
  const rows = await top(at)
  t.deepEqual(
    rows.map(({cells}) => cells),
    [['Report'], ['name', 'city'], ['Acme', 'Bilbao'], ['Bolt', 'Lyon']],
  )
  t.deepEqual(headerIn(rows), ['name', 'city'])
  const {source} = await ok(org.call('PATCH', at, {reader: rows[2]!.reader}), 200)
  t.deepEqual([source.reader.range, source.columns.map(({name}: any) => name), source.rows], ['B4:C5', ['Acme', 'Bilbao'], 1])
  t.deepEqual((await top(at)).length, 4)
})

test('of a long file, only the first 30 rows can be chosen as the header', async t => {
  const body = Array.from({length: 2000}, (_, n) => `name ${n},city ${n}`).join('\n')
  t.is((await top((await add(body)).at)).length, 30)
  const rows = Array.from({length: 2000}, (_, n) => [`name ${n}`, n])
  t.is((await top((await add(await writeWorkbook({sheets: [{name: 'Data', rows}]}))).at)).length, 30)
})

test('a sheet too long to count has no row count, and the next sheets neither', async t => {
  const long = Array.from({length: 100_001}, (_, n) => [n])
  const {source} = await add(
    await writeWorkbook({
      sheets: [
        {name: 'Short', rows: [['a'], [1]]},
        {name: 'Long', rows: long},
        {name: 'Last', rows: [['a'], [1]]},
      ],
    }),
  )
  t.deepEqual(
    source.sniffed.sheets.map(({name, rows = null}: any) => [name, rows]),
    [
      ['Short', null],
      ['Long', null],
      ['Last', null],
    ],
  )
})
