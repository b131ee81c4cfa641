import {z} from 'zod'
import {findImportSource} from '../../shared/files/sources/find.ts'
import {assertMapped, findFieldOfColumn} from '../../shared/mapping/values/field-of-column.ts'
import {Answer, Count} from '../answers/common.ts'
import {OfColumn} from '../params.ts'
import {ofReadingAgain} from '../refusal-lists.ts'
import {replyJson} from '../reply.ts'
import {route} from '../route.ts'

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

const ColumnValues = Answer({
  column: z.string().describe('Name of the column'),
  values: z.array(ColumnValue).describe('The values, most frequent first: the first 1,000 of the file with at most 300 characters'),
  distinct: Count('Distinct values. If `more`, an estimate'),
  more: z.boolean().describe('Whether the column has further values that are not listed'),
  cells: Count('Cells that are not blank'),
  rows: Count('Rows that were read'),
  complete: z.boolean().describe('Whether the file was read to its end. Reading stops after 30 s'),
})

const columnValuesExample = {
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

const name = z.string().min(1).max(200).optional()

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source/columns/:column/values',
    operationId: 'readColumnValues',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Count the distinct values of a column',
    description: `The whole file is read. Values that differ only in letter case and surrounding blanks are one value, as in the value map of a mapping. Ragged rows and rows
that cleaning excludes are left out. With \`module\` and \`field\`, an option of the field is proposed for each value without a model, and cells of a
field with several values are split. An embed token can name only fields that the import maps.`,
    answers: {200: ColumnValues},
    refusals: [
      ...([
        'IMPORT_NOT_FOUND',
        'FILE_GONE',
        'SOURCE_NOT_FOUND',
        'COLUMN_NOT_FOUND',
        'MODULE_NOT_FOUND',
        'FIELD_NOT_FOUND',
        'BUSY',
      ] as const),
      ...ofReadingAgain,
    ],
    example: {query: {module: 'Leads', field: 'Industry'}, answer: columnValuesExample},
    params: OfColumn,
    query: z
      .object({
        module: name.describe('API name of the module that the column is written to'),
        field: name.describe('API name of the field that the column fills'),
      })
      .refine(({module, field}) => (module === undefined) === (field === undefined), 'Send module and field together, or neither'),
    async handle({db, parsing, caller: {org, embed}, params: {id, source: sourceId, column}, query: {module, field}}) {
      const {import: found, source} = await findImportSource(db, {org, importId: id, sourceId})
      const named = module === undefined || field === undefined ? null : {module, field}
      if (embed && named) assertMapped(found.flows, named)
      const filled = named && (await findFieldOfColumn(db, {connector: found.connectorId, ...named}))
      return replyJson(await parsing.run(org, 'values', {source, column, field: filled}))
    },
  }),
]
