import test from 'ava'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {WORKBOOK_LIMIT_BYTES: '3000000'}})
  org = await openOrg(here)
})

const newImport = async () => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  return `/orgs/${org.org}/imports/${made.id}`
}

const add = async (body: string | Uint8Array, query = '') => {
  const path = await newImport()
  const {source} = await ok(org.call('POST', `${path}/sources?name=test${query}`, body), 201)
  return {path, source, at: `${path}/sources/${source.id}`}
}

const people = 'id;name;born\n1;Anna ;01/02/2024\n2;Boris;03/04/2024\n1;Anna;\n'

test('a source shows its reader, what was detected, and what a person should decide', async t => {
  const {source} = await add(people)
  t.like(source, {
    reader: {format: 'csv', delimiter: ';', encoding: 'utf-8', shortRows: 'refuse'},
    sniffed: {delimiter: ';', delimiterHow: 'counted', how: 'ascii'},
    cleaning: [],
    choices: {},
    rows: 3,
    fileColumns: ['id', 'name', 'born'],
  })
  t.is(source.problems.length, 1)
  t.like(source.problems[0], {kind: 'ambiguous', column: 'born'})
})

test('another reader reads the file again and keeps unnamed options and the detection', async t => {
  const {at} = await add(people)
  const {source} = await ok(org.call('PATCH', at, {reader: {delimiter: ','}}), 200)
  t.like(source, {reader: {delimiter: ',', encoding: 'utf-8'}, sniffed: {delimiter: ';'}, rows: 3})
  t.deepEqual(
    source.columns.map(({name}: {name: string}) => name),
    ['id;name;born'],
  )
  const {source: named} = await ok(org.call('PATCH', at, {label: 'People'}), 200)
  t.like(named, {label: 'People', reader: {delimiter: ','}})
})

test('a failed reading changes nothing and returns its error code', async t => {
  const {at, source} = await add('id;name\n1;Jörg \n')
  for (const [changes, status, code] of [
    [{reader: {encoding: 'utf-16le'}}, 422, 'FILE_NO_ROWS'],
    [{reader: {headerRow: true, skipRows: 1}}, 422, 'FILE_NO_ROWS'],
    [{reader: {skipRows: 9}}, 422, 'FILE_HEADER'],
    [{reader: {delimiter: '"'}}, 400, 'INVALID'],
    [{reader: {format: 'xlsx'}}, 400, 'INVALID'],
    [{reader: {sheet: 'One'}}, 400, 'INVALID'],
    [{cleaning: [{step: 'trim', columns: ['none']}]}, 400, 'INVALID'],
    [{cleaning: [{step: 'strikeWhere', expression: 'row.none'}]}, 400, 'INVALID'],
    [{choices: {none: {as: 'text'}}}, 400, 'INVALID'],
    [{}, 400, 'INVALID'],
  ] as const) {
    const answer = await org.call('PATCH', at, changes)
    t.is(answer.status, status, answer.text)
    t.is(answer.body.code, code, answer.text)
  }
  t.deepEqual((await ok(org.call('GET', at), 200)).source, source)
})

test('a choice resolves an ambiguity, and can be withdrawn', async t => {
  const {at} = await add('zip,day,price\n00123,01/02/2024,"1,234"\n00456,03/04/2024,"5,678"\n')
  const kindsOf = ({source}: any) => source.problems.map(({kind, column}: any) => `${kind} ${column}`)
  t.deepEqual(kindsOf(await ok(org.call('GET', at), 200)), ['ambiguous zip', 'ambiguous day', 'ambiguous price'])
  const choices = {zip: {as: 'text'}, day: {dateOrder: 'dmy'}, price: {decimalMark: 'point'}}
  const chosen = await ok(org.call('PATCH', at, {choices}), 200)
  t.deepEqual([chosen.source.choices, chosen.source.problems], [choices, []])
  t.deepEqual(kindsOf(await ok(org.call('PATCH', at, {choices: {day: null}}), 200)), ['ambiguous day'])
})

test('reader options sent with the file avoid a refusal', async t => {
  const path = await newImport()
  const body = 'Report "May\n\na,b\n1,2\n'
  const query = new URLSearchParams({reader: JSON.stringify({skipRows: 2, delimiter: ',', quote: null})})
  const {source} = await ok(org.call('POST', `${path}/sources?${query}`, body), 201)
  t.like(source, {reader: {skipRows: 2, quote: null}, rows: 1})
  t.is((await org.call('POST', `${path}/sources?reader=x`, body)).status, 400)
  t.is((await org.call('POST', `${path}/sources?sheet=One`, body)).body.code, 'INVALID')
})

