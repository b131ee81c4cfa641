import {z} from 'zod'
import {Answer} from './common.ts'

const DRIFTS = [
  'column_missing',
  'column_new',
  'column_moved',
  'module_gone',
  'module_closed',
  'field_gone',
  'field_changed',
  'field_closed',
  'value_gone',
  'required_unmapped',
  'match_not_unique',
  'library_gone',
  'expression_refused',
  'flow_refused',
]

export const Drift = Answer({
  kind: z.enum(DRIFTS).describe('The kind of difference'),
  slot: z.string().optional().describe('The slot of the file'),
  flow: z.string().optional().describe('The id of the flow'),
  module: z.string().optional().describe('The API name of the module'),
  field: z.string().optional().describe('The API name of the field'),
  column: z.string().optional().describe('The column of the file'),
  path: z
    .array(z.union([z.string(), z.int()]))
    .optional()
    .meta({description: "Position in the template's flows", examples: [[0, 'fields', 3, 'field']]}),
  stops: z.boolean().describe('True: rows would be refused or written incorrectly. False: for information'),
  message: z.string().describe('The difference, in words'),
}).meta({id: 'Drift', description: 'A difference from the state when the template was saved'})
