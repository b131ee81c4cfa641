import test from 'ava'
import {Refusal} from '../../../../shared/errors.ts'
import {Cleaning} from '../../../../shared/files/cleaning/cleaning.ts'
import {type CellEdit, editCells} from '../../../../shared/files/cleaning/edit-cells.ts'

const edit = (row: number, length: number, column = 'a'): CellEdit => ({row, column, value: 'x'.repeat(length)})

test('edits up to the limits are valid cleaning', t => {
  const cleaning = editCells(
    [],
    Array.from({length: 100}, (_, at) => edit(at + 1, 10_000)),
  )
  t.true(Cleaning.safeParse(cleaning).success)
  t.true(Cleaning.safeParse(editCells([], [edit(1, 1, 'c'.repeat(1_000))])).success)
})

const beyond: [what: string, cells: CellEdit[], row: number | undefined, said: RegExp][] = [
  ['a long value', [edit(1, 5), edit(7, 10_001)], 7, /^Row 7, column "a": .* 10,000 characters/],
  ['a long name of a column', [edit(3, 5, 'c'.repeat(1_001))], 3, /^Row 3, column "ccc/],
  ['too many characters together', Array.from({length: 101}, (_, at) => edit(at + 1, 9_999)), undefined, /1,000,000 characters/],
  ['too many cells', Array.from({length: 10_001}, (_, at) => edit(at + 1, 1)), undefined, /10,000 edited cells/],
]

for (const [what, cells, row, said] of beyond)
  test(`${what} is refused as invalid, with the reason`, t => {
    const error = t.throws(() => editCells([], cells), {instanceOf: Refusal})
    t.deepEqual([error?.code, error?.extra.row], ['INVALID', row])
    t.regex(error?.message ?? '', said)
  })
