import test from 'ava'
import {cleaned} from '../../../../shared/files/cleaning/clean.ts'
import {Cleaning} from '../../../../shared/files/cleaning/cleaning.ts'
import type {FileRow} from '../../../../shared/files/row.ts'

const error = 'The cell has an error'

/** Cleans rows of the columns `a` and `b`. The cells `#N/A` have a fault, and the cells `1.234` are stored as numbers. */
const clean = async (rows: string[][], ...steps: object[]) => {
  const placesOf = <Value>(cells: string[], text: string, value: Value) =>
    Object.fromEntries(cells.flatMap((cell, at) => (cell === text ? [[at, value]] : [])))
  const read = rows.map((cells, at): FileRow => {
    const facts = {faults: placesOf(cells, '#N/A', error), numeric: placesOf(cells, '1.234', true as const)}
    return {rowNumber: at + 1, cells, ragged: false, ...facts}
  })
  const given = structuredClone(read)
  const chunks = (async function* () {
    yield read
  })()
  const {rows: done} = cleaned({columns: ['a', 'b'], rows: chunks}, Cleaning.parse(steps), {fileCharacters: 1_000})
  const all = (await Array.fromAsync(done)).flat()
  return {
    cells: all.map(({cells}) => cells.join('|')),
    faults: all.map(({faults}) => Object.keys(faults ?? {}).join()),
    numeric: all.map(({numeric}) => Object.keys(numeric ?? {}).join()),
    isUntouched: JSON.stringify(read) === JSON.stringify(given),
  }
}

const fillDown = {step: 'fillDown', columns: ['a']}
const rows = [
  ['x', '1'],
  ['#N/A', '2'],
  ['', '3'],
  ['', '4'],
  ['y', '5'],
  ['', '6'],
]

test('an empty cell below an error is filled with the error, and cannot be imported either', async t => {
  const {cells, faults, isUntouched} = await clean(rows, fillDown)
  t.deepEqual(cells, ['x|1', '#N/A|2', '#N/A|3', '#N/A|4', 'y|5', 'y|6'])
  t.deepEqual(faults, ['', '0', '0', '0', '', ''])
  t.true(isUntouched, 'the rows of the file keep their faults')
})

test('a step that replaces an error removes its fault, before and after the error is copied', async t => {
  const replace = {step: 'replace', find: '#N/A', with: 'none'}
  for (const steps of [
    [replace, fillDown],
    [fillDown, replace],
  ]) {
    const {cells, faults} = await clean(rows, ...steps)
    t.deepEqual(cells, ['x|1', 'none|2', 'none|3', 'none|4', 'y|5', 'y|6'])
    t.deepEqual(faults, ['', '', '', '', '', ''])
  }
})

test('the columns that are split from an error cannot be imported, and fill no cells below', async t => {
  const split = {step: 'split', column: 'a', separator: ' ', into: ['c', 'd']}
  const some = [
    ['x y', '1'],
    ['#N/A', '2'],
    ['z', '3'],
  ]
  t.deepEqual((await clean(some, split)).faults, ['', '0,2,3', ''])
  const filled = await clean(some, split, {step: 'fillDown', columns: ['d']})
  t.deepEqual(filled.cells, ['x y|1|x|y', '#N/A|2|#N/A|', 'z|3|z|'])
  t.deepEqual(filled.faults, ['', '0,2,3', '3'], 'the value of the last row is unknown too')
  const edit = {step: 'editCells', cells: [{row: 2, column: 'd', value: 'w'}]}
  t.deepEqual((await clean(some, split, edit)).faults, ['', '0,2', ''])
})

test('a number is copied as a number, and is text once a step changes it', async t => {
  const some = [
    ['1.234', '1.234'],
    ['', '2'],
  ]
  t.deepEqual((await clean(some, {step: 'trim'}, fillDown)).numeric, ['0,1', '0'])
  t.deepEqual((await clean(some, {step: 'replace', columns: ['a'], find: '.', with: ','}, fillDown)).numeric, ['1', ''])
})

test('a number that a person replaces by another number with a point stays a number', async t => {
  const values = ['1.567', ' -0.5 ', '1,567', '1.234.567', 'none']
  const cells = values.map((value, at) => ({row: at + 1, column: 'a', value}))
  const edited = await clean([...values.map(() => ['1.234', '1']), ['1,234', '1']], {
    step: 'editCells',
    cells: [...cells, {row: 6, column: 'a', value: '1.567'}],
  })
  t.deepEqual(edited.numeric, ['0', '0', '', '', '', ''], 'any other value has the decimal mark of the column')
})
