import {Refusal} from '../../errors.ts'
import {maxRowCells, maxRowCharacters} from '../row.ts'
import type {SheetCell} from './cell.ts'

export const lastRow = 1_048_576

/** `number` counts from 1 as in the spreadsheet. Only cells with text or a formula are listed. A blank row may be missing or have no cells. */
export type SheetRow = {number: number; cells: SheetCell[]}

/** `merged`: the number of merged ranges, complete at the end of the sheet. */
export type SheetEnd = {merged: number}

export const tooWide = (row: number) =>
  new Refusal(
    'UNREADABLE',
    `Row ${row} of the sheet has more than ${maxRowCells.toLocaleString('en')} cells. Set a range, or remove cells`,
    {
      sheetRow: row,
      limit: maxRowCells,
    },
  )

export const tooLong = (row: number) =>
  new Refusal(
    'UNREADABLE',
    `The cells of row ${row} of the sheet have more than ${maxRowCharacters.toLocaleString('en')} characters. Set a range, or shorten them`,
    {sheetRow: row, limit: maxRowCharacters},
  )
