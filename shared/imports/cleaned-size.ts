import {Refusal} from '../errors.ts'
import {charactersIn, maxRowCells, maxRowCharacters, type Row} from './row.ts'

type NumberedStep = {
  /** Counted from 1. */
  number: number
  name: string
}

/** The limits of the readers, held after one cleaning step. A step may make a short text long. */
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
    /** Counts a row after the step: answers its characters. */
    count({cells, rowNumber: row}: Row): number {
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