test('rows are shown as read and cleaned, with their raw values', async t => {
  const {at} = await add(people)
  const cleaning = [
    {step: 'trim'},
    {step: 'split', column: 'born', separator: '/', into: ['day', 'month', 'year']},
    {step: 'strikeDuplicates', columns: ['id']},
  ]
  const {source} = await ok(org.call('PATCH', at, {cleaning}), 200)
  t.like(source, {
    rows: 3,
    struck: {count: 1, firstRow: 3},
    cleaning: [{step: 'trim'}, {step: 'split'}, {step: 'strikeDuplicates', ignoreCase: false}],
  })
  const page = await ok(org.call('GET', `${at}/rows?from=2&limit=1`), 200)
  t.deepEqual(page, {
    columns: ['id', 'name', 'born', 'day', 'month', 'year'],
    fileColumns: ['id', 'name', 'born'],
    rows: [
      {
        rowNumber: 2,
        values: ['2', 'Boris', '03/04/2024', '03', '04', '2024'],
        raw: ['2', 'Boris', '03/04/2024'],
        ragged: false,
        struck: null,
      },
    ],
    nextFrom: 3,
  })
  const {rows, nextFrom} = await ok(org.call('GET', `${at}/rows`), 200)
  t.is(nextFrom, null)
  t.deepEqual(rows[0].values.slice(0, 2), ['1', 'Anna'])
  t.deepEqual(rows[0].raw.slice(0, 2), ['1', 'Anna '])
  t.is(rows[2].struck, 'The row repeats row 1')
  t.deepEqual((await ok(org.call('GET', `${at}/rows?from=99`), 200)).rows, [])
})

test('a page of rows ends early if its cells are large', async t => {
  const {at} = await add(`a\n${`${'x'.repeat(900_000)}\n`.repeat(9)}`)
  const first = await ok(org.call('GET', `${at}/rows`), 200)
  t.is(first.rows.length, 2)
  t.is(first.nextFrom, 3)
  const named = async (from: number) => {
    const {rows, nextFrom} = await ok(org.call('GET', `${at}/rows?numbers=1,3,5,9&from=${from}`), 200)
    return [rows.map(({rowNumber}: {rowNumber: number}) => rowNumber), nextFrom]
  }
  t.deepEqual(
    [await named(1), await named(5)],
    [
      [[1, 3], 5],
      [[5, 9], null],
    ],
    'also if rows are named',
  )
})

const book = () =>
  writeWorkbook({
    sheets: [
      {
        name: 'People',
        rows: [
          ['id', 'day'],
          [1, {v: 45322, s: 1}],
          [2, {v: 45323, s: 1}],
        ],
      },
      {name: 'Firms', rows: [['firm'], ['Acme'], [], ['Bolt']], after: '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>'},
      {name: 'Old', state: 'hidden', rows: [['x'], ['y']]},
    ],
    formats: [14],
  })

test('a workbook is one file and has one source per named sheet', async t => {
  const {path, source, at} = await add(await book())
  t.like(source, {
    reader: {format: 'xlsx', sheet: 'People', headerRow: true, range: null},
    sniffed: {
      sheet: 'People',
      how: 'first visible',
      sheets: [{name: 'People', state: 'visible'}, {name: 'Firms'}, {name: 'Old', state: 'hidden'}],
    },
    rows: 2,
    workbook: {epoch: 1900, merged: 0},
  })
  t.deepEqual(source.columns[1].stored, {date: 2})
  t.like(source.columns[1], {kinds: {date: 2}, dates: {ymd: 2}, samples: ['2024-01-31', '2024-02-01']})
  t.like((await ok(org.call('GET', `${at}/rows?limit=1`), 200)).rows[0], {values: ['1', '2024-01-31'], raw: ['1', '45322']})

  t.deepEqual(
    source.sniffed.sheets.map(({rows = null}: any) => rows),
    [null, 3, 1],
    'the other sheets are counted without adding them',
  )

  const {source: second} = await ok(org.call('POST', `${path}/sources`, {fromSource: source.id, sheet: 'firms', label: 'The firms'}), 201)
  t.like(second, {label: 'The firms', reader: {sheet: 'Firms'}, rows: 3, sha256: source.sha256})
  t.deepEqual(
    second.problems.map(({kind}: any) => kind),
    ['merged'],
  )
  t.is((await org.call('POST', `${path}/sources`, {fromSource: source.id, sheet: 'None'})).body.code, 'SHEET_NOT_FOUND')
  t.is((await org.call('POST', `${path}/sources`, {fromSource: source.id})).body.code, 'INVALID')

  const {source: turned} = await ok(org.call('PATCH', at, {reader: {sheet: 'Old'}}), 200)
  t.like(turned, {reader: {sheet: 'Old'}, sniffed: {sheet: 'People'}, rows: 1})
})

