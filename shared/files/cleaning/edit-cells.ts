import {z} from 'zod'
import {Refusal} from '../../errors.ts'
import {type Cleaning, EditedCell, mostEditedCells, mostEditedCharacters} from './cleaning.ts'

export const CellChange = EditedCell.extend({
  value: EditedCell.shape.value.nullable().describe('The new value of the cell; null removes the edit'),
})
export type CellChange = z.infer<typeof CellChange>

export const CellChanges = z.array(CellChange).min(1).max(1000).describe('The cells to edit')

export type CellEdit = z.infer<typeof EditedCell>
export const editsIn = (cleaning: Cleaning): CellEdit[] => cleaning.flatMap(step => (step.step === 'editCells' ? step.cells : []))

/** Merges changed cells into the cleaning. All edits are in the last step, so that they replace the values that a person saw. */
export const editCells = (cleaning: Cleaning, changes: CellChange[]): Cleaning => {
  const edits = new Map(editsIn(cleaning).map(cell => [addressOf(cell), cell]))
  for (const {value, ...cell} of changes) {
    if (value === null) edits.delete(addressOf(cell))
    else edits.set(addressOf(cell), {...cell, value})
  }
  const cells = [...edits.values()].toSorted((a, b) => a.row - b.row)
  assertLimits(cells)
  return [...withoutEdits(cleaning), ...(cells.length > 0 ? [{step: 'editCells' as const, cells}] : [])]
}

/** Corrections of a file are checked only here, so a cell or a name of a column may be too long. */
const assertLimits = (cells: CellEdit[]) => {
  const most = (count: number, what: string) =>
    new Refusal('INVALID', `A file can have at most ${count.toLocaleString('en')} ${what}. Correct the file instead`)
  if (cells.length > mostEditedCells) throw most(mostEditedCells, 'edited cells')
  const long = cells.find(cell => !EditedCell.safeParse(cell).success)
  if (long)
    throw new Refusal(
      'INVALID',
      `Row ${long.row}, column "${long.column.slice(0, 100)}": an edited cell can have at most 10,000 characters, and the name of its column 1,000. Correct the file instead`,
      {row: long.row},
    )
  if (cells.reduce((sum, {value}) => sum + value.length, 0) > mostEditedCharacters)
    throw most(mostEditedCharacters, 'characters in its edited cells')
}

/** Returns new cleaning steps. Edits of cells stay, unless the new steps include edits, because another request may have edited a cell meanwhile. */
export const keepEdits = (steps: Cleaning, before: Cleaning): Cleaning =>
  steps.some(isEdits) ? steps : [...steps, ...before.filter(isEdits)]

const isEdits = ({step}: Cleaning[number]) => step === 'editCells'

export const withoutEdits = (cleaning: Cleaning): Cleaning => cleaning.filter(step => !isEdits(step))

export const assertRows = (changes: CellChange[], rows: number) => {
  const wrong = changes.find(({row, value}) => row > rows && value !== null)
  if (wrong) throw new Refusal('INVALID', `The file has ${rows} rows, so row ${wrong.row} cannot be edited`, {row: wrong.row})
}

export const addressOf = ({row, column}: {row: number; column: string}) => `${row} ${column}`
