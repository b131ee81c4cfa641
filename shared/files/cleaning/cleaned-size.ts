import {Refusal} from '../../errors.ts'
import {charactersIn, type FileRow, maxRowCells, maxRowCharacters} from '../row.ts'

export type NumberedStep = {
  number: number
  name: string
}

/** Refuses rows and files that exceed the readers' limits after a cleaning step, because a step may lengthen text. */
export const openGrowthLimit = ({number, name}: NumberedStep, fileCharacters: number) => {
  const refuse = (row: number, what: string, limit: number) =>
    new Refusal('UNREADABLE', `Cleaning step ${number} (${name}) makes ${what}. Change this step, or name fewer columns in it`, {
      step: number,
      row,
      limit,
    })
  const tooLong = (row: number) =>
    refuse(row, `the cells of row ${row} longer than ${maxRowCharacters.toLocaleString('en')} characters`, maxRowCharacters)
  let total = 0
  return {
    tooLong,
    /** Throws if the row or the file exceeds a limit. Returns the number of characters of the row. */
    count({cells, rowNumber: row}: FileRow): number {
      const characters = charactersIn(cells)
      if (characters > maxRowCharacters) throw tooLong(row)
      if (cells.length > maxRowCells) throw refuse(row, `row ${row} wider than ${maxRowCells.toLocaleString('en')} cells`, maxRowCells)
      total += characters
      if (total > fileCharacters)
        throw refuse(row, `the file longer than ${fileCharacters.toLocaleString('en')} characters by row ${row}`, fileCharacters)
      return characters
    },
  }
}
