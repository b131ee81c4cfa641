import type {Reason} from '../../sql/schedules.ts'

export const mostSampleRows = 5
export const mostSampleCells = 50

/**
 * What a test fetch found in the file. `columns`: the first 50. `sample`: the first 50 cells of the first 5 rows. Each text is cut after 200
 * characters. `drift`: at most 20 differences from the template.
 */
export type FetchedSample = {
  name: string
  bytes: number
  rows: number
  columnCount: number
  columns: string[]
  sample: string[][]
  drift: {stops: boolean; message: string}[]
}

export type TestFetchResult = {file: FetchedSample; problem: null} | {file: null; problem: Reason}