test('a sheet can be named with the upload', async t => {
  const {source} = await add(await book(), '&sheet=Firms')
  t.like(source, {reader: {sheet: 'Firms'}, sniffed: {how: 'stated'}, rows: 3})
  const path = await newImport()
  const answer = await org.call('POST', `${path}/sources?sheet=None`, await book())
  t.is(answer.status, 422)
  t.deepEqual(
    answer.body.sheets.map(({name}: any) => name),
    ['People', 'Firms', 'Old'],
  )
  t.deepEqual((await ok(org.call('GET', path), 200)).import.sources, [])
})

test('a workbook too large when unpacked is refused with both sizes and not stored', async t => {
  const path = await newImport()
  const rows = [['a'], ...Array.from({length: 70_000}, () => ['x'])]
  const answer = await org.call('POST', `${path}/sources`, await writeWorkbook({sheets: [{name: 'One', rows}]}))
  t.is(answer.status, 413)
  t.like(answer.body, {code: 'WORKBOOK_TOO_LARGE', limit: 3_000_000})
  t.true(answer.body.unpacked > 3_000_000)
})

test('a file is deleted with the last source that reads it', async t => {
  const {path, source, at} = await add(await book())
  const {source: second} = await ok(org.call('POST', `${path}/sources`, {fromSource: source.id, sheet: 'Firms'}), 201)
  const key = `${org.org}/${path.split('/').at(-1)}/${source.id}`
  t.deepEqual(await ok(org.call('DELETE', at), 200), {removed: source.id})
  t.is((await org.call('GET', at)).body.code, 'SOURCE_NOT_FOUND')
  t.true(await here.storage.exists(key))
  t.is((await ok(org.call('GET', `${path}/sources/${second.id}/rows`), 200)).rows.length, 3)
  await ok(org.call('DELETE', `${path}/sources/${second.id}`), 200)
  t.false(await here.storage.exists(key))
  t.is((await org.call('DELETE', at)).status, 404)
})

test('concurrent changes of a source are all kept', async t => {
  const {at} = await add(`a,b\n${'1,2\n'.repeat(20_000)}`)
  const answers = await Promise.all([
    org.call('PATCH', at, {reader: {headerRow: false}}),
    org.call('PATCH', at, {cleaning: [{step: 'trim'}]}),
    org.call('PATCH', at, {label: 'Mine'}),
  ])
  for (const answer of answers) t.is(answer.status, 200, answer.text)
  t.like((await ok(org.call('GET', at), 200)).source, {label: 'Mine', reader: {headerRow: false}, cleaning: [{step: 'trim'}]})
})

test('a file missing from storage is refused with FILE_GONE', async t => {
  const {path, source, at} = await add(people)
  await here.storage.remove(`${org.org}/${path.split('/').at(-1)}/${source.id}`)
  t.is((await org.call('GET', `${at}/rows`)).body.code, 'FILE_GONE')
  t.is((await org.call('PATCH', at, {reader: {headerRow: false}})).body.code, 'FILE_GONE')
})

test('a web page, XML or JSON is refused as no table, regardless of its name, and not stored', async t => {
  const path = await newImport()
  const pages = ['<table><tr><td>id</td></tr><tr><td>1</td></tr></table>', '<?xml version="1.0"?><a>1</a>', '{"id":1}']
  for (const page of pages) {
    const answer = await org.call('POST', `${path}/sources?name=export.xls`, page, {'content-type': 'application/vnd.ms-excel'})
    t.like({status: answer.status, code: answer.body.code}, {status: 422, code: 'NOT_A_TABLE'})
    t.regex(answer.body.error, /save it there as \.xlsx or CSV/)
  }
  t.deepEqual((await ok(org.call('GET', path), 200)).import.sources, [])
})

test('cleaning that makes a row too large is refused with step and row, and changes nothing', async t => {
  const {at} = await add(`Name,City\n${'a,x\n'.repeat(100)}`)
  const grow = (times: number) => ({step: 'replace', columns: ['Name'], find: 'a', with: 'a'.repeat(times)})
  for (const [cleaning, step, row] of [
    [[grow(1000), grow(1000), grow(60)], 3, 1],
    [[grow(1000), grow(1000), grow(1000)], 3, 1],
    [
      [
        {...grow(1000), find: '.', regex: true},
        {...grow(1000), find: '.', regex: true, with: "$'".repeat(500)},
      ],
      2,
      1,
    ],
  ] as const) {
    const {status, body} = await org.call('PATCH', at, {cleaning})
    t.is(status, 422)
    t.like(body, {code: 'UNREADABLE', step, row})
  }
  t.deepEqual((await ok(org.call('GET', at), 200)).source.cleaning, [])
})
