import {z} from 'zod'
import {Answer, Json} from './common.ts'

export const Breach = Answer({
  slot: z.string().describe('The slot'),
  label: z.string().describe('Display name of the file'),
  column: z.string().nullable().describe('The column. Null: the expectation is about the whole file'),
  expectation: z
    .enum(['column', 'other_columns', 'type', 'unique', 'values', 'empty', 'rows'])
    .describe('The expectation that the file does not meet'),
  expected: z.record(z.string(), Json('A limit, a type, or the number of allowed values')).describe('What the contract expects'),
  actual: z.record(z.string(), Json('A count, a share, a row number, or names of columns')).describe('What the file has. Never a cell'),
  message: z.string().describe('The difference, in words'),
}).meta({id: 'ContractBreach', description: 'An expectation of a data contract that a file does not meet'})
