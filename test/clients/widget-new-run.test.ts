import test from 'ava'
import type {Field} from '../../api/clients/widget/imports/fields.ts'
import type {Flow, Imported, Mapping} from '../../api/clients/widget/imports/import.ts'
import {findRepeatingFlows, sayModules} from '../../api/clients/widget/runs/new-run.ts'

const column = (name: string, empties = 0) => ({name, empties}) as Imported['sources'][number]['columns'][number]
const source = {id: 'src_1', columns: [column('Mail'), column('Name'), column('Code', 3)]} as Imported['sources'][number]
const flow = (more: Partial<Flow> = {}): Flow => ({
  id: 'leads',
  sourceId: 'src_1',
  module: 'Leads',
  fields: [
    {field: 'Email', mode: 'column', source: 'Mail'},
    {field: 'Last_Name', mode: 'column', source: 'Name'},
    {field: 'Code', mode: 'column', source: 'Code'},
  ],
  ...more,
})
const match = (by: string[], onOne: 'update' | 'skip' | 'create' = 'update') => ({by, onOne, onMany: 'ask' as const})
const field = (apiName: string, isUnique = false) => ({apiName, label: apiName, unique: isUnique ? {caseSensitive: false} : null}) as Field
const repeating = (flows: Flow[], fields: Field[] = []) =>
  findRepeatingFlows({flows, sources: [source]}, new Map([['Leads', fields]])).map(({flow: id, matchBy}) => [id, matchBy?.apiName ?? null])

test('a new run is offered only if every row of every flow finds the record that was written', t => {
  t.deepEqual(repeating([flow({match: match(['Email'])})]), [])
  t.deepEqual(repeating([flow({match: match(['Email', 'Last_Name'], 'skip')})]), [])
  t.deepEqual(repeating([flow()]), [['leads', null]], 'no match')
  t.deepEqual(repeating([flow({match: match(['Email'], 'create')})]), [['leads', null]], 'a match that creates another record')
  t.deepEqual(repeating([flow({match: match(['Code'])})]), [['leads', null]], 'rows without a code match nothing')
  t.deepEqual(repeating([flow({match: match(['Email'])}), flow({id: 'more'})]), [['more', null]])
  const transformed = flow({match: match(['Email']), fields: [{field: 'Email', mode: 'column', source: 'Mail', transform: 'null'}]})
  t.deepEqual(repeating([transformed]), [['leads', null]], 'a transform may empty the value')
  const mapped = (more: Partial<Mapping>) =>
    flow({match: match(['Email']), fields: [{field: 'Email', mode: 'column', source: 'Mail', values: [{from: 'a', to: 'b'}], ...more}]})
  t.deepEqual(repeating([mapped({}), mapped({otherwise: 'fail'})]), [], 'a value map that fills every value')
  for (const empties of [{values: [{from: 'a', to: ''}]}, {values: [{from: 'a', to: '\\N'}]}, {otherwise: 'empty' as const}])
    t.deepEqual(repeating([mapped(empties)]), [['leads', null]], JSON.stringify(empties))
  t.deepEqual(repeating([mapped({mode: 'static', staticValue: '\\N'})]), [['leads', null]], 'a static value that clears the field')
  const lines = flow({id: 'lines', subform: {field: 'Lines', child: 'Lines', parentFlow: 'leads'}})
  t.deepEqual(repeating([flow({match: match(['Email'])}), lines]), [], 'subform rows are replaced with their parent')
})

test('the field to match by is a unique field that every row fills, or the one by which the CRM finds duplicates', t => {
  const fields = [field('Last_Name', true), field('Email'), field('Code', true), field('Unmapped', true)]
  t.deepEqual(repeating([flow()], fields), [['leads', 'Last_Name']])
  t.deepEqual(repeating([flow()], [field('Last_Name'), field('Email')]), [['leads', 'Email']])
  t.deepEqual(repeating([flow()], [field('Last_Name'), field('Code', true)]), [['leads', null]])
  t.is(sayModules([{module: 'Leads'}, {module: 'Sales_Orders'}, {module: 'Leads'}]), 'Leads and Sales Orders')
})
