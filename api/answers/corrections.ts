import {z} from 'zod'
import {Answer, Count, Id} from './common.ts'

export const CorrectedRows = Answer({
  run: Id('run', 'The run to retry: the last of the retry chain'),
  source: Id('src', 'The file whose cells were edited'),
  rows: Count('Rows with changed cells'),
  cells: Count('Changed cells'),
  matchedBy: z
    .enum(['row', 'order', 'key'])
    .describe('How the rows were found: by row number, by order, or by the columns that match records'),
})
