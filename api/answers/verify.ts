import {z} from 'zod'
import {VerifyMode} from '../../sql/runs.ts'
import {Answer, Count, NextCursor} from './common.ts'

export const VerifyCounts = Answer({
  mode: VerifyMode.describe('Which written rows are read back, as the run was started'),
  rows: Count('Rows that were read back'),
  coerced: Count('Rows of these with values that the CRM cut or stored in another form'),
  changed: Count('Rows of these with values that a user or an automation of the CRM changed'),
  missing: Count('Rows of these whose record is gone'),
  unread: Count('Rows of these that the CRM refused to show'),
  waiting: Count('Written rows that are still to be read back'),
  unverified: Count('Rows that were never read back, because the run was stopped'),
}).meta({id: 'VerifyCounts', description: 'What was found when written rows were read back'})

const FieldCounts = Answer({
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  field: z.string().describe('API name of the field'),
  asSent: Count('Values as they were sent'),
  truncated: Count('Texts of which the CRM holds only the beginning'),
  coerced: Count('Values that the CRM stored in another form, or replaced'),
  changed: Count('Values that a user or an automation of the CRM changed after the write'),
  missing: Count('Values of records that are gone'),
  uncompared: Count('Values that the CRM does not show in a form that can be compared'),
})

const Difference = Answer({
  rowNumber: z.int().positive().nullable().describe('Number of the row in its file, from 1. Null: not known'),
  rowKey: z.string().describe('Key of the row, the same in every run of a retry chain'),
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  module: z.string().describe('API name of the module. Empty: no longer known'),
  recordId: z.string().describe("The CRM's id of the record"),
  phase: z.enum(['write', 'patch']).describe('Whether the value was sent with the record or in the patch after all rows'),
  field: z.string().describe('API name of the field'),
  result: z.enum(['truncated', 'coerced', 'changed', 'missing']).describe('What became of the value. `missing`: the record is gone'),
  sent: z.string().nullable().describe('The sent value as text; a link by its id. Null: empty'),
  read: z.string().nullable().describe('The value that the CRM held, as text. Null: empty, or the record is gone'),
})

export const VerifyPage = Answer({
  verify: VerifyCounts,
  fields: z.array(FieldCounts).describe('Counts of sent values by flow and field'),
  differences: z.array(Difference).describe('Values that were not as sent, in the order in which they were found'),
  nextCursor: NextCursor,
})
