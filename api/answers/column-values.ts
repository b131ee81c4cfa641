import {z} from 'zod'
import {Answer, Count} from './common.ts'

const Suggestion = Answer({
  to: z.string().describe('The option'),
  why: z
    .enum(['option', 'plural', 'alias', 'similar'])
    .describe('`option`: spelled alike. `plural`: singular and plural. `alias`: a known word for it. `similar`: a similar spelling'),
})

const ColumnValue = Answer({
  value: z.string().describe('The value as it occurs first, without surrounding blanks'),
  count: Count('Cells that have it'),
  option: z.boolean().nullable().describe('Whether the field takes it without an entry in a value map. Null: no field was given'),
  suggestion: Suggestion.nullable().describe('An option of the field that probably means the same. Null: none'),
}).meta({id: 'ColumnValue', description: 'A distinct value of a column'})

export const ColumnValues = Answer({
  column: z.string().describe('Name of the column'),
  values: z.array(ColumnValue).describe('The values, most frequent first: the first 1,000 of the file with at most 300 characters'),
  distinct: Count('Distinct values. If `more`, an estimate'),
  more: z.boolean().describe('Whether the column has further values that are not listed'),
  cells: Count('Cells that are not blank'),
  rows: Count('Rows that were read'),
  complete: z.boolean().describe('Whether the file was read to its end. Reading stops after 30 s'),
})

export const columnValuesExample = {
  column: 'Branche',
  distinct: 2,
  more: false,
  cells: 512,
  rows: 520,
  complete: true,
  values: [
    {value: 'Technology', count: 400, option: true, suggestion: null},
    {value: 'Banken', count: 112, option: false, suggestion: {to: 'Banking', why: 'similar' as const}},
  ],
}
